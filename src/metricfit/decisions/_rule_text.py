"""What a :class:`DecisionRule` says about itself, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metricfit.decisions import _rule_actions, _rule_labels
from metricfit.decisions._constraints import ClassConstraint, read_constraints
from metricfit.decisions._hard import largest_class
from metricfit.decisions._intervals import Interval, constraint_interval
from metricfit.decisions._promise import promise_in_words
from metricfit.decisions._solve import Rows, Solution
from metricfit.metrics import name_of

if TYPE_CHECKING:
    from metricfit.decisions._rule import DecisionRule

MOST_SHOWN = 10  # offsets in a sentence


def describe(rule: DecisionRule) -> str:
    """The rule in a sentence."""
    if rule.has_lists_ is not None:
        return _rule_labels.describe(rule)
    if _rule_actions.is_needed(rule):
        return _rule_actions.describe(rule)
    goal = f"maximise {name_of(rule.metric)}"
    if rule.subject_to is not None:
        goal += f" subject to {' and '.join(map(str, read_constraints(rule.subject_to)))}"
    if rule.confidence is not None:
        goal += f" with confidence {rule.confidence:g}"
    if not hasattr(rule, "offsets_"):
        return f"DecisionRule, not fitted: {goal}."
    if not rule._decides():
        return f"DecisionRule: {goal}; not attainable."
    labels = rule.classes_.tolist()
    if rule._positive is None and not rule.offsets_.any():
        return f"DecisionRule: {goal}; answer the largest score."
    if rule._positive is None:
        pairs = list(zip(labels, rule.offsets_, strict=True))[:MOST_SHOWN]
        shifts = ", ".join(f"{label!r} {shift:+.3g}" for label, shift in pairs) + (", ..." if len(labels) > MOST_SHOWN else "")
        return f"DecisionRule: {goal}; answer the largest score after adding {shifts}."
    what = "score" if rule.kind_ == "logit" else "probability"
    return f"DecisionRule: {goal}; answer {labels[rule._positive]!r} where its {what} is above {rule.threshold_:.4g}."


def summary(rule: DecisionRule) -> str:
    """What the rule does, how well, and what it promises: a sentence a line."""
    lines = [repr(rule)]
    if rule.has_lists_ is not None:
        lines += _rule_labels.sentences(rule)
    elif rule.actions_ is not None:
        lines += _rule_actions.sentences(rule)
    elif rule.score_ is not None and rule._decides():
        how = "on rows that did not set the offsets" if rule.is_cross_fitted_ else "on the rows that set the offsets"
        lines.append(f"{name_of(rule.metric)} is {rule.score_:.4f} ({_ends(rule.score_interval_)}) {how}.")
        if not rule._constraints:
            gain = f"{rule.gain_:+.4f} ({_ends(rule.gain_interval_)}, p = {rule.gain_p_:.2g})"
            lines.append(f"The largest score has {rule.baseline_:.4f}: the rule gains {gain}.")
    lines += [one["sentence"] for one in rule.constraints_]
    if rule.reliability_ is not None and rule.kind_ != "logit":
        what = "of the most probable class" if rule._positive is None else repr(rule.classes_.tolist()[rule._positive])
        lines.append(rule.reliability_.warning(what))
    return "\n".join(filter(None, [*lines, rule.refusal_, *rule.notes_]))


def describe_constraint(rule: DecisionRule, one: ClassConstraint, rows: Rows, solution: Solution) -> dict[str, Any]:
    """A constraint's value on the rows of the fit, its interval, and what is promised."""
    constraint, predicted = one.constraint, largest_class(rows.scores, rule.offsets_)
    value, interval = constraint_interval(one, predicted, rows.labels, rows.weight, rows.n_classes, rows.groups)
    found: dict[str, Any] = {"constraint": str(constraint), "value": value, "interval": interval}
    text = f"{constraint.name} is {value:.4f} ({_ends(interval)}) on the {len(rows):,} rows of the fit."
    promised = solution.limit if solution.refusal else constraint.limit
    if rule.confidence is not None and rule._decides() and promised is not None:
        found["promised"] = promised
        text += f" {promise_in_words(f'it is {constraint.sign} {promised:g}', rule.confidence)}"
    return {**found, "sentence": text}


def _ends(interval: Interval) -> str:
    return f"{interval[0]:.4f} … {interval[1]:.4f}"
