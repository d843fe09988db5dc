r"""Several labels per row: one threshold for each label, for averages over labels and over rows.

:func:`metricfit.tune_offsets` tunes macro and micro averages. An average over rows (``f1_samples``, ``jaccard_samples``,
``subset_accuracy``) depends on all labels of a row at once. There one threshold at a time is moved to its best place: with the
answers of the other labels fixed, row i is worth :math:`v_i^1` with the label and :math:`v_i^0` without it, so the best
threshold is where the running sum of :math:`v_i^1 - v_i^0` over falling scores is largest. This is coordinate ascent: when it
stops by itself, no threshold alone can be better, but two moved at once may be. The best of three starts is taken: thresholds
for micro F1, probabilities of one half, and no answers.

A row without answers has an F-beta and a Jaccard of zero, whatever its labels are, so an answer is never worse there. For
these averages every row gets the label that comes nearest to its threshold. All thresholds are then moved together to where
this does best: with an answer for sure, a row needs fewer others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import MultiLabelBinarizer

from metricfit import metrics
from metricfit._score_names import column_names, labels_of_names
from metricfit._typing import Floats, Ints
from metricfit.decisions._intervals import Judgement, Z, bounded_interval, values_and_slopes
from metricfit.decisions._rows import sums_by_draw
from metricfit.decisions._tuning import tune_offsets
from metricfit.metrics import Averaged, Multilabel

MOST_ROUNDS, FOLDS, LEAST_ROWS = 10, 5, 50
MOVES = np.linspace(-1.5, 1.5, 61)  # of all thresholds together
_BY_ROW = re.compile(r"(?:f(?P<beta>\d+(?:\.\d+)?)|(?P<jaccard>jaccard|iou))_samples|(?P<subset>subset_accuracy)")


@dataclass(frozen=True)
class RowAverage:
    """The mean over rows of F-beta, Jaccard (``beta`` None), or of whether all labels are right (``is_subset``)."""

    beta: float | None = None
    is_subset: bool = False

    def of_rows(self, hits: Floats, true: Floats, predicted: Floats) -> Floats:
        """From the number of labels of each row that are right, true and predicted; without any, F-beta and Jaccard are 0.

        >>> RowAverage(1.0).of_rows(np.array([1.0]), np.array([2.0]), np.array([1.0])).round(4).tolist()
        [0.6667]
        """
        if self.is_subset:
            return ((hits == true) & (hits == predicted)).astype(np.float64)
        square = 1.0 if self.beta is None else self.beta**2
        below = true + predicted - hits if self.beta is None else square * true + predicted
        return np.where(below > 0.0, (1.0 if self.beta is None else 1.0 + square) * hits / np.maximum(below, 1e-300), 0.0)


@dataclass(frozen=True)
class ManyLabels:
    """Thresholds for a metric of several labels: its tuning, its value and how sure that is."""

    metric: RowAverage | Multilabel

    @classmethod
    def named(cls, metric: Any) -> ManyLabels:
        if isinstance(metric, str) and (found := _BY_ROW.fullmatch(metric)):
            beta = float(found["beta"]) if found["beta"] else None
            return cls(RowAverage(beta, bool(found["subset"])))
        chosen = metrics.get(metric)
        if not isinstance(chosen, Averaged) or chosen.average not in ("macro", "micro"):
            raise ValueError(
                f"`metric` {metrics.name_of(metric)!r} is for one label per row. With several, use 'f1_macro', "
                "'f1_micro', 'f1_samples', 'jaccard_macro', 'jaccard_samples', 'subset_accuracy' or a similar metric."
            )
        return cls(Multilabel(chosen))

    def tune(self, logits: Floats, y: Ints, weight: Floats) -> Floats:
        """Offsets of the logits, (K,); a label is answered if logit plus offset is positive."""
        if isinstance(self.metric, Multilabel):
            return _shifts(tune_offsets(logits, y, self.metric.metric, sample_weight=weight, kind="logit"))
        micro = _shifts(tune_offsets(logits, y, "f1_micro", sample_weight=weight, kind="logit"))
        none = -logits.max(0) - 1.0  # answers no label
        found = [self._climb(logits, y, weight, start) for start in (micro, np.zeros(len(micro)), none)]
        if not self.is_never_empty:
            return max(found, key=lambda one: self.value(self.answers(logits + one), y, weight))
        moved = [one + move for one in found for move in sorted(MOVES, key=abs)]  # of equal ones the first
        return max(moved, key=lambda one: self.value(self.answers(logits + one), y, weight))

    @property
    def is_never_empty(self) -> bool:
        """Whether every row gets an answer: without one it would count zero."""
        return isinstance(self.metric, RowAverage) and not self.metric.is_subset

    def answers(self, shifted: Floats) -> Ints:
        """0 and 1 (n, K) for logits with their shifts.

        >>> ManyLabels.named("f1_samples").answers(np.array([[-1.0, -2.0], [1.0, 2.0]])).tolist()
        [[1, 0], [1, 1]]
        """
        is_answered = shifted > 0.0
        if self.is_never_empty:
            is_answered |= shifted == shifted.max(1, keepdims=True)
        return is_answered.astype(np.int64)

    def _climb(self, logits: Floats, y: Ints, weight: Floats, start: Floats) -> Floats:
        """The best shift of one label after the other, until nothing gains, or for :data:`MOST_ROUNDS` rounds."""
        assert isinstance(self.metric, RowAverage)
        shifts, true, value = start.copy(), y.sum(1).astype(np.float64), -np.inf
        order = np.argsort(-logits, axis=0, kind="stable")
        answers = logits + shifts > 0.0
        hits, predicted = ((answers & (y == 1)).sum(1).astype(np.float64), answers.sum(1).astype(np.float64))
        for _ in range(MOST_ROUNDS):
            before = value
            for label in range(y.shape[1]):
                is_true, own = y[:, label] == 1, answers[:, label]
                hits, predicted = hits - (own & is_true), predicted - own  # without the label
                gain = weight * (
                    self.metric.of_rows(hits + is_true, true, predicted + 1.0) - self.metric.of_rows(hits, true, predicted)
                )
                shifts[label] = _best_shift(logits[order[:, label], label], gain[order[:, label]], shifts[label])
                own = logits[:, label] + shifts[label] > 0.0
                answers[:, label], hits, predicted = own, hits + (own & is_true), predicted + own
            value = float(weight @ self.metric.of_rows(hits, true, predicted))
            if not value > before + 1e-12 * weight.sum():
                break
        return shifts

    def value(self, answers: Ints, y: Ints, weight: Floats) -> float:
        return self._value_and_influence(answers, y, weight)[0]

    def judge(
        self, answers: Ints, plain: Ints, y: Ints, weight: Floats, groups: Ints | None, is_cross_fitted: bool
    ) -> Judgement:
        """The metric of answers and of plain ones to the same rows, with intervals by the delta method."""
        (score, own), (baseline, other) = (self._value_and_influence(one, y, weight) for one in (answers, plain))
        low, high = bounded_interval(score, _error(own, groups), (0.0, 1.0))
        gain, half = score - baseline, Z * _error(own - other, groups)
        return Judgement(score, (float(low), float(high)), baseline, (gain - half, gain + half), is_cross_fitted)

    def _value_and_influence(self, answers: Ints, y: Ints, weight: Floats) -> tuple[float, Floats]:
        if isinstance(self.metric, RowAverage):
            counts = ((answers * y).sum(1), y.sum(1), answers.sum(1))
            rows = self.metric.of_rows(*(one.astype(np.float64) for one in counts))
            value = float(weight @ rows / weight.sum())
            return value, weight * (rows - value) / weight.sum()
        n_labels = y.shape[1]
        matrices = np.stack(
            [np.bincount(2 * y[:, i] + answers[:, i], weight, 4).astype(np.float64).reshape(2, 2) for i in range(n_labels)]
        )
        values, slopes = values_and_slopes(self.metric, matrices[None])
        return float(values[0]), weight * slopes[0][np.arange(n_labels), y, answers].sum(1)

    def cross_fit(self, logits: Floats, y: Ints, weight: Floats, groups: Ints | None) -> Ints | None:
        """The answers to each part of the rows by thresholds of the others; None for few rows."""
        fold = (np.arange(len(y)) if groups is None else groups) % FOLDS
        if len(y) < LEAST_ROWS or len(np.unique(fold)) < FOLDS:
            return None
        answers = np.empty(y.shape, np.int64)
        for part in (fold == number for number in range(FOLDS)):
            answers[part] = self.answers(logits[part] + self.tune(logits[~part], y[~part], weight[~part]))
        return answers


def read_label_table(
    y: Any, shape: tuple[int, int], classes: Sequence[Any] | None, names: Sequence[Any]
) -> tuple[Ints, list[Any]]:
    """Targets (n, K) of 0 and 1, and the names of the labels; from such a table, or from lists of labels."""
    if are_lists(y):
        found = sorted({label for row in y for label in row})
        known = list(classes) if classes is not None else _named(found, names, shape[1])
        if len(known) != shape[1] or (unknown := [label for label in found if label not in known]):
            what = repr(unknown[0]) if len(known) == shape[1] else f"{len(known)} labels"
            raise ValueError(
                f"`y` should have labels of the {shape[1]} columns of scores, got {what}. Pass `classes`, their labels."
            )
        return MultiLabelBinarizer(classes=known).fit_transform(y).astype(np.int64), known
    table = y.toarray() if issparse(y) else np.asarray(y)
    if not np.isin(table, (0, 1)).all():
        raise ValueError("`y` of several labels per row should be 0 and 1, one for each score, got other values.")
    known = list(classes if classes is not None else names) or list(range(shape[1]))
    of_targets = list(map(str, column_names(y)))
    if classes is None and len(of_targets) == len(names) and (said := labels_of_names(names, of_targets)) is not None:
        known, table = said, table[:, [of_targets.index(label) for label in said]]
    if len(known) != shape[1]:
        raise ValueError(f"`classes` should name {shape[1]} labels, one per column of scores, got {len(known)}.")
    return table.astype(np.int64), known


def _named(found: list[Any], names: Sequence[Any], n_labels: int) -> list[Any]:
    """The labels of the columns, by their names if these say them."""
    if set(found) <= set(names):
        return list(names)
    said = labels_of_names(names, found) if len(names) == n_labels else None
    return found if said is None else said


def are_lists(y: Any) -> bool:
    """Whether each row of ``y`` is a list, a tuple or a set of labels, not of one 0 or 1 for each label."""
    rows = y if isinstance(y, list | tuple) else y.tolist() if str(getattr(y, "dtype", "")) == "object" else ()
    if not len(rows) or not all(isinstance(row, list | tuple | set | frozenset) for row in rows):
        return False
    as_table = len({len(row) for row in rows}) == 1 and {label for row in rows for label in row} <= {0, 1}
    return not as_table or any(isinstance(row, set | frozenset) for row in rows)


def _shifts(offsets: Floats) -> Floats:
    return offsets[:, 1] - offsets[:, 0]


def _best_shift(ranked: Floats, gain: Floats, here: float) -> float:
    """The shift that answers the best number of rows; ``here`` if that is as good."""
    total = np.append(0.0, np.cumsum(gain))
    is_end = np.append(True, np.append(ranked[1:] != ranked[:-1], True))  # rows of one score are answered alike
    best = int(np.where(is_end, total, -np.inf).argmax())
    if total[int((ranked + here > 0.0).sum())] >= total[best] - 1e-12 * np.abs(gain).sum():
        return here
    ends = np.concatenate([[ranked[0] + 2.0], ranked, [ranked[-1] - 2.0]])
    return -0.5 * float(ends[best] + ends[best + 1])


def _error(influence: Floats, groups: Ints | None) -> float:
    draws = sums_by_draw(influence, groups)
    return float(np.sqrt(draws @ draws))
