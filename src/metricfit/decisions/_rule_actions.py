"""The part of a :class:`DecisionRule` whose answers depend on more than a score: on costs of the row, or on other rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metricfit._checks import check_number
from metricfit._typing import Floats, Ints
from metricfit.decisions._abstain import CoverageCurve, read_limit
from metricfit.decisions._actions import NO_ANSWER, Plan, take_costs
from metricfit.decisions._budget import Budget
from metricfit.decisions._curve import Reliability
from metricfit.decisions._hard import hard_confusion, metric_values
from metricfit.decisions._intervals import gain_p_value
from metricfit.decisions._promise import promise_in_words
from metricfit.decisions._row_costs import RowCosts
from metricfit.decisions._solve import Rows
from metricfit.decisions._values import ExpectedCost
from metricfit.metrics import Cost, name_of

if TYPE_CHECKING:
    from metricfit.decisions._rule import DecisionRule

MOST_SHOWN = 6  # costs in a sentence
_BY_RANK = re.compile(r"(precision|recall)@(\d+)")


def is_needed(rule: DecisionRule) -> bool:
    """Whether offsets alone do not say the answers."""
    has_actions = rule.actions_ is not None or rule.budget is not None or may_abstain(rule)
    return has_actions or has_row_costs(rule) or rank_of(rule) is not None


def may_abstain(rule: DecisionRule) -> bool:
    return rule.abstain is not None or rule.abstain_cost is not None


def has_row_costs(rule: DecisionRule) -> bool:
    return isinstance(rule.metric, Cost) and bool(rule.metric.columns)


def rank_of(rule: DecisionRule) -> int | None:
    """The number of rows in a metric such as ``recall@200``."""
    found = _BY_RANK.fullmatch(rule.metric) if isinstance(rule.metric, str) else None
    return None if found is None else int(found[2])


def plain_metric(rule: DecisionRule) -> Any:
    """The metric without a rank."""
    return rule.metric if rank_of(rule) is None else str(rule.metric).split("@")[0]


def check(rule: DecisionRule) -> None:
    """Raise a ValueError for options that exclude each other."""
    what = "costs per row" if has_row_costs(rule) else "abstention" if may_abstain(rule) else "a budget"
    if is_needed(rule) and rule.subject_to is not None:
        raise ValueError(f"`subject_to` cannot be kept together with {what}. Leave one of them out.")
    if rank_of(rule) is not None and rule.budget is not None:
        raise ValueError(f"`budget` is part of the metric {rule.metric!r} already. Leave it out.")
    if may_abstain(rule) and (rule.budget is not None or rank_of(rule) is not None):
        raise ValueError("`budget` and abstention exclude each other: the budget says already how many rows get an answer.")
    if rule.abstain is not None:
        read_limit(rule.abstain)
        if rule.abstain_cost is not None:
            raise ValueError("`abstain` and `abstain_cost` exclude each other: pass the limit of the error, or the cost.")
    if rule.abstain_cost is not None:
        check_number(rule.abstain_cost, "abstain_cost", 0.0)


def fit(rule: DecisionRule, rows: Rows, costs: Any) -> None:
    """Fit the answers, and judge them on rows that did not set them."""
    if rule.confidence is not None and not rows.are_independent:
        raise ValueError("`confidence` needs independent rows that count alike: leave out `sample_weight` and `groups`.")
    plan, found = _plan(rule), _read_costs(rule, costs, len(rows))
    rule.actions_ = plan.fit(rows, found)
    judgement = plan.judge(rule.actions_, rows, found)
    rule.money_, rule.is_cross_fitted_ = judgement.money, judgement.is_cross_fitted
    rule.score_, rule.score_interval_ = judgement.score, judgement.score_interval
    rule.gain_, rule.gain_interval_ = judgement.gain, judgement.gain_interval
    rule.baseline_, rule.gain_p_ = rule.score_ - rule.gain_, gain_p_value(rule.gain_, rule.gain_interval_)
    rule.predicted_, rule.coverage_ = _labels(rule, judgement.answers), judgement.shares
    rule.baseline_predicted_ = rule.classes_[judgement.by_largest]
    if rule.actions_.abstention is not None:
        answers = rule.actions_.best(rule.actions_.values(rows.scores, found))
        risk = rule.actions_.risk(rows.scores, found, answers, rule.actions_.abstention.is_money)
        rule.coverage_curve_ = CoverageCurve.of(risk, answers != rows.labels)
    rule.offsets_, rule._constraints, rule.constraints_ = np.zeros(rows.n_classes), (), []
    rule.refusal_, rule.attainable_, rule.curve_ = rule.actions_.refusal, not rule.actions_.refusal, None
    rule.reliability_ = Reliability.of(rows, rule._positive)
    rule.notes_ += _budget_notes(rule, judgement.answers)


def _budget_notes(rule: DecisionRule, answers: Ints) -> tuple[str, ...]:
    """For each class with a budget, the answers that it allows to these rows, and those that were given."""
    assert rule.actions_ is not None
    if rule.actions_.budget is None:
        return ()
    caps, given = (
        rule.actions_.budget.caps(len(answers), len(rule.classes_)),
        np.bincount(answers, minlength=len(rule.classes_)),
    )
    return tuple(
        f"The budget allows {caps[index]:,.0f} answers {label!r} to these {len(answers):,} rows; {given[index]:,} are given."
        for index, label in enumerate(rule.classes_.tolist())
        if np.isfinite(caps[index])
    )


def no_answer(rule: DecisionRule) -> Any:
    """What stands where there is no answer: ``abstain_label``, or -1 among numbers and "abstain" among names."""
    if rule.abstain_label is not None:
        if rule.abstain_label in rule.classes_.tolist():
            raise ValueError(f"`abstain_label` should not be a class of the rule, {rule.classes_.tolist()}.")
        return rule.abstain_label
    label = -1 if rule.classes_.dtype.kind in "iuf" else "abstain"
    if label in rule.classes_.tolist():
        raise ValueError(f"`abstain_label` should be passed, because {label!r} is a class.")
    return label


def answered(rule: DecisionRule, *columns: Any) -> tuple[NDArray[Any], ...]:
    """The rows of these columns where the last one, the predicted labels, has an answer."""
    arrays = [np.asarray(column) for column in columns]
    kept = arrays[-1] != no_answer(rule) if may_abstain(rule) else np.ones(len(arrays[-1]), bool)
    return tuple(array[kept] for array in arrays)


def _labels(rule: DecisionRule, answers: Ints) -> NDArray[Any]:
    if not may_abstain(rule):
        return rule.classes_[answers]
    label = no_answer(rule)
    kinds = {isinstance(one, str) for one in (*rule.classes_.tolist(), label)}
    labels = np.array([*rule.classes_.tolist(), label], None if len(kinds) == 1 else object)
    return labels[answers]  # no answer is -1, the last


def _plan(rule: DecisionRule) -> Plan:
    labels, rank = rule.classes_.tolist(), rank_of(rule)
    if rank is None:
        budget = None if rule.budget is None else Budget.read(rule.budget, labels)
        limit = None if rule.abstain is None else read_limit(rule.abstain)
        return Plan(rule.metric_, labels, budget, None, rule.abstain_cost, limit, rule.confidence)
    assert rule._positive is not None  # such a metric is for two classes
    return Plan(rule.metric_, labels, Budget({rule._positive: rank}, {}), rule._positive)


def predict(rule: DecisionRule, scores: Floats, costs: Any) -> NDArray[Any]:
    assert rule.actions_ is not None
    return _labels(rule, rule.actions_.answers(scores, _read_costs(rule, costs, len(scores))))


def score(rule: DecisionRule, scores: Floats, labels: Ints, weight: Floats, costs: Any) -> float:
    """The metric of the answers to these rows, as one batch."""
    assert rule.actions_ is not None
    found = _read_costs(rule, costs, len(scores))
    answers = rule.actions_.answers(scores, found)
    if rule.abstain_cost is None or found is None:  # of answered rows
        kept = answers != NO_ANSWER
        answers, labels, weight, found = answers[kept], labels[kept], weight[kept], take_costs(found, kept)
    if not len(answers):
        raise ValueError("`scores` are so unsure that no row is answered, so there is nothing to score.")
    if found is None:
        return float(metric_values(rule.metric_, hard_confusion(answers, labels, weight, len(rule.classes_))))
    return -float(weight @ found.paid(labels, answers, rule.abstain_cost) / weight.sum())


def values(rule: DecisionRule, scores: Floats, costs: Any) -> Floats:
    assert rule.actions_ is not None
    return rule.actions_.values(scores, _read_costs(rule, costs, len(scores)))


def describe(rule: DecisionRule) -> str:
    """The rule in a sentence."""
    state = "DecisionRule" if hasattr(rule, "offsets_") else "DecisionRule, not fitted"
    within = ""
    if rule.actions_ is not None and rule.actions_.budget is not None:
        within = f", {rule.actions_.budget.describe(rule.classes_.tolist())} in each batch"
    elif rule.budget is not None:
        within = f", within the budget {rule.budget}"
    if rule.abstain is not None:
        promise = "" if rule.confidence is None else f" with confidence {rule.confidence:g}"
        within = f", and answer as many rows as {rule.abstain.strip()} allows{promise}"
    elif rule.abstain_cost is not None:
        within = f", where no answer costs {rule.abstain_cost:g}"
    if hasattr(rule, "offsets_") and not rule._decides():
        return f"{state}: not attainable{within}."
    if not isinstance(rule.metric, Cost):
        return f"{state}: maximise {name_of(rule.metric)}{within}."
    return f"{state}: give each row the answer of least expected cost{within}{_listed(rule.metric)}."


def _listed(cost: Cost) -> str:
    if not cost.by_names:
        return ""
    pairs = [f"{answer!r} for {true!r} costs {one}" for (true, answer), one in dict(cost.matrix).items()]  # type: ignore[arg-type]
    return "; " + ", ".join(pairs[:MOST_SHOWN]) + (", ..." if len(pairs) > MOST_SHOWN else "")


def sentences(rule: DecisionRule) -> list[str]:
    """How good the answers are, for :meth:`DecisionRule.summary`."""
    assert rule.actions_ is not None
    how = "did not set the rule" if rule.is_cross_fitted_ else "set the rule"
    lines = [] if rule.coverage_ is None else [_coverage_sentence(rule)]
    if not rule._decides():
        return lines[:0]
    if rule.money_ is None and rule.coverage_ is not None:
        return lines
    if rule.money_ is None:
        ends, gains = (f"({low:.4f} … {high:.4f}" for low, high in (rule.score_interval_, rule.gain_interval_))
        return [
            f"{name_of(rule.metric)} is {rule.score_:.4f} {ends}) on rows that {how}, as one batch.",
            f"The largest probability within the budget has {rule.baseline_:.4f}: the rule gains {rule.gain_:+.4f} {gains}, "
            f"p = {rule.gain_p_:.2g}).",
        ]
    found, worth = rule.money_.sentences(f"on {rule.money_.n_rows:,.0f} rows that {how}"), rule.actions_.worth
    if isinstance(worth, ExpectedCost) and worth.factor != 1.0:
        default = rule.classes_.tolist()[worth.default]
        found.append(
            f"What another answer than {default!r} saves counts {worth.factor:.2f} times: calibration leaves that much."
        )
    return [*lines, *found]


def _coverage_sentence(rule: DecisionRule) -> str:
    """How many rows are answered, how many of them wrongly, and what is promised."""
    assert rule.coverage_ is not None
    how = "did not set the rule" if rule.is_cross_fitted_ else "set the rule"
    (low, high), (least, most) = rule.coverage_["interval"], rule.coverage_["error_interval"]
    text = (
        f"{rule.coverage_['coverage']:.1%} ({low:.1%} … {high:.1%}) of the rows that {how} are answered, and "
        f"{rule.coverage_['error']:.2%} ({least:.2%} … {most:.2%}) of these wrongly."
    )
    if rule.confidence is None or rule.abstain is None or rule.refusal_:
        return text
    what = f"the error of answered rows is at most {read_limit(rule.abstain):g}"
    return f"{text} {promise_in_words(what, rule.confidence)}"


def check_graph(rule: DecisionRule) -> None:
    """Refuse to write answers as a graph that depend on more than the scores of a row."""
    if rule.actions_ is not None:
        why = "costs of the row" if has_row_costs(rule) else "abstention" if may_abstain(rule) else "the other rows"
        raise ValueError(
            f"to_onnx writes offsets and thresholds, and the answers of this rule depend on {why}. Call `save`, and "
            "`DecisionRule.load` where it decides."
        )


def check_offsets(rule: DecisionRule, name: str) -> None:
    """Refuse a method that solves offsets again."""
    if rule.has_lists_ is not None:
        raise ValueError(f"`{name}` is for rows with one label each. Fit this rule again, to rows like the new ones.")
    if rule.actions_ is not None:
        raise ValueError(
            f"`{name}` is for rules of offsets. Fit this rule again with `sample_weight`: for each row the new share of its "
            "class over the old one."
        )


def _read_costs(rule: DecisionRule, costs: Any, n_rows: int) -> RowCosts | None:
    cost = rule.metric_
    if not isinstance(cost, Cost):
        if costs is not None:
            raise ValueError("`costs` is for the columns that a metric `Cost` names, and this rule has another metric.")
        return None
    return RowCosts.read(cost, rule.classes_.tolist(), costs, n_rows)
