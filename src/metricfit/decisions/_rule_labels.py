"""A :class:`DecisionRule` for several labels per row: one threshold for each label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from metricfit._printable import listed
from metricfit._score_names import column_names, in_order_of
from metricfit._typing import Floats, Ints
from metricfit.decisions._intervals import Z, ends
from metricfit.decisions._many_labels import ManyLabels, are_lists, read_label_table
from metricfit.decisions._onnx import OnnxGraph
from metricfit.decisions._scores import LEAST_PROBABILITY, as_floats, has_label_table, read_label_logits
from metricfit.metrics import name_of

if TYPE_CHECKING:
    from metricfit.decisions._rule import DecisionRule

MOST_SHOWN = 10  # thresholds in a sentence
_OTHERS = ("subject_to", "confidence", "budget", "abstain", "abstain_cost", "fallback", "pos_label", "class_order")


def are_many(scores: Any, y: Any) -> bool:
    """Whether rows have several labels: ``y`` has the shape of the scores, or is a list of lists."""
    if are_lists(y):
        return True
    shape, expected = np.shape(y), np.shape(scores)
    if len(shape) == 2 and shape[1] > 1 and shape != expected:
        raise ValueError(f"`y` should have one label per row, or a 0 or 1 for each score, {expected}, got shape {shape}.")
    return len(shape) == 2 and has_label_table(scores, y)


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
    return read_label_logits(table, rule.kind_ if rule.kind == "auto" else rule.kind)[0] + rule.offsets_


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
    gain = f"{rule.gain_:+.4f} ({ends(rule.gain_interval_)}, p = {rule.gain_p_:.2g})"
    return [
        f"{name_of(rule.metric)} is {rule.score_:.4f} ({ends(rule.score_interval_)}) on {rows}.",
        f"Thresholds of one half give {rule.baseline_:.4f}; the rule gains {gain}.",
    ]


def to_onnx(rule: DecisionRule, dtype: str) -> Any:
    """Answers (n, K) of 0 and 1 as a graph: a label is 1 where its logit and its offset add up to more than zero.

    Of a row that needs an answer, the label with the largest sum is 1, too.
    """
    graph, n_labels, kind = OnnxGraph(dtype), len(rule.classes_), rule.kind_ if rule.kind == "auto" else rule.kind
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
