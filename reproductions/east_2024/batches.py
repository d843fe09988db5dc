"""Theorem 5.8: the batch size that it asks for on the papers' sets, and the one that is enough when batches are drawn.

The theorem is about the entries of the matrix. The batch size for F1 is from our corollary, ``theory.f1_batch_size``.

The model is fixed: a logistic regression, whose answers for all rows come from two folds. Its confusion matrix over all rows
is the truth. Batches have independent rows, as in the theorem, so their matrices are multinomial. Nothing is trained on them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from torch import Tensor

from reproductions import _tables as tables
from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions._markdown import table
from reproductions._results import distinct_values, matching
from reproductions.lab import theory

SETS = (
    "adult",
    "mammography",
    "annealing",
    "audit-risk",
    "balance-scale",
    "breast-cancer",
    "car",
    "cylinder-bands",
    "dry-bean",
    "mice-protein",
    "wine",
    "magic",
    "musk2",
    "pima",
    "ringnorm",
    "satellite47",
)
QUICK_SETS = ("mammography", "wine")
BATCHES = tuple(2**power for power in range(6, 14))  # 64 ... 8192
POWERS = tuple(2**power for power in range(20))  # searched for the batch that is enough
N_BATCHES, DELTA = 4000, 0.05
ALLOWED = 0.05  # deviation of an entry, or of F1


def cells(scope: Scope) -> list[Cell]:
    return [{"set": name} for name in scope.datasets or (QUICK_SETS if scope.quick else SETS)]


def run(cell: Cell, scope: Scope) -> list[Numbers]:
    """One row per batch size: bounds, and the 95 % quantiles of what is drawn."""
    matrix = confusion(*tables.load(str(cell["set"]), scope.data))
    rare = int(matrix.sum(1).argmin())
    share, n_classes = float(matrix[rare].sum()), len(matrix)
    about = {
        "classes": float(n_classes),
        "share": 100.0 * share,
        "f1": 100.0 * float(f1_of(torch.from_numpy(matrix), rare)),
        "asked": float(theory.batch_size(ALLOWED, n_classes, delta=DELTA)),
        "enough": float(_enough(matrix, lambda batches: _largest(batches, matrix))),
        "asked_f1": float(theory.f1_batch_size(ALLOWED, share, n_classes, delta=DELTA)),
        "enough_f1": float(_enough(matrix, lambda batches: _off_f1(batches, matrix, rare))),
    }
    rows = []
    for n_rows in BATCHES:
        batches = draw_batches(matrix, n_rows)
        rows.append(
            about
            | {
                "batch": float(n_rows),
                "bound": theory.deviation(n_rows, n_classes, delta=DELTA),
                "seen": _high(_largest(batches, matrix)),
                "seen_f1": _high(_off_f1(batches, matrix, rare)),
                "without_class": 100.0 * (1.0 - share) ** n_rows,
            }
        )
    return rows


def confusion(features: pd.DataFrame, target: np.ndarray) -> np.ndarray:
    """The matrix of a logistic regression, each half of the rows answered by the model of the other, divided by all rows."""
    labels = np.unique(target.astype(str), return_inverse=True)[1]
    values = tables.numeric_features(features, np.arange(len(labels)))
    halves = StratifiedKFold(2, shuffle=True, random_state=0)
    answers = cross_val_predict(LogisticRegression(max_iter=500), values, labels, cv=halves)
    return confusion_matrix(labels, answers, normalize="all")


def draw_batches(matrix: np.ndarray, n_rows: int) -> Tensor:
    """Confusion matrices of independent batches, divided by their rows: (batches, k, k)."""
    counts = np.random.default_rng(n_rows).multinomial(n_rows, matrix.ravel(), N_BATCHES)
    return torch.from_numpy(counts.reshape(N_BATCHES, *matrix.shape) / n_rows)


def f1_of(matrices: Tensor, index: int) -> Tensor:
    """F1 of one class; 0 where a batch has neither a row nor an answer of it."""
    hits, rows, answers = matrices[..., index, index], matrices[..., index, :].sum(-1), matrices[..., index].sum(-1)
    return torch.nan_to_num(2.0 * hits / (rows + answers))


def _largest(batches: Tensor, matrix: np.ndarray) -> Tensor:
    return (batches - torch.from_numpy(matrix)).abs().flatten(1).amax(1)


def _off_f1(batches: Tensor, matrix: np.ndarray, index: int) -> Tensor:
    return (f1_of(batches, index) - f1_of(torch.from_numpy(matrix), index)).abs()


def _high(off: Tensor) -> float:
    return float(off.quantile(1.0 - DELTA))


def _enough(matrix: np.ndarray, off: Callable[[Tensor], Tensor]) -> int:
    """The batch size from which on 95 % of the batches are near enough, to within a tenth.

    Two rows without the rare class can be near as well, so the search comes from above.
    """

    def is_near(n_rows: int) -> bool:
        return _high(off(draw_batches(matrix, n_rows))) <= ALLOWED

    low = max((n_rows for n_rows in POWERS if not is_near(n_rows)), default=1)
    high = 2 * low
    while high > 1.1 * low + 1:
        middle = round((low * high) ** 0.5)
        low, high = (low, middle) if is_near(middle) else (middle, high)
    return high


def summary(found: Results) -> str:
    """What the theorem asks for beside what is enough, and the deviations at each batch size."""
    return f"{_sizes(found)}\n\n{_deviations(found)}\n"


def _sizes(found: Results) -> str:
    rows, ratios, ratios_f1 = [], [], []
    for name in distinct_values(found, "set"):
        _, one = matching(found, set=name)[0]
        ratios.append(one["asked"] / one["enough"])
        ratios_f1.append(one["asked_f1"] / one["enough_f1"])
        sizes = [f"{one[key]:,.0f}" for key in ("asked", "enough", "asked_f1", "enough_f1")]
        rows.append(
            [name, f"{one['classes']:.0f}", f"{one['share']:.2f}", f"{one['f1']:.1f}", *sizes, f"{ratios_f1[-1]:,.0f}"]
        )
    heads = [
        "set",
        "classes",
        "rarest class, %",
        "its F1, %",
        f"entries within {ALLOWED}: asked",
        "enough",
        f"F1 of the rarest class within {ALLOWED}: asked",
        "enough",
        "ratio",
    ]
    low, middle, high = np.quantile(ratios_f1, [0.0, 0.5, 1.0])
    return (
        f"## Batch sizes, for {1.0 - DELTA:.0%} of the batches\n\n{table(heads, rows)}\n\n"
        f"For the entries of the matrix Theorem 5.8 asks for {min(ratios):.1f} to {max(ratios):.1f} times as many rows as are "
        f"enough (median {np.median(ratios):.1f}). For F1 of the rarest class our corollary, which is not in the paper, "
        f"asks for {low:,.0f} to {high:,.0f} times as many (median {middle:,.0f})."
    )


def _deviations(found: Results) -> str:
    sets = distinct_values(found, "set")
    shown = [name for name in ("adult", "mammography", "car") if name in sets] or sets
    parts = []
    for name in shown:
        formats = {"batch": ".0f", "bound": ".4f", "seen": ".4f", "seen_f1": ".3f", "without_class": ".1f"}
        rows = [[format(one[key], form) for key, form in formats.items()] for _, one in matching(found, set=name)]
        heads = ["batch", "an entry: bound", "seen", "F1 of the rarest class: seen", "batches without the class, %"]
        parts.append(f"## {name}: deviations of a batch, {1.0 - DELTA:.0%} quantiles\n\n{table(heads, rows)}")
    return "\n\n".join(parts)


EXPERIMENT = Experiment(
    name="east-batches",
    title="EAST, Theorem 5.8 (arXiv 2405.20954): the batch size that it asks for, and what is enough",
    datasets=SETS,
    cells=cells,
    run=run,
    summary=summary,
    seeds=1,
)
