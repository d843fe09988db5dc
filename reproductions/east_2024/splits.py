"""Tables 1 and 3 on ten splits: does EAST gain, over cross-entropy and over cross-entropy with a tuned threshold?

``east-tabular`` has the paper's protocol: one split, several seeds. Its intervals leave out the variation between splits. Here
every run has a split of its own (64 % to train, 16 % to stop by, 20 % to test), the same for all methods, and chooses its
options from the paper's grid (E.4) inside its own training part.

What two cores could not hold, and what was cut:

- Adult has 6,000 of its 48,842 rows.
- A split draws ``N_DRAWS`` points of the grid of 60, the same for all losses. Each is trained for ``SCREEN.epochs`` epochs at
  the first temperature; the least validation loss wins and is trained anew. So r is drawn and not chosen.
- A temperature ends after ``EFFORT.patience`` epochs without gain (paper: 50), a run after ``EFFORT.epochs``.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

import metricfit as mf
from metricfit.training import Trainer
from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions.east_2024._baselines import BASELINES, probabilities
from reproductions.east_2024._dropout import ByteDropout
from reproductions.east_2024._protocol import GRID, Effort, Options, Parts, course, search_options, train_network
from reproductions.east_2024._sets import load_data
from reproductions.east_2024.tabular import LOSSES, QUICK, QUICK_ROWS, SCORES, network, scores_of

SETS = ("adult", "mammography")
MOST_ROWS = {"adult": 6000}
N_DRAWS = 3
SCREEN = Effort(epochs=6, patience=6)
EFFORT = Effort(epochs=150, patience=8)


def cells(scope: Scope) -> list[Cell]:
    splits = 2 if scope.quick else scope.seeds
    return [
        {"set": name, "method": method, "split": split}
        for split in range(splits)  # first, so that a run that is stopped has all methods on fewer splits
        for name in scope.datasets or SETS
        for method in (*LOSSES, *BASELINES)
    ]


def run(cell: Cell, scope: Scope) -> Numbers:
    """Scores on test in percent, as trained and each with the threshold that was tuned for it on validation rows."""
    name, method, split = str(cell["set"]), str(cell["method"]), int(cell["split"])
    parts = load_data(name, scope.data, QUICK_ROWS if scope.quick else MOST_ROWS.get(name), split)
    if method in BASELINES:
        model = BASELINES[method](parts, split)
        return _judge(*(probabilities(model, part[0].numpy()) for part in (parts.validation, parts.test)), parts)
    screen, effort = (QUICK, QUICK) if scope.quick else (SCREEN, EFFORT)
    options = search_options(
        GRID, N_DRAWS, lambda drawn: -_train(parts, method, drawn, screen, split).best_value[0], seed=split
    )
    trainer = _train(parts, method, options, effort, split)
    known, unknown = (trainer.scores(part[0]).double().numpy() for part in (parts.validation, parts.test))
    return _judge(known, unknown, parts) | course(trainer, effort) | _chosen(options)


def _train(parts: Parts, method: str, options: Options, effort: Effort, seed: int) -> Trainer:
    torch.manual_seed(seed)
    module = network(parts.train[0].shape[1], options.dropout, ByteDropout)
    return train_network(module, LOSSES[method](), parts, options, effort, seed)


def _judge(known: np.ndarray, unknown: np.ndarray, parts: Parts) -> Numbers:
    labels = parts.test[1]
    numbers = scores_of(unknown.argmax(1), labels)
    for score in SCORES:
        offsets = mf.tune_offsets(known, parts.validation[1].numpy(), score)
        numbers[f"{score}_tuned"] = scores_of(mf.decide(unknown, offsets), labels)[score]
    return numbers | _sizes(parts.train[1], parts.validation[1], labels)


def _sizes(train_labels: Tensor, validation_labels: Tensor, labels: Tensor) -> Numbers:
    return {
        "train_rows": float(len(train_labels)),
        "validation_rows": float(len(validation_labels)),
        "test_rows": float(len(labels)),
        "test_positives": float(labels.sum()),
    }


def _chosen(options: Options) -> Numbers:
    return {name: float(value) for name, value in vars(options).items()}


def summary(found: Results) -> str:
    return ""


EXPERIMENT = Experiment(
    name="east-splits",
    title="EAST, Tables 1 and 3 (arXiv 2405.20954): ten splits, with tuned thresholds and the other baselines",
    datasets=SETS,
    cells=cells,
    run=run,
    summary=summary,
    seeds=10,
)
