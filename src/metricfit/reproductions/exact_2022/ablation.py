"""Tables 4, 5 and 6: EXACT without one of its parts, and the gradient normaliser for the others."""

from __future__ import annotations

from torch import nn

import metricfit as mf
from metricfit.reproductions._experiment import Cell, Experiment, Found, Numbers, Scope
from metricfit.reproductions._markdown import spread, table
from metricfit.reproductions.exact_2022 import published
from metricfit.reproductions.exact_2022._protocol import QUICK_STEPS, STEPS, prepared, train_exact, train_linear


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
    data, place, steps = prepared(name, scope.data), published.SETS.index(name), QUICK_STEPS if scope.quick else STEPS
    base = method.split(" with")[0]
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


def summary(found: Found) -> str:
    sets = list(dict.fromkeys(str(cell["set"]) for cell, _ in found))
    rows = []
    for name in sets:
        row = [name]
        for method, values in published.ABLATION.items():
            scores = [numbers["test"] for cell, numbers in found if cell["set"] == name and cell["method"] == method]
            row += [f"{values[published.SETS.index(name)]:.2f}", spread(scores)]
        rows.append(row)
    heads = ["set", *(head for method in published.ABLATION for head in (f"{method}, paper", "ours"))]
    return f"## Accuracy on test, %\n\n{table(heads, rows)}\n"


EXPERIMENT = Experiment(
    name="exact-ablation",
    title="EXACT, Tables 4 to 6 (arXiv 2205.09615): without one of its parts",
    datasets=published.SETS,
    cells=cells,
    run=run,
    summary=summary,
)
