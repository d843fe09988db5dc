"""The best offsets for a metric and its constraints: plain, on the rows at hand, or with a promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from metricfit._typing import Floats
from metricfit.decisions._calibration import MOST_SEARCHED, Calibration, calibrate
from metricfit.decisions._constraints import COST, ClassConstraint, Constrained
from metricfit.decisions._hard import largest_class, metric_values, row_blocks
from metricfit.decisions._offsets import fit_offsets
from metricfit.decisions._promise import Path, fewest_rows, promise
from metricfit.decisions._rows import Rows, rank_in_class
from metricfit.decisions._tuning import fit_calibrated_offsets
from metricfit.metrics import Metric

START_ROWS, LEAST_FOR_START = 200, 2000  # rows that calibrate the start of tests, and the least rows to spare them


@dataclass(frozen=True)
class Solution:
    """Offsets; if constraints cannot be kept, ``refusal`` says so, and ``limit`` is what these offsets promise instead."""

    offsets: Floats
    refusal: str = ""
    limit: float | None = None


def solve(rows: Rows, metric: Metric, constraints: Sequence[ClassConstraint], confidence: float | None) -> Solution:
    """The best decisions for the metric that keep the constraints, with a promise if a confidence is given."""
    if not constraints:
        return Solution(fit_calibrated_offsets(rows.scores, rows.labels, metric, rows.weight))
    if confidence is None:
        return _solve_on_rows(rows, metric, constraints)
    return _solve_with_promise(rows, metric, constraints, confidence)


def check_promise(rows: Rows, constraints: Sequence[ClassConstraint]) -> None:
    """Raise a ValueError for constraints that cannot be promised."""
    if not rows.are_independent:
        raise ValueError("`confidence` needs independent rows of equal weight: leave out `sample_weight` and `groups`.")
    several = rows.n_classes > 2
    for one in constraints:
        if one.constraint.share is None and (several or one.constraint.quantity != COST):
            raise ValueError(
                f"`confidence`: {one.constraint} cannot be promised. A promise is about precision, recall, f1, jaccard, fpr, "
                "specificity or predicted_rate of one class; of two classes also about accuracy or cost."
            )
        if several and one.constraint.label is None:
            raise ValueError(f"`confidence`: {one.constraint} can be promised for two classes only, got {rows.n_classes}.")
        if one.constraint.is_absolute:
            raise ValueError(
                f"`confidence`: {one.constraint} cannot be promised, because no number of rows shows that there is no "
                "exception. Choose a limit that allows some."
            )
    if several and len({one.index for one in constraints}) > 1:
        raise ValueError(
            f"`confidence`: of {rows.n_classes} classes, all constraints should be about one. Leave out `confidence`, or "
            "constrain one class."
        )


def _solve_on_rows(rows: Rows, metric: Metric, constraints: Sequence[ClassConstraint]) -> Solution:
    """The best decisions about these rows: exact for two classes, by coordinate ascent from two starts for more.

    Of many rows of more classes a part is searched. All rows then move the classes of the constraints.
    """
    constrained, some = Constrained(metric, constraints), rows
    starts: list[Floats | None] = [None]
    if rows.n_classes > 2:
        if len(rows) > MOST_SEARCHED:
            some = rows.thinned(MOST_SEARCHED)
        starts.append(fit_offsets(some.scores, some.labels, metric, some.weight))
    found = [fit_offsets(some.scores, some.labels, constrained, some.weight, start) for start in starts]
    offsets = max(found, key=lambda one: float(metric_values(constrained, some.confusion(largest_class(some.scores, one)))))
    if some is not rows:
        moving = sorted({one.index for one in constraints})
        offsets = fit_offsets(rows.scores, rows.labels, constrained, rows.weight, offsets, moving=moving)
    matrix = rows.confusion(largest_class(rows.scores, offsets))
    missed = [one for one in constraints if one.violations(matrix) > 0.0]
    if not missed:
        return Solution(offsets)
    parts = "; ".join(f"{one.constraint} (the best value is {float(one.values(matrix)):.3g})" for one in missed)
    return Solution(offsets, f"Not attainable: no decision on these {len(rows):,} rows keeps {parts}.")


def _solve_with_promise(rows: Rows, metric: Metric, constraints: Sequence[ClassConstraint], confidence: float) -> Solution:
    """The best decisions along the path of one class, among those that keep the constraints with this confidence.

    For more than two classes, half of the rows tune the offsets of all classes, and the others promise. Of many rows of two
    classes, a few calibrate the probabilities that choose where tests start. Fewer rows cannot spare any: there the model's
    own probabilities choose, and the start is a bad one if they are far from calibrated.
    """
    level = f"with {confidence:.0%} confidence from these {len(rows):,} rows"
    moving, offsets = (constraints[0].index, np.zeros(rows.n_classes)) if rows.n_classes > 2 else (1, np.zeros(2))
    is_tuned = rows.n_classes > 2 and not metric.counts_hits
    if is_tuned:
        apart = rank_in_class(rows.labels) % 2 == 1
    else:
        needs_start = any(one.constraint.share is None or not one.constraint.share.is_monotone for one in constraints)
        apart = np.arange(len(rows)) % max(len(rows) // START_ROWS, 1) == 0
        apart &= needs_start and len(rows) >= LEAST_FOR_START
    tuning, rows = rows.take(apart), rows.take(~apart)
    calibration = calibrate(tuning.scores, tuning.labels, tuning.weight)
    if calibration.scale == 0.0:
        calibration = Calibration(1.0, np.zeros(rows.n_classes))
    if is_tuned and len(tuning):
        offsets = fit_calibrated_offsets(tuning.scores, tuning.labels, metric, tuning.weight)
    of_two = [one if rows.n_classes == 2 else replace(one, index=1) for one in constraints]
    alpha, is_class = (1.0 - confidence) / len(constraints), rows.labels == moving
    probability = np.concatenate([calibration.probabilities(rows.scores[some])[:, moving] for some in row_blocks(rows.scores)])
    path = Path.of(rows.scores, moving, offsets)
    promises = [promise(path, is_class, probability, one, alpha) for one in of_two]
    cuts = path.thin(np.flatnonzero(np.logical_and.reduce([own.cuts for own in promises])), rows.n_classes)
    if len(cuts):
        values = metric_values(metric, path.matrices(cuts, rows.labels, rows.n_classes, moving))
        return Solution(_shifted(offsets, moving, path.shifts[cuts[np.nan_to_num(values, nan=-np.inf).argmax()]]))
    for one, own in zip(of_two, promises, strict=True):
        if own.cuts.any():
            continue
        if own.limit is None:
            return Solution(offsets, f"Not attainable: {one.constraint} cannot be promised {level}.")
        text = f"Not attainable: the best {one.constraint.name} that can be promised {level} is {own.limit:g}."
        share, needed = one.constraint.share, fewest_rows(one.constraint, alpha)
        trials = np.full(1, np.inf) if share is None else share.counts(path.two_by_two(is_class), one.index)[1]
        if trials.max() < needed:
            text += f" {one.constraint} needs at least {needed:,} rows in its denominator, and there are {trials.max():,.0f}."
        return Solution(_shifted(offsets, moving, path.shifts[own.cut]), text, own.limit if len(constraints) == 1 else None)
    names = " and ".join(str(one.constraint) for one in constraints)
    return Solution(offsets, f"Not attainable: {names} can each be promised {level}, but not together.")


def _shifted(offsets: Floats, index: int, shift: float) -> Floats:
    found = offsets.copy()
    found[index] += shift
    return found - found.mean()
