"""Offsets for scores of any origin: read scores and labels, bring them to one scale, tune."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricfit import metrics
from metricfit._score_names import column_names
from metricfit._typing import Floats, Ints
from metricfit.decisions._calibration import MOST_SEARCHED, Calibration, calibrate
from metricfit.decisions._hard import largest_class
from metricfit.decisions._offsets import are_clearly_worse, fit_offsets, fit_smooth_offsets
from metricfit.decisions._rows import thin_rows
from metricfit.decisions._scores import (
    FEW_ROWS,
    as_array,
    as_floats,
    check_classes,
    check_percentages,
    check_weight,
    has_label_table,
    match_columns,
    read_label_logits,
    read_scores,
)
from metricfit.metrics import Averaged, Metric, Multilabel

_SURELY = 4.0  # standard errors
_MOST_PIXELS = 200_000

_logger = logging.getLogger("metricfit")


def tune_offsets(
    scores: ArrayLike,
    y: ArrayLike,
    metric: metrics.MetricLike = "accuracy",
    *,
    smooth: bool = True,
    sample_weight: ArrayLike | None = None,
    kind: str = "auto",
    classes: Sequence[Any] | None = None,
    ignore_index: int | None = None,
) -> Floats:
    """Find the offsets for which ``argmax(scores + offsets)`` does best on a metric.

    Pass scores of rows that the model has not seen, from any library or file. The offsets of probabilities are for their
    logarithms; :func:`decide` takes the logarithm too.

    Parameters
    ----------
    scores : array-like, data frame or tensor of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
        Logits, log-probabilities or probabilities. A single column is about the positive class: its probability, or its logit
        against zero. Scores (N, C, H, W) with labels (N, H, W) are rows too.
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        Labels of one type. Whole numbers 0 ... k - 1 are columns. Other labels belong to the columns in sorted order, as in
        scikit-learn, or to the columns of a data frame that have their names. For several labels per row, a table of 0 and 1.
    metric : str, Metric or callable, default="accuracy"
        A name, a metric or a function of the confusion matrix. The positive class is the second one.
    smooth : bool, default=True
        Maximise the metric under noise on the scores, which overfits less. False maximises the metric itself.
    sample_weight : array-like of shape (n_samples,), default=None
        How much each row counts.
    kind : {"auto", "probability", "log_probability", "logit"}, default="auto"
        The kind of the scores. "auto" reads several columns as probabilities if every row sums to one (or to 100) up to
        rounding, and one column if all values lie between 0 and 1. The logger "metricfit" reports it at the level INFO.
    classes : sequence of labels, default=None
        The labels of the columns, if their order is not the sorted one.
    ignore_index : int, default=None
        Rows with this label are ignored. With several labels per row, it marks single ones.

    Returns
    -------
    ndarray of shape (n_classes,) or (n_labels, 2)
        Offsets with mean zero. For several labels per row, those of two classes for each label.

    Raises
    ------
    ValueError
        If many rows may be probabilities or logits. Pass ``kind``.

    See Also
    --------
    DecisionRule : Adds constraints, intervals and files.

    Notes
    -----
    With ``smooth=True``, a scale and a bias per class first calibrate the scores by cross-entropy, so their unit and zero do
    not matter. The noise has the width that fits calibrated scores: normal for two classes, a softmax for more. The
    search starts at the best offsets for the metric itself, or at the most probable class for accuracy. If the offsets decide
    these rows worse than the most probable class does, by more than two standard errors, the result is that of
    ``smooth=False``.

    With ``smooth=False`` and two classes every threshold is tried, so the result is exact. For more classes, one class at a
    time moves to its best offset until nothing moves. Ties go to the smallest change.

    With several labels per row, macro averages and means over labels are tuned label by label. A micro average has one
    threshold for all labels, after a calibration of each.

    Above 200,000 rows, ``smooth=True`` searches about 200,000 of them, in equal parts of the classes, and the logger says so.
    Of more than 200,000 pixels every second, third ... is taken.

    Examples
    --------
    >>> from metricfit import tune_offsets
    >>> scores = [[2.0, 0.0], [1.0, 0.0], [0.6, 0.0], [0.4, 0.0]]
    >>> tune_offsets(scores, [0, 0, 1, 1], "f1", smooth=False)      # class 1 if its score is less than 0.8 behind
    array([-0.4,  0.4])
    """
    names = column_names(scores)
    if has_label_table(scores, y):
        return _tune_labels(as_floats(scores), as_array(y), metrics.get(metric), smooth, sample_weight, kind, ignore_index)
    scores, y, sample_weight = _as_rows(scores, y, sample_weight, ignore_index)
    read = read_scores(scores, kind)
    table = read.values
    if kind == "auto":
        check_percentages(read)
    labels, _ = match_columns(y, table.shape, classes, names)
    weight = check_weight(sample_weight, len(table))
    chosen = metrics.get(metric)
    chosen.check_classes(table.shape[1])
    _logger.info("Scores: %s", read.sentence)
    if are_reversed(table, labels):
        warnings.warn(
            "The scores of the second class are lower in its own rows than in the others. If the columns, or the one column, "
            "belong to the classes in another order, pass `classes`.",
            stacklevel=2,
        )
    return (fit_calibrated_offsets if smooth else fit_offsets)(table, labels, chosen, weight)


def decide(scores: ArrayLike, offsets: ArrayLike, *, kind: str = "auto", classes: Sequence[Any] | None = None) -> NDArray[Any]:
    """Predict the class of every row by offsets from :func:`tune_offsets`.

    Parameters
    ----------
    scores : array-like, data frame or tensor of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
        Scores of the kind that the offsets were tuned for.
    offsets : array-like of shape (n_classes,) or (n_labels, 2)
        The offsets.
    kind : {"auto", "probability", "log_probability", "logit"}, default="auto"
        The kind of the scores. Pass it if you decide on a few rows at a time, because their kind is hard to tell, or if you
        passed it to :func:`tune_offsets`. A single row of logits such as [0.3, 0.7] looks like probabilities.
    classes : sequence of labels, default=None
        The labels of the columns.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_labels)
        The classes 0 ... k - 1, or their labels in ``classes``. For several labels per row, 0 or 1 for each.

    Raises
    ------
    ValueError
        If one column has fewer than 20 values between 0 and 1, which may be probabilities or logits. Pass ``kind``.

    Examples
    --------
    >>> from metricfit import decide
    >>> decide([[0.8, 0.2], [0.6, 0.4]], [-0.4, 0.4])               # log 0.4 + 0.4 is more than log 0.6 - 0.4
    array([0, 1])
    >>> decide([0.2, 0.4], [-0.4, 0.4], kind="probability", classes=["no", "yes"])
    array(['no', 'yes'], dtype=object)

    Offsets (K, 2) of several labels decide 0 or 1 for each:

    >>> decide([[0.4, -1.0], [-0.4, 2.0]], [[-0.4, 0.4], [0.5, -0.5]], kind="logit")    # 0.4 + 0.8 and -0.4 + 0.8
    array([[1, 0],
           [1, 1]])
    """
    shift = np.asarray(offsets, np.float64)
    table = as_floats(scores)
    if shift.ndim == 2:
        return _decide_labels(table, shift, kind)
    if table.ndim > 2:  # pixels
        decided = decide(np.moveaxis(table, 1, -1).reshape(-1, table.shape[1]), shift, kind=kind, classes=classes)
        return decided.reshape(table.shape[0], *table.shape[2:])
    read = read_scores(table, kind)
    if not read.is_sure:
        raise ValueError(
            f"`scores` may be probabilities or logits: one column with fewer than {FEW_ROWS} values, all between 0 and 1. "
            "Pass kind='probability' or kind='logit', whichever the offsets were tuned for."
        )
    if shift.shape != read.values.shape[1:]:
        wanted = read.values.shape[1]
        raise ValueError(f"`offsets` should have shape ({wanted},), one per class of the scores, got {shift.shape}.")
    decided = largest_class(read.values, shift)
    return decided if classes is None else check_classes(classes, len(shift))[decided]


def _as_rows(scores: Any, y: Any, sample_weight: Any, ignore_index: int | None) -> tuple[Any, Any, Any]:
    """Scores (n, k), labels and weights (n,), without ignored rows; of many pixels a part."""
    if np.ndim(scores) < 3 and ignore_index is None:
        return scores, y, sample_weight
    table, labels = as_floats(scores), as_array(y)
    if table.ndim > 2:
        rows = np.moveaxis(table, 1, -1).reshape(-1, table.shape[1])
        shape = (table.shape[0], *table.shape[2:])
        if labels.shape not in (shape, (shape[0], 1, *shape[1:])):
            raise ValueError(f"`y` should have shape {shape} for scores of shape {table.shape}, got {labels.shape}.")
    else:
        rows = table
    labels = labels.reshape(-1)
    kept = np.flatnonzero(labels != ignore_index) if ignore_index is not None else np.arange(len(labels))
    if not len(kept):
        raise ValueError(f"`y` should have labels other than `ignore_index`, {ignore_index}, got none.")
    kept = _thinned(kept) if table.ndim > 2 else kept
    weight = None if sample_weight is None else np.asarray(sample_weight, np.float64).reshape(-1)[kept]
    return rows[kept], labels[kept], weight


def _thinned(rows: Ints) -> Ints:
    """Every second, third ... of more than 200,000 pixels."""
    step = -(-len(rows) // _MOST_PIXELS)
    if step > 1:
        _logger.info(
            "The search for the offsets uses %s of %s pixels, one in %d.", f"{len(rows[::step]):,}", f"{len(rows):,}", step
        )
    return rows[::step]


def _tune_labels(
    table: Floats, y: NDArray[Any], metric: Metric, smooth: bool, sample_weight: Any, kind: str, ignore_index: int | None
) -> Floats:
    """Offsets (K, 2): label by label, or with one threshold for all if the metric is a micro average."""
    of_labels = Multilabel(metric)
    of_labels.check_classes(table.shape[1])
    logits, targets = (np.moveaxis(one, 1, 0).reshape(table.shape[1], -1) for one in (_label_logits(table, kind), y))
    weight = np.ones(targets.shape)
    if sample_weight is not None:
        given = np.asarray(sample_weight, np.float64)
        given = given[:, None] if given.shape == (len(table), *table.shape[2:]) else given
        weight = np.moveaxis(np.broadcast_to(given, table.shape), 1, 0).reshape(weight.shape)
    used = np.ones(targets.shape, bool) if ignore_index is None else targets != ignore_index
    if not np.isin(targets[used], (0, 1)).all():
        raise ValueError("`y` of several labels per row should be 0 and 1, one for each score, got other values.")
    problems = []
    for label in range(len(logits)):
        rows = _thinned(np.flatnonzero(used[label])) if table.ndim > 2 else np.flatnonzero(used[label])
        pair = np.stack([np.zeros(len(rows)), logits[label, rows]], 1)
        problems.append((pair, targets[label, rows].astype(np.int64), weight[label, rows]))
    if isinstance(metric, Averaged) and metric.average == "micro":
        return _common_threshold(problems, of_labels.of_label(0), smooth)
    fit = fit_calibrated_offsets if smooth else fit_offsets
    return np.stack(
        [
            # a label that all rows have, or none, has no threshold
            fit(pair, labels, of_labels.of_label(index), own) if 0 < labels.sum() < len(labels) else np.zeros(2)
            for index, (pair, labels, own) in enumerate(problems)
        ]
    )


def _common_threshold(problems: list[tuple[Floats, Ints, Floats]], metric: Metric, smooth: bool) -> Floats:
    """Offsets with one threshold for the calibrated scores of all labels, which is what a micro average needs."""
    as_it_is = Calibration(1.0, np.zeros(2))
    found = [calibrate(*problem) if smooth else as_it_is for problem in problems]
    found = [one if one.scale else as_it_is for one in found]
    pooled = np.concatenate([one.logits(pair) for (pair, _, _), one in zip(problems, found, strict=True)])
    labels, weight = (np.concatenate([problem[i] for problem in problems]) for i in (1, 2))
    if smooth:
        common = fit_smooth_offsets(pooled, labels, metric, weight, temperature=1.0)
    else:
        common = fit_offsets(pooled, labels, metric, weight)
    return np.stack([(one.bias + common) / one.scale for one in found])


def _label_logits(table: Floats, kind: str) -> Floats:
    logits, read = read_label_logits(table, kind)
    _logger.info("Scores of %d labels: %s", table.shape[1], read.sentence)
    return logits


def _decide_labels(table: Floats, offsets: Floats, kind: str) -> Ints:
    if table.ndim < 2 or offsets.shape != (table.shape[1], 2):
        raise ValueError(f"`offsets` of shape {offsets.shape} are for scores (n, {len(offsets)}), got {table.shape}.")
    gain = (offsets[:, 1] - offsets[:, 0]).reshape(-1, *[1] * (table.ndim - 2))
    return (_label_logits(table, kind) + gain > 0.0).astype(np.int64)


def fit_calibrated_offsets(scores: Floats, labels: Ints, metric: Metric, weight: Floats) -> Floats:
    r""":func:`fit_smooth_offsets` for scores in any unit and from any zero.

    Scale a and biases b make :math:`a S + b` fit the labels best. The offsets o of these calibrated scores are
    :math:`(b + o) / a` in the units of the scores. Scores that say nothing about the labels have no such scale, so they get
    the best offsets for the metric itself, and so do scores whose rows these offsets decide clearly worse than none: with many
    classes and few rows of each, the biases are mostly chance.

    Of more than 200,000 rows about so many are searched, in equal parts of the classes, and weighted to make up for it.
    """
    if len(labels) > MOST_SEARCHED:
        kept, weight = thin_rows(labels, weight, scores.shape[1], MOST_SEARCHED)
        _logger.info("The search for the offsets uses %s of %s rows.", f"{len(kept):,}", f"{len(labels):,}")
        scores, labels = scores[kept], labels[kept]
    found = calibrate(scores, labels, weight)
    if found.scale == 0.0:
        return fit_offsets(scores, labels, metric, weight)
    offsets = (found.bias + fit_smooth_offsets(found.logits(scores), labels, metric, weight, temperature=1.0)) / found.scale
    if are_clearly_worse(offsets, scores, labels, metric, weight):
        return fit_offsets(scores, labels, metric, weight)
    return offsets - offsets.mean()


def are_reversed(scores: Floats, labels: Ints) -> bool:
    """Whether the second of two classes has lower scores in its own rows, by more than four standard errors."""
    if scores.shape[1] != 2:
        return False
    difference = scores[:, 1] - scores[:, 0]
    own, other = difference[labels == 1], difference[labels == 0]
    if not len(own) or not len(other):
        return False
    error = np.sqrt(own.var() / len(own) + other.var() / len(other))
    return bool(own.mean() < other.mean() - _SURELY * error)
