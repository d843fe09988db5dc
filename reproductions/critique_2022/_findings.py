"""What the cells say together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from metricfit.comparison._statistics import corrected_estimate
from reproductions._claims import Claim, Runs, claim, mean_with_interval
from reproductions._experiment import Numbers, Results
from reproductions._figure import empty_figure
from reproductions._markdown import listed, mean_and_std, table
from reproductions._results import matching
from reproductions.critique_2022 import _toy as toy
from reproductions.critique_2022 import published
from reproductions.critique_2022._text import HELD_OUT
from reproductions.critique_2022._training import GOAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ByMethod = dict[str, dict[int, Numbers]]  # method, seed

BASE = "cross-entropy"
SOLVED = 1e-6
N_QUESTIONS = {"train": int(5_452 * (1.0 - HELD_OUT)), "test": 500}  # the test questions are the same for all seeds


def summary(found: Results) -> str:
    parts = []
    if matching(found, set="toy"):
        parts.append(f"## Toys: where the losses are least\n\n{_toy_table(found)}\n\n{_toy_words(found)}")
    for model, methods in _of_trec(found).items():
        parts.append(f"## TREC, {model}\n\n{_trec_table(methods)}\n\n{_trec_words(methods)}")
    return "\n\n".join(parts) + "\n"


def claims(found: Results) -> list[Claim]:
    """Of the toys there is one value each, and it is exact."""
    solved, made = _of_toy(found), []
    for (name, method), gain in published.TOY_GAINS.items():
        if name in solved:
            ours = solved[name][method]["accuracy"] - solved[name][BASE]["accuracy"]
            made.append(
                Claim(f"{method} over {BASE}: toy, {name}", gain, ours, half_width=0.0, group=f"toy, {name}", toy=True)
            )
    for model, methods in _of_trec(found).items():
        made += [
            claim(
                f"{text}: TREC, {model}",
                None,
                _differences(methods, first, second),
                Runs(seeds=len(methods[BASE]), test_rows=N_QUESTIONS["test"], train_rows=N_QUESTIONS["train"]),
                direction=direction,
                group=f"TREC, {model}",
            )
            for text, first, second, direction in published.DIRECTIONS
        ]
    return made


def figure(found: Results) -> Figure:
    """What each loss gains over cross-entropy, with its interval."""
    models = _of_trec(found)
    drawn = empty_figure(9.0, 3.6)
    panels = drawn.subplots(1, max(1, len(models)), sharey=True, squeeze=False)[0]
    for axes, (model, methods) in zip(panels, models.items(), strict=False):
        others = [method for method in methods if method != BASE]
        gains = [_differences(methods, method, BASE) for method in others]
        means = [np.mean(gain) for gain in gains]
        reach = [high - mean for (_, high), mean in zip(map(_ends, gains), means, strict=True)]
        axes.errorbar(means, others, xerr=reach, fmt="o", capsize=3)
        axes.axvline(0.0, color="0.6", linewidth=1)
        axes.set(title=f"TREC, {model}", xlabel=f"test accuracy over {BASE}, points")
    panels[0].invert_yaxis()
    return drawn


def _of_toy(found: Results) -> dict[str, dict[str, Numbers]]:
    by_name: dict[str, dict[str, Numbers]] = {}
    for cell, numbers in matching(found, set="toy"):
        by_name.setdefault(str(cell["model"]), {})[str(cell["method"])] = numbers
    return by_name


def _of_trec(found: Results) -> dict[str, ByMethod]:
    by_model: dict[str, ByMethod] = {}
    for cell, numbers in matching(found, set="trec"):
        by_model.setdefault(str(cell["model"]), {}).setdefault(str(cell["method"]), {})[int(cell["seed"])] = numbers
    return by_model


def _toy_table(found: Results) -> str:
    rows = []
    for name, methods in _of_toy(found).items():
        for method, numbers in methods.items():
            threshold, accuracy = published.TOYS.get((name, method), ("", None))
            paper = "" if accuracy is None else f"{accuracy:.0f} %"
            enough = f"{numbers['from_weight']:.2g}" if "from_weight" in numbers else "none"
            ours = [_range(numbers["low"], numbers["high"]), f"{numbers['weight']:.3g}"]
            rows.append([f"{name}: {method}", threshold, *ours, paper, f"{numbers['accuracy']:.0f} %", enough])
    heads = ["toy and loss", "threshold, published", "ours", "weight", "accuracy, published", "ours", "right from weight"]
    return table(heads, rows)


def _range(low: float, high: float) -> str:
    """Thresholds, where the end of the grid stands for a flat line.

    >>> _range(0.7, 0.7), _range(28.18, toy.FAR), _range(-toy.FAR, -toy.FAR)
    ('0.7', '28.2 … ∞', '-∞')
    """
    ends = [("-" if end < 0 else "") + "∞" if abs(end) >= toy.FAR else f"{end:.3g}" for end in (low, high)]
    return " … ".join(dict.fromkeys(ends))


def _toy_words(found: Results) -> str:
    """Which losses have their minimum where the most points are right."""
    lines = [
        "EXACT is normal noise at scale 0.01, where its schedule ends; the others have scale 1. Weight is the one chosen;",
        "from the weight in the last column on, a loss has its minimum where the most points are right.",
        "",
    ]
    for name, methods in _of_toy(found).items():
        right = [method for method, numbers in methods.items() if numbers["accuracy"] >= numbers["reachable"] - SOLVED]
        wrong = [method for method in methods if method not in right]
        lines.append(f"- {name}: least where accuracy is highest: {listed(right)}. Not so: {listed(wrong)}.")
    return "\n".join(lines)


def _differences(methods: ByMethod, first: str, second: str) -> list[float]:
    return [numbers["test"] - methods[second][seed]["test"] for seed, numbers in methods[first].items()]


def _trec_table(methods: ByMethod) -> str:
    rows = []
    for method, by_seed in methods.items():
        runs, gain = list(by_seed.values()), _differences(methods, method, BASE)
        interval = "" if method == BASE else mean_with_interval(gain)
        reached = [run["goal"] for run in runs if "goal" in run]
        epochs = f"{np.mean(reached):.1f}" if reached else "never"
        if 0 < len(reached) < len(runs):
            epochs += f" ({len(reached)} of {len(runs)})"
        rates = " ".join(f"{rate:g}" for rate in sorted({run["rate"] for run in runs}))
        live = f"{100.0 * np.mean([run['live'] for run in runs]):.0f} %"
        accuracies = [mean_and_std([run[part] for run in runs]) for part in ("test", "held_out", "train")]
        rows.append([method, accuracies[0], interval, *accuracies[1:], epochs, live, rates])
    heads = ["loss", "test, %", "minus cross-entropy (95 %)", "held out, %", "train, %"]
    return table([*heads, f"epochs to {100 * GOAL:.0f} % held out", "live gradients, first epochs", "rates chosen"], rows)


def _ends(gain: list[float]) -> tuple[float, float]:
    """Of the 95 % interval; of a single value itself."""
    found = corrected_estimate(gain, 0.0)
    return (found.low, found.high) if len(gain) > 1 else (found.mean, found.mean)


def _trec_words(methods: ByMethod) -> str:
    if len(methods[BASE]) == 1:
        return "One seed: differences say nothing yet."
    gains = {method: _differences(methods, method, BASE) for method in methods if method != BASE}
    behind = [method for method, gain in gains.items() if _ends(gain)[1] < 0.0]
    ahead = [method for method, gain in gains.items() if _ends(gain)[0] > 0.0]
    return f"Behind cross-entropy, beyond the interval: {listed(behind)}. Ahead: {listed(ahead)}."
