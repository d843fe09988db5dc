"""Which reading of the paper is its authors': a floor of the gradient normaliser, weight decay, both or neither.

The paper's text has a weight decay of 1e-4 and no floor, its Table 8 a regularisation of zero. The authors' code has a floor
of 0.01, and no training script. Evaluation by all published accuracies of EXACT at once, on train and test.
"""

from __future__ import annotations

import numpy as np
import torch

from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions._markdown import table
from reproductions._results import distinct_values, matching
from reproductions.exact_2022 import published
from reproductions.exact_2022._batched import Method, Options, train_models
from reproductions.exact_2022._protocol import FLOOR, QUICK_STEPS, STEPS, WEIGHT_DECAY, load_data

READINGS = {  # floor and decay
    "floor": (FLOOR, 0.0),
    "floor and decay": (FLOOR, WEIGHT_DECAY),
    "decay": (0.0, WEIGHT_DECAY),
    "neither": (0.0, 0.0),
}


def cells(scope: Scope) -> list[Cell]:
    return [{"set": name} for name in scope.datasets or (published.SETS if not scope.quick else ("balance-scale", "wine"))]


def run(cell: Cell, scope: Scope) -> list[Numbers]:
    """All readings and seeds of a set in one batch, a row for each."""
    name = str(cell["set"])
    data, index, seeds = load_data(name, scope.data), published.SETS.index(name), range(1 if scope.quick else scope.seeds)
    (features, labels), (test_features, test_labels) = (
        (x.expand(len(seeds), *x.shape), y.expand(len(seeds), *y.shape)) for x, y in (data.train, data.test)
    )
    options = Options.filled(
        (len(seeds), len(READINGS)), rate=published.LEARNING_RATE["EXACT"][index], margin=published.MARGIN["EXACT"][index]
    )
    options.floor[:], options.decay[:] = torch.tensor(list(READINGS.values())).T[:, None]
    models = train_models(
        features,
        labels,
        data.n_classes,
        Method("exact", normalize=True),
        options,
        steps=QUICK_STEPS if scope.quick else STEPS,
        seeds=seeds,
    )
    train, test = models.accuracy(features, labels), models.accuracy(test_features, test_labels)
    return [
        {"floor": floor, "decay": decay, "seed": seed, "train": float(train[seed, model]), "test": float(test[seed, model])}
        for model, (floor, decay) in enumerate(READINGS.values())
        for seed in seeds
    ]


def summary(found: Results) -> str:
    """The accuracies by reading, and how far they are from the published ones over all sets."""
    sets = distinct_values(found, "set")
    text = []
    for part, paper in (("train", published.TRAIN["EXACT"]), ("test", published.TEST["EXACT"])):
        rows, off = [], []
        for name in sets:
            means = [_mean(found, part, name, *reading) for reading in READINGS.values()]
            off.append(np.array(means) - paper[published.SETS.index(name)])
            rows.append([name, f"{paper[published.SETS.index(name)]:.2f}", *(f"{mean:.2f}" for mean in means)])
        rows.append(["mean distance", "", *(f"{distance:.2f}" for distance in np.abs(off).mean(0))])
        rows.append(["largest distance", "", *(f"{distance:.2f}" for distance in np.abs(off).max(0))])
        rows.append(["within 0.5 points", "", *(str(count) for count in (np.abs(off) <= 0.5).sum(0))])
        text.append(f"## EXACT's accuracy on {part}, %\n\n{table(['set', 'paper', *READINGS], rows)}")
    return "\n\n".join(text) + "\n"


def _mean(found: Results, part: str, name: str, floor: float, decay: float) -> float:
    rows = [numbers for _, numbers in matching(found, set=name) if (numbers["floor"], numbers["decay"]) == (floor, decay)]
    return float(np.mean([numbers[part] for numbers in rows]))


EXPERIMENT = Experiment(
    name="exact-floor",
    title="EXACT (arXiv 2205.09615): the floor of its gradient normaliser, and weight decay",
    datasets=published.SETS,
    cells=cells,
    run=run,
    summary=summary,
)
