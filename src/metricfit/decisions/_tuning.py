"""Offsets for scores of any origin: read scores and labels, bring them to one scale, tune."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricfit import metrics
from metricfit._typing import Floats, Ints
from metricfit.decisions._calibration import NEVER, fit_scale_and_bias
from metricfit.decisions._labels import check_classes, read_labels
from metricfit.decisions._offsets import fit_offsets, fit_smooth_offsets
from metricfit.decisions._scores import FEW_ROWS, check_percentages, read_scores
from metricfit.metrics import Metric

_SURELY = 4.0  # standard errors

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
) -> Floats:
    """Offsets (k,) with mean zero, so that ``argmax(scores + offsets)`` does well on the metric.

    The scores should be of rows that the model has not seen. They may come from any library or file. Of probabilities the
    logarithm is taken, so the offsets are for log-probabilities; :func:`decide` does the same.

    ``smooth=True`` maximises the metric under noise on the scores, normal noise for two classes and a softmax for more. It
    starts at the best offsets for the metric itself; for accuracy it starts at the most probable class. The noise has the
    width that fits calibrated scores. A scale and a bias per class, which minimise the cross-entropy of these rows, bring all
    scores there first, so their unit and their zero do not matter. Such offsets follow the chance in these rows less. If they
    decide these rows worse than the most probable class does, by more than two standard errors, the result is that of
    ``smooth=False``.

    ``smooth=False`` maximises the metric itself. For two classes every threshold is tried, so the result is exact. For more,
    one class at a time is moved to its best place until nothing moves. Of equally good offsets the ones closest to where the
    search stands are taken, so no offsets where none help.

    **What is read.** Several columns are probabilities if every row sums to one (or to 100), give or take what rounding to
    some digits explains. One column holds probabilities of the positive class if all values lie between 0 and 1. All other
    scores are used as they are. Many rows that may be either raise a ValueError that asks for ``kind``. The logger
    "metricfit" says what was read, at the level INFO.

    Args:
        scores: (n, k), the larger the more likely: logits, log-probabilities or probabilities. For two classes also (n,) or
            (n, 1), about the positive class: its probability, or its logit against zero. An array, list, data frame or tensor.
        y: labels (n,) of any one type. Whole numbers 0 ... k - 1 are columns. Other labels belong to the columns in sorted
            order, as in scikit-learn, or to the columns of a data frame that have their names.
        metric: a name, a metric or a function of the confusion matrix. The positive class is the second one.
        smooth: whether to maximise the metric under noise.
        sample_weight: how much each row counts, (n,).
        kind: "auto", or what the scores are: "probability", "log_probability" or "logit".
        classes: the labels of the columns in their order, if it is another one.

    >>> scores = [[2.0, 0.0], [1.0, 0.0], [0.6, 0.0], [0.4, 0.0]]
    >>> tune_offsets(scores, [0, 0, 1, 1], "f1", smooth=False).tolist()     # class 1 where its score is less than 0.8 behind
    [-0.4, 0.4]
    """
    read = read_scores(scores, kind)
    table = read.values
    if kind == "auto":
        check_percentages(read)
    labels = read_labels(y, table.shape, classes, getattr(scores, "columns", ()))
    weight = np.ones(len(table)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weight.shape != labels.shape or not (np.isfinite(weight) & (weight >= 0)).all() or not weight.sum() > 0:
        raise ValueError(f"`sample_weight` should be finite, not negative, not all zero and of shape ({len(table)},).")
    chosen = metrics.get(metric)
    chosen.check_classes(table.shape[1])
    _logger.info("Scores: %s", read.sentence)
    if table.shape[1] == 2 and _are_reversed(table, labels):
        warnings.warn(
            "The scores of the second class are lower in its own rows than in the others. If the columns, or the one column, "
            "belong to the classes in another order, pass `classes`.",
            stacklevel=2,
        )
    return (fit_calibrated_offsets if smooth else fit_offsets)(table, labels, chosen, weight)


def decide(scores: ArrayLike, offsets: ArrayLike, *, kind: str = "auto", classes: Sequence[Any] | None = None) -> NDArray[Any]:
    """The class 0 ... k - 1 of every row, or its label in ``classes``, by offsets that were tuned for scores of the same kind.

    A few rows tell less about their kind than many. Fewer than 20 values between 0 and 1 in one column may be probabilities or
    logits, so they raise a ValueError that asks for ``kind``. A single row of logits such as [0.3, 0.7] looks like
    probabilities. Pass ``kind`` if you decide on few rows at a time, or if you passed it to :func:`tune_offsets`.

    >>> decide([[0.8, 0.2], [0.6, 0.4]], [-0.4, 0.4]).tolist()              # log 0.4 + 0.4 is more than log 0.6 - 0.4
    [0, 1]
    >>> decide([0.2, 0.4], [-0.4, 0.4], kind="probability", classes=["no", "yes"]).tolist()
    ['no', 'yes']
    """
    read, shift = read_scores(scores, kind), np.asarray(offsets, np.float64)
    if not read.is_sure:
        raise ValueError(
            f"`scores` may be probabilities or logits: one column with fewer than {FEW_ROWS} values, all between 0 and 1. "
            "Pass kind='probability' or kind='logit', whichever the offsets were tuned for."
        )
    if shift.shape != read.values.shape[1:]:
        wanted = read.values.shape[1]
        raise ValueError(f"`offsets` should have shape ({wanted},), one per class of the scores, got {shift.shape}.")
    decided = (read.values + shift).argmax(1)
    return decided if classes is None else check_classes(classes, len(shift))[decided]


def fit_calibrated_offsets(scores: Floats, labels: Ints, metric: Metric, weight: Floats) -> Floats:
    r""":func:`fit_smooth_offsets` for scores in any unit and from any zero.

    Scale a and biases b make :math:`a S + b` fit the labels best. The offsets o of these calibrated scores are
    :math:`(b + o) / a` in the units of the scores. Scores that say nothing about the labels have no such scale, so they get
    the best offsets for the metric itself.
    """
    scale, bias = fit_scale_and_bias(scores, labels, weight)
    if scale == 0.0:
        return fit_offsets(scores, labels, metric, weight)
    calibrated = np.where(scores == NEVER, NEVER, scale * scores + bias)
    offsets = (bias + fit_smooth_offsets(calibrated, labels, metric, weight, temperature=1.0)) / scale
    return offsets - offsets.mean()


def _are_reversed(scores: Floats, labels: Ints) -> bool:
    """Whether the second of two classes has lower scores in its own rows, by more than four standard errors."""
    difference = scores[:, 1] - scores[:, 0]
    own, other = difference[labels == 1], difference[labels == 0]
    if not len(own) or not len(other):
        return False
    error = np.sqrt(own.var() / len(own) + other.var() / len(other))
    return bool(own.mean() < other.mean() - _SURELY * error)
