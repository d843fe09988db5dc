"""What may mislead in a comparison: scores that hardly need the columns, in plain sentences.

The contenders that people look at are checked: the choice of the comparison and the reference. Counts are of the held-out rows
of the first repeat, as in the report's confusion matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from metricfit._typing import Floats
from metricfit.comparison._words import join_labels, plural, quote
from metricfit.decisions import hard_confusion
from metricfit.metrics import BalancedAccuracy, CohenKappa, FBeta, MatthewsCorrelation, Metric, Precision, Recall

if TYPE_CHECKING:
    from metricfit.comparison._result import Comparison, Result

FEW_CALLS = 0.1  # calls of the positive class for each row of it: fewer are too few, whatever their precision
RARE_CALLS = 0.01  # share of all rows that is called positive: no more are too few ...
HALF_OF_POSITIVES = 0.5  # ... unless the class is as rare: where there are calls for half of its rows
FALSE_ALARMS = 0.9  # share of the negative rows that is called positive: then recall says nothing
NEAR_USELESS = 0.1  # of a score that is 0 for guessing and 1 for the truth
NEAR_USELESS_BALANCED = 0.05  # of balanced accuracy above 1/k


def list_warnings(comparison: Comparison) -> tuple[str, ...]:
    """One sentence or two for everything that may mislead."""
    shown = {result.contender.name: result for result in (comparison.choice, comparison.reference)}
    found = list[str]()
    for result in shown.values():
        found += _about(comparison, result, is_choice=result is comparison.choice)
    if comparison.verdict.status != "constant":  # else the verdict says it, and more strongly
        found += _near_useless(comparison)
    return tuple(found)


def _about(comparison: Comparison, result: Result, is_choice: bool) -> Iterator[str]:
    name, labels, k = result.contender.name, comparison.classes.tolist(), len(comparison.classes)
    matrix = hard_confusion(result.held_out.predicted, comparison.labels, np.ones(len(comparison.labels)), k)
    answered = np.flatnonzero(matrix.sum(0))
    if len(answered) == 1:
        yield f"{name} answers {quote(labels[int(answered[0])])} for every row."
        return
    never = np.flatnonzero((matrix.sum(0) == 0.0) & (matrix.sum(1) > 0.0))
    if is_choice and len(never):
        rows = plural(int(matrix.sum(1)[never].sum()), "held-out row")
        these = "this class" if len(never) == 1 else "these classes"
        yield f"{name} never answers {join_labels([labels[index] for index in never])}. There are {rows} of {these}."
    positive = comparison.positive_index
    if positive is not None:
        yield from _one_sided(name, comparison.measure, matrix, positive, quote(labels[positive]))


def _one_sided(name: str, measure: Metric, matrix: Floats, positive: int, label: str) -> Iterator[str]:
    """Precision by calling hardly any row positive, and recall by calling almost all of them positive."""
    hits, n_positive, n_called = matrix[positive, positive], matrix[positive].sum(), matrix[:, positive].sum()
    n_rows, n_negative = matrix.sum(), matrix.sum() - n_positive
    precision, recall = hits / n_called, hits / max(n_positive, 1.0)
    calls = f"{int(n_called):,} of {int(n_rows):,} rows {label}"
    few = n_called < FEW_CALLS * n_positive
    rare = n_called <= RARE_CALLS * n_rows and n_called < HALF_OF_POSITIVES * n_positive
    if _prefers_precision(measure) and (few or rare):
        yield f"{name} calls only {calls}. The precision of these is {precision:.2f}, but recall is {recall:.2f}."
    if _prefers_recall(measure) and n_called - hits >= FALSE_ALARMS * max(n_negative, 1.0):
        yield f"{name} calls {calls}. Recall is {recall:.2f}, but precision is {precision:.2f}."


def _prefers_precision(measure: Metric) -> bool:
    return isinstance(measure, Precision) or (isinstance(measure, FBeta) and _beta(measure) < 1.0)


def _prefers_recall(measure: Metric) -> bool:
    return isinstance(measure, Recall) or (isinstance(measure, FBeta) and _beta(measure) > 1.0)


def _beta(measure: FBeta) -> float:
    return float(measure.beta) if isinstance(measure.beta, float | int) else 1.0


def _near_useless(comparison: Comparison) -> Iterator[str]:
    """The best score is hardly above that of guessing, for metrics that give guessing a known value."""
    measure, best = comparison.measure, comparison.best
    if isinstance(measure, BalancedAccuracy) and not measure.adjusted:
        guess, margin = 1.0 / len(comparison.classes), NEAR_USELESS_BALANCED
    elif isinstance(measure, BalancedAccuracy | MatthewsCorrelation | CohenKappa):
        guess, margin = 0.0, NEAR_USELESS
    else:
        return
    if best.estimate.mean < guess + margin:
        scores = f"The best {comparison.metric} is {best.estimate.mean:.4f}, and guessing gives {guess:.2f}"
        yield f"{scores}: the columns hardly predict the target."
