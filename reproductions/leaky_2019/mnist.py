"""Figures 2 to 4 and Table 4: MNIST by logistic regression, epoch by epoch, and by a multilayer perceptron.

The perceptron has the paper's layers, dropout on input and hidden units, Adam, ten folds of 9:1 (of which as many are run as
``--seeds`` says) and early stopping with a patience of 30 epochs on the development images. Noise is in the labels of training
and development, not of test. What differs from the paper, or is left open by it:

- It tunes learning rate and dropout on development for each run. Here they are fixed, for time: a rate of 1e-3, untuned, and
  the better dropout of 0.1 and 0.2 on the first fold's development images. Within 25 epochs their least error is 1.48 %
  (NegLog) and 1.40 % (LEErr) with 0.1, 1.43 % and 1.40 % with 0.2; the mean of the last five epochs is 1.63 and 1.62 %,
  1.54 and 1.57 %.
- Batches of ``BATCH`` images (the paper gives no size), and ``MOST_EPOCHS`` epochs at most (the paper: no maximum).
- Pixels are scaled to 0 to 1; of epochs with equally many errors on development the one with the least training loss is best.
"""

from __future__ import annotations

import torch
from torch import nn

from metricfit.comparison._statistics import corrected_estimate
from metricfit.training import Batches
from reproductions._claims import Claim, Runs, claim
from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions._markdown import table
from reproductions._results import differences, matching, values
from reproductions._training import Rows
from reproductions.lab.networks import MLP
from reproductions.leaky_2019 import _curves, published
from reproductions.leaky_2019._agreement import LEGEND, beside_published
from reproductions.leaky_2019._digits import N_CLASSES, N_FOLDS, fold
from reproductions.leaky_2019._protocol import adam, by_xavier, error

RATE, DROPOUT = 1e-3, 0.2
BATCH, PATIENCE, MOST_EPOCHS = 256, 30, 100
QUICK_IMAGES, QUICK_EPOCHS = 1000, 2
N_TRAIN, N_TEST = 60_000, 10_000
NAMES = {"clean": "MNIST", "noisy": "MNIST*"}  # of Table 4


def cells(scope: Scope) -> list[Cell]:
    folds = 1 if scope.quick else min(scope.seeds, N_FOLDS)
    runs = [("mlp", labels, method) for labels in published.MLP for method in ("NegLog", "LEErr")]
    runs += [(model, "clean", method) for model in _curves.EPOCHS for method in published.METHODS]
    return [
        {"set": "mnist", "model": model, "labels": labels, "method": method, "seed": index}
        for model, labels, method in runs
        for index in range(folds)
    ]


def run(cell: Cell, scope: Scope) -> Numbers | list[Numbers]:
    model, method, index = str(cell["model"]), str(cell["method"]), int(cell["seed"])
    train, development, test = fold(scope.data, index, noisy=cell["labels"] == "noisy")
    if scope.quick:
        train = train[0][:QUICK_IMAGES], train[1][:QUICK_IMAGES]
    if model == "logistic-bytes":
        train, test = _curves.as_bytes(train), _curves.as_bytes(test)
    if model in _curves.EPOCHS:
        return _curves.curve(train, test, method, index, QUICK_EPOCHS if scope.quick else _curves.EPOCHS[model])
    return _perceptron(train, development, test, method, index, QUICK_EPOCHS if scope.quick else MOST_EPOCHS)


def _perceptron(train: Rows, development: Rows, test: Rows, method: str, seed: int, epochs: int) -> Numbers:
    torch.manual_seed(seed)
    trainer = adam(by_xavier(perceptron(train[0].shape[1])), method, RATE)
    trainer.fit(Batches(*train, size=BATCH, seed=seed), development, epochs=epochs, patience=PATIENCE)
    return {"test_error": error(trainer, test), "development_error": error(trainer, development), "epochs": trainer.epoch}


def perceptron(n_features: int) -> nn.Module:
    """Layers of 300, 200 and 100 units; dropout on the input and on the hidden units."""
    return MLP(n_features, N_CLASSES, dropout=DROPOUT, input_dropout=DROPOUT)


def summary(found: Results) -> str:
    rows = []
    for labels, methods in published.MLP.items():
        row = [NAMES[labels]]
        for method, numbers in methods.items():
            ours = beside_published(numbers, published.N_RUNS["MNIST"], _errors(found, labels, method))
            row += ["{:.2f} ± {:.2f}".format(*numbers), ours]
        reported = methods["NegLog"][0] - methods["LEErr"][0]
        gain = corrected_estimate(_gains(found, labels), 0.0)
        rows.append([*row, f"{reported:+.2f}", f"{gain.mean:+.2f}", f"{gain.p:.3f}"])
    heads = ["labels", "NegLog, paper", "ours", "LEErr, paper", "ours", "gain, paper", "ours", "p, paired t-test"]
    layers = values(found, "epochs", model="mlp")
    capped = sum(epochs >= MOST_EPOCHS for epochs in layers)
    curves = "\n\n".join(
        f"## Logistic regression, {head} (Figures 2 to 4)\n\n{_curves.summary(matching(found, model=model))}"
        for model, head in _curves.HEADS.items()
    )
    return (
        f"## Multilayer perceptron (Table 4): error on test, %\n\n{table(heads, rows)}\n\n"
        f"{len(_gains(found, 'clean'))} of the paper's ten folds; {capped} of {len(layers)} runs were ended at {MOST_EPOCHS} "
        f"epochs rather than by patience. {LEGEND}\n\n"
        f"{curves}\n"
    )


def _errors(found: Results, labels: str, method: str) -> list[float]:
    return values(found, "test_error", model="mlp", labels=labels, method=method)


def _gains(found: Results, labels: str) -> list[float]:
    return differences(_errors(found, labels, "NegLog"), _errors(found, labels, "LEErr"))


def claims(found: Results) -> list[Claim]:
    """LEErr over NegLog, with the labels as they are and with noise; and what Figure 2 is said to show, without a number."""
    of_table = [
        claim(
            f"LEErr over NegLog, accuracy, MNIST{'' if labels == 'clean' else ' with noisy labels'}",
            methods["NegLog"][0] - methods["LEErr"][0],
            _gains(found, labels),
            runs_of(len(_gains(found, labels))),
        )
        for labels, methods in published.MLP.items()
    ]
    at_the_end = _curves.last_gains(matching(found, model="logistic"))
    by_regression = "EErr over NegLog, accuracy, MNIST by logistic regression"
    return [*of_table, claim(by_regression, None, at_the_end, runs_of(len(at_the_end)), direction=1)]


def runs_of(n_folds: int) -> Runs:
    """Folds of the training images. The test images are always the same, so these are seeds rather than splits."""
    return Runs(seeds=n_folds, test_rows=N_TEST, train_rows=N_TRAIN - N_TRAIN // N_FOLDS)


EXPERIMENT = Experiment(
    name="leaky-mnist",
    title="Leaky expected error, Table 4 and Figures 2 to 4 (arXiv 1905.00448): MNIST",
    datasets=("mnist",),
    cells=cells,
    run=run,
    summary=summary,
    claims=claims,
    figure=_curves.figure,
    seeds=3,
    cut=True,
)
