"""A :class:`DecisionRule` of offsets: an offset for each class, and the largest sum decides."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from metricfit._printable import listed
from metricfit._typing import Floats, Ints
from metricfit.decisions._calibration import MOST_SEARCHED
from metricfit.decisions._constraints import ClassConstraint, read_constraints, resolve_constraints
from metricfit.decisions._curve import Curve
from metricfit.decisions._guard import Guard
from metricfit.decisions._hard import hard_confusion, largest_class, metric_values
from metricfit.decisions._intervals import Judgement, constraint_interval, ends, metric_interval
from metricfit.decisions._onnx import OnnxGraph
from metricfit.decisions._promise import promise_in_words
from metricfit.decisions._rows import FOLDS, Rows
from metricfit.decisions._scores import LEAST_PROBABILITY
from metricfit.decisions._solve import Solution, check_promise, solve
from metricfit.metrics import BalancedAccuracy, Cost, GMean, Recall, name_of

if TYPE_CHECKING:
    from metricfit.decisions._rule import DecisionRule

FEW_FOLDS = 2  # of very many rows
CLEARLY = 1.0  # standard error by which offsets of several classes have to lose to be dropped
MOST_KEPT = 20_000  # rows that a rule keeps for another prevalence
MOST_SHOWN = 10  # offsets in a sentence
LOST = "The promise was made for the class shares of the fit and does not carry over to others."


def fit(rule: DecisionRule, rows: Rows, costs: Any) -> None:
    """Find the offsets, and judge them on held-out rows."""
    positive, constraints = rule._positive, read_constraints(rule.subject_to)
    rule._constraints = resolve_constraints(constraints, rule.classes_.tolist(), positive, rule.metric_)
    if rule.confidence is not None:
        check_promise(rows, rule._constraints)
    solution = _solve(rule, rows)
    _judge(rule, rows)
    if len(rows) > MOST_SEARCHED and (rows.n_classes > 2 or not constraints):
        rule.notes_ += (
            f"The search for the offsets used about {MOST_SEARCHED:,} of the {len(rows):,} rows, as many of each class as "
            "possible. The scores above are for all rows.",
        )
    where = f"on the {len(rows):,} rows of the fit"
    rule.constraints_ = [_describe_constraint(rule, one, rows, where, solution) for one in rule._constraints]
    if rows.n_classes == 2 and not rule._constraints:
        rule.notes_ += _constant_notes(rule, rows)
    if positive is not None:
        rule.curve_ = Curve.of(rows, rule.metric_, positive, lambda difference: to_threshold(rule, difference))
        rule.threshold_range_ = rule.curve_.best
    kept = rows.thinned(MOST_KEPT)
    rule._rows = replace(kept, scores=kept.scores.astype(np.float32).astype(np.float64))


def _solve(rule: DecisionRule, rows: Rows) -> Solution:
    solution = solve(rows, rule.metric_, rule._constraints, rule.confidence)
    rule.offsets_, rule.refusal_, rule.attainable_ = solution.offsets, solution.refusal, not solution.refusal
    return solution


def _judge(rule: DecisionRule, rows: Rows) -> None:
    """The metric on held-out rows, and its difference from that of the largest score."""
    plain, predicted = rows.scores.argmax(1), _cross_fit(rule, rows, FOLDS if len(rows) <= MOST_SEARCHED else FEW_FOLDS)
    if rows.n_classes > 2 and not rule._constraints and _offsets_lose(rule, rows, plain, predicted):
        rule.offsets_, predicted = np.zeros(rows.n_classes), plain
    is_cross_fitted = predicted is not None
    if predicted is None:
        predicted = largest_class(rows.scores, rule.offsets_)
    rule._keep(Judgement.of(rule.metric_, predicted, plain, rows, is_cross_fitted))
    rule.predicted_, rule.baseline_predicted_ = rule.classes_[predicted], rule.classes_[plain]


def _cross_fit(rule: DecisionRule, rows: Rows, n_folds: int, least: int = 2 * FOLDS) -> Ints | None:
    """What rules of the other rows decide for each part of the rows; None for few rows, or if such a rule refuses."""
    predicted, parts = np.empty(len(rows), np.int64), rows.folds(n_folds, least)
    for part in parts:
        is_thinned = len(rows) - part.sum() > MOST_SEARCHED and not rule._constraints  # as the search does: to copy fewer rows
        others = rows.thinned(MOST_SEARCHED, np.flatnonzero(~part)) if is_thinned else rows.take(~part)
        solution = solve(others, rule.metric_, rule._constraints, rule.confidence)
        if solution.refusal:
            return None
        predicted[part] = largest_class(rows.scores[part], solution.offsets)
    return predicted if parts else None


def _offsets_lose(rule: DecisionRule, rows: Rows, plain: Ints, predicted: Ints | None) -> bool:
    """Whether the largest score decides held-out rows better; a note says so.

    A few rows for each of many classes are enough for this comparison, though not for a score.
    """
    if predicted is None:
        predicted = _cross_fit(rule, rows, FEW_FOLDS, least=1)
    if predicted is None or not np.any(predicted != plain):
        return False
    guard = Guard(rows.labels, rows.weight, rows.n_classes, rule.metric_)
    loss = guard.value(plain) - guard.value(predicted)
    if loss <= CLEARLY * guard.difference_error(predicted, plain):
        return False
    rule.notes_ += (f"The rule has no offsets, because they lost {loss:.4f} on held-out rows.",)
    return True


def _constant_notes(rule: DecisionRule, rows: Rows) -> tuple[str, ...]:
    """A sentence if the same answer to every row is as good as the rule, for two classes."""
    support = np.bincount(rows.labels, rows.weight, 2)
    found = np.nan_to_num([metric_values(rule.metric_, np.outer(support, one)) for one in np.eye(2)], nan=-np.inf)
    best = int(found.argmax())
    label, value = rule.classes_.tolist()[best], float(found[best])
    if rule.score_ is None or value < rule.score_:
        return ()
    if isinstance(rule.metric_, Recall):
        return (
            f"recall alone is best if every row is predicted as {label!r}. Add a limit, such as "
            "subject_to='precision >= 0.8'.",
        )
    return (f"Predicting {label!r} for every row gives {value:.4f}, which is no worse than the rule.",)


def _describe_constraint(
    rule: DecisionRule, one: ClassConstraint, rows: Rows, where: str, solution: Solution
) -> dict[str, Any]:
    """A constraint's value on the rows of the fit, its interval, and what is promised."""
    constraint = one.constraint
    value, interval = constraint_interval(one, largest_class(rows.scores, rule.offsets_), rows)
    found: dict[str, Any] = {"constraint": str(constraint), "value": value, "interval": interval}
    text = f"{constraint.name} is {value:.4f} ({ends(interval)}) {where}."
    promised = solution.limit if solution.refusal else constraint.limit
    if rule.confidence is not None and rule._decides() and promised is not None:
        found["promised"] = promised
        text += f" {promise_in_words(f'it is {constraint.sign} {promised:g}', rule.confidence)}"
    return {**found, "sentence": text}


def to_threshold(rule: DecisionRule, difference: Any) -> Any:
    """A difference of scores, the positive class's less the other's, in the units that the scores came in."""
    return difference if rule.kind_ == "logit" else expit(difference)


def values(rule: DecisionRule, scores: Any, costs: Any) -> Floats:
    return rule._read_new(scores) + rule.offsets_


def predict(rule: DecisionRule, scores: Any, costs: Any) -> NDArray[Any]:
    return rule.classes_[_largest(rule, scores)]


def _largest(rule: DecisionRule, scores: Any) -> Ints:
    return largest_class(rule._read_new(scores), rule.offsets_)


def score(rule: DecisionRule, scores: Any, y: ArrayLike, weight: Floats, costs: Any) -> float:
    labels = rule._index_of(y)
    rule.check_attainable()
    matrix = hard_confusion(_largest(rule, scores), labels, weight, len(rule.classes_))
    return float(metric_values(rule.metric_, matrix))


def describe(rule: DecisionRule) -> str:
    goal = "minimise the cost" if isinstance(rule.metric, Cost) else f"maximise {name_of(rule.metric)}"
    if rule.subject_to is not None:
        goal += f" subject to {' and '.join(map(str, read_constraints(rule.subject_to)))}"
    if rule.confidence is not None:
        goal += f" with confidence {rule.confidence:g}"
    if not hasattr(rule, "offsets_"):
        return f"DecisionRule, not fitted: {goal}."
    if not rule._decides():
        return f"DecisionRule: {goal}; not attainable."
    labels = rule.classes_.tolist()
    if rule._positive is not None:
        what = "score" if rule.kind_ == "logit" else "probability"
        return f"DecisionRule: {goal}; predict {labels[rule._positive]!r} where its {what} is above {rule.threshold_:.4g}."
    if not rule.offsets_.any():
        return f"DecisionRule: {goal}; predict the class with the largest score."
    shifts = listed([f"{label!r} {shift:+.3g}" for label, shift in zip(labels, rule.offsets_, strict=True)], MOST_SHOWN)
    return f"DecisionRule: {goal}; predict the class with the largest score after adding {shifts}."


def sentences(rule: DecisionRule) -> list[str]:
    if rule.score_ is None or not rule._decides():
        return [note for note in rule.notes_ if note == LOST]
    how = "on held-out rows" if rule.is_cross_fitted_ else "on the rows of the fit"
    lines = [rule._score_in_words(how)]
    if not rule._constraints:
        lines.append(f"Predicting the class with the largest score gives {rule._baseline_in_words()}.")
        if rule.threshold_range_ is not None:
            lines.append("Thresholds from {:.4g} to {:.4g} are about as good.".format(*rule.threshold_range_))
    return lines


def with_shares(rule: DecisionRule, rows: Rows, shares: Floats, origin: str, intervals: Floats | None = None) -> DecisionRule:
    """A rule whose offsets are solved again for these shares; the same offsets if they do not depend on them."""
    new = copy.copy(rule)
    new.share_intervals_ = intervals
    parts = [f"{label!r} {share:.3g}" for label, share in zip(rule.classes_.tolist(), shares, strict=True)]
    if intervals is not None:
        parts = [f"{part} ({low:.3g} … {high:.3g})" for part, (low, high) in zip(parts, intervals, strict=True)]
    note = f"Class shares, {origin}: {', '.join(parts)}."
    if _ignores_shares(rule):
        kept = f"{note} {name_of(rule.metric)} does not depend on them, so the rule is unchanged."
        new.notes_ = (*rule.notes_, kept)
        return new
    weight = rows.weight * shares[rows.labels] / rule.shares_[rows.labels]
    new._rows, new.shares_ = replace(rows, weight=weight / weight.mean()), shares
    new.confidence = new.score_ = new.curve_ = new.threshold_range_ = None
    solution = _solve(new, new._rows)
    note += " The offsets were computed again."
    new.constraints_ = []
    if intervals is None and new._decides():  # the intervals below take the shares as known
        where = f"at these shares, on {len(rows):,} rows of the fit with weights"
        note += f" {_score_in_words(new, new._rows)}"
        new.constraints_ = [_describe_constraint(new, one, new._rows, where, solution) for one in new._constraints]
    new.notes_ = (*((LOST,) if rule.confidence is not None else ()), *rule.notes_, note)
    return new


def _score_in_words(rule: DecisionRule, rows: Rows) -> str:
    """The metric at other shares, by rows with weights."""
    predicted, how = _cross_fit(rule, rows, FOLDS), "held-out rows"
    if predicted is None:
        predicted, how = largest_class(rows.scores, rule.offsets_), "the rows of the fit"
    value = float(metric_values(rule.metric_, rows.confusion(predicted)))
    interval = ends(metric_interval(rule.metric_, predicted, rows))
    return f"{name_of(rule.metric)} is {value:.4f} ({interval}) at these shares, on {how} with weights."


def _ignores_shares(rule: DecisionRule) -> bool:
    """Whether metric and constraints are about the rows within each class only."""
    within = ("recall", "fpr", "specificity")
    is_metric = isinstance(rule.metric_, BalancedAccuracy | GMean)
    return is_metric and all(one.constraint.quantity in within for one in rule._constraints)


def to_onnx(rule: DecisionRule, dtype: str) -> Any:
    graph, kind = OnnxGraph(dtype), rule._known_kind
    scores = graph.numbers("scores", 1 if rule.is_single_ else len(rule.classes_))
    if rule.is_single_:  # one column, about the positive class, as two
        if kind == "log_probability":
            scores = graph.add("Exp", scores)
        zero, one = np.array(0.0), np.array(1.0)
        other = graph.add("Mul", scores, zero) if kind == "logit" else graph.add("Sub", one, scores)
        scores = graph.add("Concat", *((other, scores) if rule._positive else (scores, other)), axis=1)
    if kind == "probability" or (rule.is_single_ and kind == "log_probability"):
        scores = graph.add("Log", graph.add("Max", scores, np.array(LEAST_PROBABILITY)))
    elif kind == "log_probability":
        scores = graph.add("Where", graph.add("IsInf", scores), np.log(np.array(LEAST_PROBABILITY)), scores)
    label = graph.label(scores, rule.offsets_, rule.classes_)
    return graph.build({"label": (label, rule.classes_.dtype, (None,))})
