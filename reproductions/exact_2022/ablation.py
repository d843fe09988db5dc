"""Tables 4, 5 and 6: EXACT without one of its parts, and the gradient normaliser for the others."""

from __future__ import annotations

import numpy as np
from torch import nn

import metricfit as mf
from reproductions._claims import Claim, claim
from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions._markdown import LEGEND, table, with_agreement
from reproductions._results import differences, distinct_values, values
from reproductions.exact_2022 import published
from reproductions.exact_2022._protocol import QUICK_STEPS, STEPS, load_data, train_exact, train_linear

# what is gained, by which, over which
GAINS = (
    ("EXACT's margin", "EXACT", "EXACT without margin"),
    ("EXACT's scheduler", "EXACT", "EXACT without scheduler"),
    ("EXACT's normaliser", "EXACT", "EXACT without normalizer"),
    ("the normaliser with cross-entropy", "Cross-entropy with normalizer", "Cross-entropy"),
    ("the normaliser with hinge", "Hinge with normalizer", "Hinge"),
)


def cells(scope: Scope) -> list[Cell]:
    sets = scope.datasets or (published.SETS if not scope.quick else ("balance-scale", "wine"))
    seeds = 1 if scope.quick else scope.seeds
    return [
        {"set": name, "method": method, "seed": seed}
        for name in sets
        for method in published.ABLATION
        for seed in range(seeds)
    ]


def run(cell: Cell, scope: Scope) -> Numbers:
    """Hyper-parameters are those of Table 8; without a scheduler the scale stays at 1, for which the paper gives no value."""
    name, method, seed = str(cell["set"]), str(cell["method"]), int(cell["seed"])
    data, place, steps = load_data(name, scope.data), published.SETS.index(name), QUICK_STEPS if scope.quick else STEPS
    base = next(base for base in published.LEARNING_RATE if method.startswith(base))
    rate = published.LEARNING_RATE[base][place]
    if base == "EXACT":
        margin = None if method == "EXACT without margin" else published.MARGIN["EXACT"][place]
        scheduled, normalize = method != "EXACT without scheduler", method != "EXACT without normalizer"
        train, test = train_exact(
            data, rate=rate, margin=margin, seed=seed, steps=steps, scheduled=scheduled, normalize=normalize
        )
    else:
        loss = nn.CrossEntropyLoss() if base == "Cross-entropy" else mf.HingeLoss(margin=published.MARGIN["Hinge"][place])
        clip, normalize = published.CLIP[base][place], method.endswith("with normalizer")
        train, test = train_linear(data, loss, rate=rate, seed=seed, steps=steps, clip=clip, normalize=normalize)
    return {"train": train, "test": test}


def summary(found: Results) -> str:
    sets, methods = distinct_values(found, "set"), list(published.ABLATION)
    rows = []
    for name in sets:
        row = [name]
        for method in methods:
            paper = published.ABLATION[method][published.SETS.index(name)]
            row += [f"{paper:.2f}", with_agreement(paper, values(found, "test", set=name, method=method))]
        rows.append(row)
    means = [f"{cell:.2f}" for method in methods for cell in (_published_mean(sets, method), np.mean(_means(found, method)))]
    heads = ["set", *(head for method in methods for head in (f"{method}, paper", "ours"))]
    return f"## Accuracy on test, %\n\n{table(heads, [*rows, ['mean', *means]])}\n\n{LEGEND}\n"


def claims(found: Results) -> list[Claim]:
    """What each part gains, in the mean over the sets."""
    sets = distinct_values(found, "set")
    return [
        claim(
            f"{text}, accuracy, mean of {len(sets)} sets",
            _published_mean(sets, with_it) - _published_mean(sets, without),
            differences(_means(found, with_it), _means(found, without)),
        )
        for text, with_it, without in GAINS
    ]


def _means(found: Results, method: str) -> list[float]:
    """Over the sets, for each seed."""
    return np.mean([values(found, "test", set=name, method=method) for name in distinct_values(found, "set")], axis=0).tolist()


def _published_mean(sets: list[str], method: str) -> float:
    return float(np.mean([published.ABLATION[method][published.SETS.index(name)] for name in sets]))


EXPERIMENT = Experiment(
    name="exact-ablation",
    title="EXACT, Tables 4 to 6 (arXiv 2205.09615): without one of its parts",
    datasets=published.SETS,
    cells=cells,
    run=run,
    summary=summary,
    claims=claims,
)
