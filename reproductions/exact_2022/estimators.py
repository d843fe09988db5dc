"""Tables 1 and 2 by what users call: ``MetricClassifier(method="exact")`` and ``Trainer``, on the paper's split.

The classifier has its defaults: L-BFGS at seven widths, the margin by held-out rows of the training part. It reads the
protocol's features, which are scaled already. The trainer takes the paper's 8,000 steps of SGD with the learning rate and the
margin of Table 8, and the floor of the normaliser in the authors' code. ``exact-tabular`` has more seeds of these steps, and
the other losses.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

import metricfit as mf
from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions._markdown import mean_and_std, table
from reproductions._results import distinct_values, values
from reproductions._training import accuracy
from reproductions.exact_2022 import published
from reproductions.exact_2022._arms import table_8
from reproductions.exact_2022._protocol import QUICK_STEPS, STEPS, Dataset, fit_exact, load_data

CLASSIFIER, TRAINER = "MetricClassifier", "Trainer"


def cells(scope: Scope) -> list[Cell]:
    sets = scope.datasets or (published.SETS if not scope.quick else ("balance-scale", "car", "wine"))
    seeds = 1 if scope.quick else scope.seeds
    return [{"set": name, "by": by, "seed": seed} for seed in range(seeds) for name in sets for by in (CLASSIFIER, TRAINER)]


def run(cell: Cell, scope: Scope) -> Numbers:
    name, seed = str(cell["set"]), int(cell["seed"])
    data = load_data(name, scope.data)
    return _classifier(data, seed) if cell["by"] == CLASSIFIER else _trainer(data, name, seed, scope)


def _classifier(data: Dataset, seed: int) -> Numbers:
    classifier = mf.MetricClassifier("accuracy", model="linear", method="exact", preprocess=None, random_state=seed)
    classifier.fit(*map(_numpy, data.train))
    train, test = (100.0 * classifier.score(*map(_numpy, rows)) for rows in (data.train, data.test))
    return {"train": train, "test": test, "margin": float(classifier.method_.margin or np.nan)}


def _trainer(data: Dataset, name: str, seed: int, scope: Scope) -> Numbers:
    options, steps = table_8("EXACT", name), QUICK_STEPS if scope.quick else STEPS
    rate, margin = float(options.rate), float(options.margin)
    trainer = fit_exact(data, rate=rate, margin=margin, seed=seed, steps=steps)
    return {"train": accuracy(trainer, data.train), "test": accuracy(trainer, data.test), "margin": margin}


def _numpy(tensor: Tensor) -> np.ndarray:
    return tensor.double().numpy() if tensor.is_floating_point() else tensor.numpy()


def summary(found: Results) -> str:
    rows = []
    for name in distinct_values(found, "set"):
        index = published.SETS.index(name)
        row = [name]
        for part, reported in (("train", published.TRAIN), ("test", published.TEST)):
            row += [f"{reported['Cross-entropy'][index]:.2f}", f"{reported['EXACT'][index]:.2f}"]
            row += [mean_and_std(values(found, part, set=name, by=by)) for by in (CLASSIFIER, TRAINER)]
        margins = sorted(set(values(found, "margin", set=name, by=CLASSIFIER)))
        rows.append([*row, ", ".join(f"{margin:g}" for margin in margins)])
    heads = ["set"]
    for part in ("train", "test"):
        heads += [f"{part}: cross-entropy, paper", "EXACT, paper", f"EXACT, `{CLASSIFIER}`", f"EXACT, `{TRAINER}`"]
    return f"## Accuracy, %\n\n{table([*heads, 'margins chosen'], rows)}\n\nWith the deviation over seeds.\n"


EXPERIMENT = Experiment(
    name="exact-estimators",
    title="EXACT, Tables 1 and 2 (arXiv 2205.09615), by MetricClassifier and Trainer",
    datasets=published.SETS,
    cells=cells,
    run=run,
    summary=summary,
    seeds=3,
)
