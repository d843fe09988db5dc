"""What ``critique-late`` shows: the two gradients along the training, and what a switch of the loss changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from metricfit.comparison._statistics import Estimate, corrected_estimate
from reproductions._claims import Claim, Runs, claim
from reproductions._experiment import Results
from reproductions._figure import empty_figure
from reproductions._markdown import listed, mean_and_std, table, with_interval
from reproductions._results import differences, distinct_values
from reproductions.critique_2022._text import HELD_OUT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEST_SHARE = HELD_OUT / (1.0 - HELD_OUT)
SAME_WAY, SAME_SIZE = 0.95, (0.8, 1.25)  # cosine and ratio of two gradients that count as the same
COLUMNS = {
    "sure": "rows with p > 0.9, %",
    "wrong": "rows with p < 0.5, %",
    "cosine": "cosine",
    "ratio": "norm of ∇(1 - p) / ∇(-log p)",
    "wrong_log": "pull of rows with p < 0.5 in -log p, %",
    "wrong_linear": "the same in 1 - p, %",
}
WAYS = {"switched": "1 - p in the last third", "linear": "1 - p from the start"}


def summary(found: Results) -> str:
    gradients, accuracies = [], []
    for name in distinct_values(found, "set"):
        for epoch in points(found):
            row = [
                name,
                f"{epoch:g}",
                f"{_mean(found, name, 'loss_log', epoch) / _mean(found, name, 'loss_linear', epoch):.2f}",
            ]
            row += [_number(column, _at(found, name, column, epoch)) for column in COLUMNS]
            gradients.append(row)
        gains = [with_interval(gain(found, name, way)) for way in WAYS]
        accuracies.append([name, *(mean_and_std(last(found, name, way)) for way in ("log", *WAYS)), *gains])
    heads = ["set", "epoch", "E[-log p] / E[1 - p]", *COLUMNS.values()]
    ways = ["set", "-log p", *WAYS.values(), *(f"{way}, minus -log p (95 %)" for way in WAYS.values())]
    return (
        f"## Both gradients on the training rows, while -log p is trained\n\n{table(heads, gradients)}\n\n"
        "Means over seeds, and for cosines the least to the largest. The gradients are those by all parameters. A pull is a "
        "row's gradient by its scores; the shares are of the sum of their norms.\n\n"
        f"## Accuracy on held-out rows, %\n\n{table(ways, accuracies)}\n\n"
        "Every seed has its own split. The intervals are Nadeau and Bengio's, because splits share training rows.\n\n"
        f"{_words(found)}\n"
    )


def points(found: Results) -> list[float]:
    return sorted({numbers["epoch"] for _, numbers in found})


def _at(found: Results, name: str, column: str, epoch: float) -> list[float]:
    return [numbers[column] for cell, numbers in found if cell["set"] == name and numbers["epoch"] == epoch]


def _mean(found: Results, name: str, column: str, epoch: float) -> float:
    return float(np.mean(_at(found, name, column, epoch)))


def _number(column: str, values: list[float]) -> str:
    mean = float(np.mean(values))
    if column == "cosine":
        return f"{mean:.2f} ({min(values):.2f} … {max(values):.2f})"
    return f"{mean:.2f}" if column == "ratio" else f"{mean:.1f}"


def last(found: Results, name: str, way: str) -> list[float]:
    """Held-out accuracies at the end, in the order of the seeds."""
    return _at(found, name, way, points(found)[-1])


def gain(found: Results, name: str, way: str) -> Estimate:
    """What a way to train gains over cross-entropy, in points."""
    return corrected_estimate(differences(last(found, name, way), last(found, name, "log")), TEST_SHARE)


def _words(found: Results) -> str:
    """Where the two gradients are the same at the end, and where the switch is seen."""
    sets, end = distinct_values(found, "set"), points(found)[-1]
    same_way = [name for name in sets if _mean(found, name, "cosine", end) >= SAME_WAY]
    same = [name for name in same_way if SAME_SIZE[0] <= _mean(found, name, "ratio", end) <= SAME_SIZE[1]]
    sure = [name for name in sets if _mean(found, name, "sure", end) >= 90.0]
    changed = [name for name in sets if gain(found, name, "switched").low > 0.0 or gain(found, name, "switched").high < 0.0]
    return (
        f"After {end:g} epochs nine rows in ten have p > 0.9 on: {listed(sure)}. Both gradients point the same way (cosine at "
        f"least {SAME_WAY:g}) on: {listed(same_way)}; and have the same size (within a quarter) on: {listed(same)}. The "
        f"switch in the last third changes held-out accuracy, beyond the interval, on: {listed(changed)}."
    )


def claims(found: Results) -> list[Claim]:
    """What the switch changes. The critique argues that both losses are equivalent late in training, without a number."""
    return [
        claim(
            f"1 - p instead of -log p in the last third of training: {name}",
            None,
            differences(last(found, name, "switched"), last(found, name, "log")),
            runs_of(found, name),
            group="critique-late",
        )
        for name in distinct_values(found, "set")
    ]


def runs_of(found: Results, name: str) -> Runs:
    """Seeds and splits are the same here."""
    end = points(found)[-1]
    test_rows, train_rows = (int(_at(found, name, column, end)[0]) for column in ("held_out_rows", "train_rows"))
    return Runs(splits=len(last(found, name, "log")), test_rows=test_rows, train_rows=train_rows)


def figure(found: Results) -> Figure:
    """The angle, sure rows and the pull of wrong ones by epoch, and what the switch changes."""
    drawn = empty_figure(11.0, 3.4)
    panels = drawn.subplots(1, 4)
    sets = distinct_values(found, "set")
    for axes, column in zip(panels[:3], ("cosine", "sure", "wrong_log"), strict=True):
        for name in sets:
            axes.plot(points(found), [_mean(found, name, column, epoch) for epoch in points(found)], "o-", ms=3, label=name)
        axes.set_title("cosine of both gradients" if column == "cosine" else COLUMNS[column], fontsize=8)
        axes.set_xlabel("epoch of cross-entropy", fontsize=8)
    panels[0].legend(frameon=False, fontsize=7)
    gains = [gain(found, name, "switched") for name in sets]
    means = [one.mean for one in gains]
    reach = [one.high - one.mean if one.known else 0.0 for one in gains]
    panels[3].errorbar(means, sets, xerr=reach, fmt="o", capsize=3)
    panels[3].axvline(0.0, color="0.6", linewidth=1)
    panels[3].invert_yaxis()
    panels[3].tick_params(axis="y", labelsize=7)
    panels[3].set_title("1 - p in the last third", fontsize=8)
    panels[3].set_xlabel("accuracy gained on held-out rows, points", fontsize=8)
    return drawn
