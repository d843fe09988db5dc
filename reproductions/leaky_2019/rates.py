"""Expected error (EErr) at the learning rate it needs: does a larger rate, or a start at cross-entropy, free it?

In ``leaky-tabular`` and ``leaky-mnist`` EErr is stuck on some folds. Its gradient is that of NegLog times p(y|x), so one might
give it a larger rate. The paper did (Section 3.1, 1e-2 instead of 1e-4 on MNIST) and saw "a behavior that is very similar".
Here every loss has the same grid of rates, wider on both sides than that of ``leaky-tabular``, and takes the rate with the
best accuracy on development. "EErr after NegLog" is EErr that starts at the weights of the best NegLog.

Folds, batches, early stopping and initialisation are those of ``leaky-tabular``. MNIST is logistic regression as in Figures 2
to 4, with pixels from 0 to 1 or from 0 to 255, on three folds and for few epochs, with the epoch chosen on development.
"""

from __future__ import annotations

from pathlib import Path

from reproductions._experiment import Cell, Experiment, Numbers, Scope
from reproductions._training import Rows
from reproductions.leaky_2019 import published, tabular
from reproductions.leaky_2019._curves import as_bytes
from reproductions.leaky_2019._digits import N_CLASSES, fold
from reproductions.leaky_2019._rates_summary import WARM, claims, figure, summary
from reproductions.leaky_2019._stack import Best, Course, train_stack

METHODS = (*published.METHODS, WARM)
RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
COURSE = Course(tabular.BATCH, tabular.MOST_EPOCHS, tabular.PATIENCE, tabular.LEAST_EPOCHS)
DIGITS = ("mnist", "mnist-bytes")
DIGIT_RATES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
DIGIT_COURSE = Course(batch=100, most_epochs=12, patience=12)
DIGIT_FOLDS = 3
QUICK_RATES, QUICK_COURSE = (0.03, 0.3), Course(batch=200, most_epochs=5, patience=5)
QUICK_SETS = ("pima", "mnist-bytes")


def cells(scope: Scope) -> list[Cell]:
    sets = scope.datasets or (QUICK_SETS if scope.quick else EXPERIMENT.datasets)
    return [
        {"set": name, "method": method, "seed": repetition, "fold": index}
        for name in sets
        for method in METHODS
        for repetition, index in _folds(name, 1 if scope.quick else scope.seeds)
    ]


def _folds(name: str, seeds: int) -> list[tuple[int, int]]:
    if name in DIGITS:
        return [(0, index) for index in range(min(seeds, DIGIT_FOLDS))]
    return [(repetition, index) for repetition in range(seeds) for index in range(2)]


def run(cell: Cell, scope: Scope) -> list[Numbers]:
    """A row per rate."""
    name, method, repetition, index = str(cell["set"]), str(cell["method"]), int(cell["seed"]), int(cell["fold"])
    parts = _parts(name, scope.data, repetition, index)
    rates, course = _effort(name, scope.quick)
    n_outputs, seed, start = N_CLASSES if name in DIGITS else 1, 2 * repetition + index, None
    if method == WARM:
        start = best_of(train_stack(parts, "NegLog", rates, seed, course, n_outputs)).start
    found = train_stack(parts, "EErr" if method == WARM else method, rates, seed, course, n_outputs, start)
    return [one.numbers(rate) for one, rate in zip(found, rates, strict=True)]


def _effort(name: str, quick: bool) -> tuple[tuple[float, ...], Course]:
    if quick:
        return QUICK_RATES, QUICK_COURSE
    return (DIGIT_RATES, DIGIT_COURSE) if name in DIGITS else (RATES, COURSE)


def best_of(found: list[Best]) -> Best:
    """The best rate on development."""
    return max(found, key=lambda one: one.value)


def _parts(name: str, data: Path, repetition: int, index: int) -> tuple[Rows, Rows, Rows]:
    if name not in DIGITS:
        return tabular.parts(name, data, repetition, index)
    train, development, test = fold(data, index)
    if name == "mnist":
        return train, development, test
    return as_bytes(train), as_bytes(development), as_bytes(test)


EXPERIMENT = Experiment(
    name="leaky-rates",
    title="Leaky expected error (arXiv 1905.00448): expected error at the learning rate it needs",
    datasets=(*published.SETS, *DIGITS),
    cells=cells,
    run=run,
    summary=summary,
    claims=claims,
    figure=figure,
    seeds=5,
)
