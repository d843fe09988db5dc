"""The part of a :class:`DecisionRule` for several labels per row: one threshold for each label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from metricfit._typing import Floats, Ints
from metricfit.decisions._intervals import gain_p_value
from metricfit.decisions._many_labels import ManyLabels, are_lists, read_label_table
from metricfit.decisions._scores import as_floats, read_scores
from metricfit.metrics import name_of

if TYPE_CHECKING:
    from metricfit.decisions._rule import DecisionRule

MOST_SHOWN = 10  # thresholds in a sentence
_OTHERS = ("subject_to", "confidence", "budget", "abstain", "abstain_cost", "fallback", "pos_label", "class_order")


def are_many(scores: Any, y: Any) -> bool:
    """Whether rows have several labels: ``y`` has the shape of the scores, or is a list of lists."""
    if are_lists(y):
        return True
    shape = np.shape(y)
    return len(shape) == 2 and shape[1] > 1 and shape == np.shape(scores)


def fit(rule: DecisionRule, scores: Any, y: Any, weight: Floats, groups: Ints | None) -> None:
    """Tune the thresholds, and judge them on rows that did not set them, against a probability of one half."""
    if passed := [name for name in _OTHERS if getattr(rule, name) is not None]:
        raise ValueError(f"`{passed[0]}` is for rows with one label each, and these have several. Leave it out.")
    names, table = [str(name) for name in getattr(scores, "columns", ())], as_floats(scores)
    task = ManyLabels.named(rule.metric)
    targets, labels = read_label_table(y, (table.shape[0], table.shape[1]), rule.classes, names)
    read = read_scores(table.reshape(-1, 1), rule.kind)
    logits = (read.values[:, 1] - read.values[:, 0]).reshape(table.shape)
    rule.classes_, rule.columns_, rule.kind_, rule.is_single_ = np.array(labels), tuple(names), read.kind, False
    rule.has_lists_, rule._positive = are_lists(y), None
    rule.offsets_ = task.tune(logits, targets, weight)
    rule.shares_ = weight @ targets / weight.sum()
    known, answers = (targets, weight, groups), task.cross_fit(logits, targets, weight, groups)
    rule.is_cross_fitted_ = answers is not None
    rule.predicted_ = task.answers(logits + rule.offsets_) if answers is None else answers
    rule.score_, rule.score_interval_ = task.score(rule.predicted_, *known)
    rule.gain_, rule.gain_interval_ = task.gain(rule.predicted_, (logits > 0.0).astype(np.int64), *known)
    rule.baseline_, rule.gain_p_ = rule.score_ - rule.gain_, gain_p_value(rule.gain_, rule.gain_interval_)
    rule.attainable_, rule.refusal_, rule._constraints, rule.constraints_ = True, "", (), []
    what = "probabilities" if read.kind == "probability" else "logits"
    rule.notes_ = (f"Scores: {len(table):,} rows of {len(labels)} labels, read as {what}.",)


def shifted(rule: DecisionRule, scores: Any) -> Floats:
    """The logits with their offsets, (n, K)."""
    table = as_floats(scores)
    if table.ndim != 2 or table.shape[1] != len(rule.classes_):
        raise ValueError(f"`scores` should have {len(rule.classes_)} columns, one per label, got shape {table.shape}.")
    read = read_scores(table.reshape(-1, 1), rule.kind_ if rule.kind == "auto" else rule.kind)
    return (read.values[:, 1] - read.values[:, 0]).reshape(table.shape) + rule.offsets_


def predict(rule: DecisionRule, scores: Any) -> Any:
    """0 and 1 (n, K), or lists of labels if the rule was fitted to such."""
    answers, labels = ManyLabels.named(rule.metric).answers(shifted(rule, scores)), rule.classes_.tolist()
    return [[labels[index] for index in np.flatnonzero(row)] for row in answers] if rule.has_lists_ else answers


def score(rule: DecisionRule, scores: Any, y: Any, weight: Floats) -> float:
    """The metric of the answers to these rows."""
    task = ManyLabels.named(rule.metric)
    answers = task.answers(shifted(rule, scores))
    targets, _ = read_label_table(y, (answers.shape[0], answers.shape[1]), rule.classes_.tolist(), ())
    return task.value(answers, targets, weight)


def is_never_empty(rule: DecisionRule) -> bool:
    """Whether every row gets the label that comes nearest to its threshold."""
    return ManyLabels.named(rule.metric).is_never_empty


def thresholds(rule: DecisionRule) -> Floats:
    """The probability, or the logit, above which each label is answered."""
    return -rule.offsets_ if rule.kind_ == "logit" else expit(-rule.offsets_)


def describe(rule: DecisionRule) -> str:
    pairs = list(zip(rule.classes_.tolist(), thresholds(rule), strict=True))[:MOST_SHOWN]
    shown = ", ".join(f"{label!r} {threshold:.3g}" for label, threshold in pairs)
    more = ", ..." if len(rule.classes_) > MOST_SHOWN else ""
    what = "score" if rule.kind_ == "logit" else "probability"
    least = ", and in every row the label nearest to that" if is_never_empty(rule) else ""
    return f"DecisionRule: maximise {name_of(rule.metric)}; answer a label where its {what} is above {shown}{more}{least}."


def sentences(rule: DecisionRule) -> list[str]:
    (low, high), (least, most) = rule.score_interval_, rule.gain_interval_
    how = "did not set the thresholds" if rule.is_cross_fitted_ else "set the thresholds"
    return [
        f"{name_of(rule.metric)} is {rule.score_:.4f} ({low:.4f} … {high:.4f}) on rows that {how}.",
        f"A probability of one half has {rule.baseline_:.4f}: the rule gains {rule.gain_:+.4f} ({least:.4f} … {most:.4f}, "
        f"p = {rule.gain_p_:.2g}).",
    ]
