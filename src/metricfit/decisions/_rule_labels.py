r"""A :class:`DecisionRule` for several labels per row: one threshold for each label.

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
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.preprocessing import MultiLabelBinarizer

from metricfit import metrics
from metricfit._printable import listed
from metricfit._score_names import column_names, in_order_of, labels_of_names
from metricfit._typing import Floats, Ints
from metricfit.decisions._hard import hard_confusion, values_and_slopes
from metricfit.decisions._intervals import Judgement, Z, bounded_interval
from metricfit.decisions._onnx import OnnxGraph
from metricfit.decisions._rows import sums_by_draw
from metricfit.decisions._scores import LEAST_PROBABILITY, as_floats, read_label_logits
from metricfit.decisions._tuning import tune_offsets
from metricfit.metrics import Averaged, Multilabel, name_of

if TYPE_CHECKING:
    from metricfit.decisions._rule import DecisionRule

MOST_SHOWN = 10  # thresholds in a sentence
_OTHERS = ("subject_to", "confidence", "budget", "abstain", "abstain_cost", "fallback", "pos_label", "class_order")
MOST_ROUNDS, FOLDS, LEAST_ROWS = 10, 5, 50
MOVES = np.linspace(-1.5, 1.5, 61)  # of all thresholds together
_BY_ROW = re.compile(r"(?:f(?P<beta>\d+(?:\.\d+)?)|(?P<jaccard>jaccard|iou))_samples|(?P<subset>subset_accuracy)")


def are_many(scores: Any, y: Any) -> bool:
    """Whether rows have several labels: ``y`` has the shape of the scores, or is a list of lists."""
    if are_lists(y):
        return True
    shape, expected = np.shape(y), np.shape(scores)
    is_table = len(shape) == 2 and shape[1] > 1
    if is_table and shape != expected:
        raise ValueError(f"`y` should have one label per row, or a 0 or 1 for each score, {expected}, got shape {shape}.")
    return is_table


def fit(rule: DecisionRule, scores: Any, y: Any, weight: Floats, groups: Ints | None) -> None:
    """Tune the thresholds, and judge them on held-out rows, against a probability of one half."""
    if passed := [name for name in _OTHERS if getattr(rule, name) is not None]:
        raise ValueError(f"`{passed[0]}` is for rows with one label each, but these have several. Leave it out.")
    names, table = [str(name) for name in column_names(scores)], as_floats(scores)
    task = ManyLabels.named(rule.metric)
    targets, labels = read_label_table(y, (table.shape[0], table.shape[1]), rule.classes, names)
    logits, read = read_label_logits(table, rule.kind)
    rule.classes_, rule.columns_, rule.kind_, rule.is_single_ = np.array(labels), tuple(names), read.kind, False
    rule.has_lists_, rule._positive = are_lists(y), None
    rule.offsets_ = task.tune(logits, targets, weight)
    rule.shares_ = weight @ targets / weight.sum()
    answers = task.cross_fit(logits, targets, weight, groups)
    what = "probabilities" if rule.kind_ == "probability" else "logits"
    rule.notes_ = (f"Scores: {len(table):,} rows of {len(labels)} labels, read as {what}.", *read.hints())
    rule.predicted_ = task.answers(logits + rule.offsets_) if answers is None else answers
    known = (logits > 0.0).astype(np.int64), targets, weight, groups, answers is not None
    found = task.judge(rule.predicted_, *known)
    if answers is not None and Z * found.gain < found.gain - found.gain_interval[1]:  # by more than a standard error
        rule.notes_ += (f"No thresholds: they lost {-found.gain:.4f} against a probability of one half on held-out rows.",)
        rule.offsets_, rule.predicted_ = np.zeros(len(labels)), task.answers(logits)
        found = task.judge(rule.predicted_, *known)
    rule._keep(found)


def values(rule: DecisionRule, scores: Any, costs: Any) -> Floats:
    """The logits with their offsets, (n, K)."""
    table = as_floats(in_order_of(scores, rule.columns_, rule.classes_.tolist()))
    if table.ndim != 2 or table.shape[1] != len(rule.classes_):
        raise ValueError(f"`scores` should have {len(rule.classes_)} columns, one per label, got shape {table.shape}.")
    return read_label_logits(table, rule._known_kind)[0] + rule.offsets_


def predict(rule: DecisionRule, scores: Any, costs: Any) -> Any:
    """0 and 1 (n, K), or lists of labels if the rule was fitted to such."""
    answers, labels = ManyLabels.named(rule.metric).answers(values(rule, scores, costs)), rule.classes_.tolist()
    return [[labels[index] for index in np.flatnonzero(row)] for row in answers] if rule.has_lists_ else answers


def score(rule: DecisionRule, scores: Any, y: Any, weight: Floats, costs: Any) -> float:
    task = ManyLabels.named(rule.metric)
    answers = task.answers(values(rule, scores, costs))
    targets, _ = read_label_table(y, (answers.shape[0], answers.shape[1]), rule.classes_.tolist(), ())
    return task.value(answers, targets, weight)


def thresholds(rule: DecisionRule) -> Floats:
    """The probability, or the logit, above which each label is answered."""
    return -rule.offsets_ if rule.kind_ == "logit" else expit(-rule.offsets_)


def describe(rule: DecisionRule) -> str:
    pairs = zip(rule.classes_.tolist(), thresholds(rule), strict=True)
    shown = listed([f"{label!r} {threshold:.3g}" for label, threshold in pairs], MOST_SHOWN)
    what = "score" if rule.kind_ == "logit" else "probability"
    least = (
        ". Every row gets at least the label closest to its threshold" if ManyLabels.named(rule.metric).is_never_empty else ""
    )
    return f"DecisionRule: maximise {name_of(rule.metric)}; predict a label where its {what} is above {shown}{least}."


def sentences(rule: DecisionRule) -> list[str]:
    rows = "held-out rows" if rule.is_cross_fitted_ else "the rows of the fit"
    return [rule._score_in_words(f"on {rows}"), f"Thresholds of one half give {rule._baseline_in_words()}."]


def to_onnx(rule: DecisionRule, dtype: str) -> Any:
    """Answers (n, K) of 0 and 1 as a graph: a label is 1 where its logit and its offset add up to more than zero.

    Of a row that needs an answer, the label with the largest sum is 1, too.
    """
    graph, n_labels, kind = OnnxGraph(dtype), len(rule.classes_), rule._known_kind
    logits = graph.numbers("scores", n_labels)
    if kind == "log_probability":
        logits = graph.add("Exp", logits)
    if kind != "logit":
        both = logits, graph.add("Sub", np.array(1.0), logits)
        logits = graph.add("Sub", *(graph.add("Log", graph.add("Max", one, np.array(LEAST_PROBABILITY))) for one in both))
    sums = graph.add("Add", logits, rule.offsets_)
    is_answered = graph.add("Greater", sums, np.array(0.0))
    if ManyLabels.named(rule.metric).is_never_empty:
        largest = graph.add("ReduceMax", sums, np.array([1], np.int64), keepdims=1)
        is_answered = graph.add("Or", is_answered, graph.add("Equal", sums, largest))
    return graph.build({"label": (graph.cast(is_answered, np.int64), np.int64, (None, n_labels))})


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
        metric = self.metric.metric if isinstance(self.metric, Multilabel) else "f1_micro"
        pairs = tune_offsets(logits, y, metric, sample_weight=weight, kind="logit")
        by_label = pairs[:, 1] - pairs[:, 0]
        if isinstance(self.metric, Multilabel):
            return by_label
        none = -logits.max(0) - 1.0  # answers no label
        found = [self._climb(logits, y, weight, start) for start in (by_label, np.zeros(len(by_label)), none)]
        if self.is_never_empty:
            found = [one + move for one in found for move in sorted(MOVES, key=abs)]  # of equal ones the first
        return max(found, key=lambda one: self.value(self.answers(logits + one), y, weight))

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
        matrices = np.stack([hard_confusion(answers[:, i], y[:, i], weight, 2) for i in range(n_labels)])
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
