"""A :class:`DecisionRule` whose answers depend on more than a score: on costs of the row, or on other rows."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricfit._checks import check_number
from metricfit._printable import listed
from metricfit._typing import Floats, Ints
from metricfit.decisions._abstain import CoverageCurve, read_limit, shares_of
from metricfit.decisions._actions import NO_ANSWER, ExpectedCost, Plan
from metricfit.decisions._budget import Budget
from metricfit.decisions._hard import hard_confusion, metric_values
from metricfit.decisions._promise import promise_in_words
from metricfit.decisions._row_costs import RowCosts, has_row_costs
from metricfit.decisions._rows import Rows
from metricfit.decisions._smoothed import softmax_and_normalizer
from metricfit.metrics import Cost, name_of

if TYPE_CHECKING:
    from metricfit.decisions._rule import DecisionRule

MOST_SHOWN = 6  # costs in a sentence
_BY_RANK = re.compile(r"(precision|recall)@(\d+)")


def is_needed(rule: DecisionRule) -> bool:
    """Whether offsets alone cannot say the answers that the options ask for."""
    return rule.budget is not None or may_abstain(rule) or has_row_costs(rule.metric) or rank_of(rule) is not None


def may_abstain(rule: DecisionRule) -> bool:
    return rule.abstain is not None or rule.abstain_cost is not None


def rank_of(rule: DecisionRule) -> int | None:
    """The number of rows in a metric such as ``recall@200``."""
    found = _BY_RANK.fullmatch(rule.metric) if isinstance(rule.metric, str) else None
    return None if found is None else int(found[2])


def check(rule: DecisionRule) -> None:
    """Raise a ValueError for options that cannot be combined."""
    what = "costs per row" if has_row_costs(rule.metric) else "abstention" if may_abstain(rule) else "a budget"
    if is_needed(rule) and rule.subject_to is not None:
        raise ValueError(f"`subject_to` cannot be combined with {what}. Leave one of them out.")
    if rank_of(rule) is not None and rule.budget is not None:
        raise ValueError(f"The metric {rule.metric!r} already sets a budget. Leave out `budget`.")
    if may_abstain(rule) and (rule.budget is not None or rank_of(rule) is not None):
        raise ValueError("`budget` cannot be combined with abstention: it already limits how many rows get an answer.")
    if rule.abstain is not None:
        read_limit(rule.abstain)
        if rule.abstain_cost is not None:
            raise ValueError("`abstain` cannot be combined with `abstain_cost`: pass a limit on the error or a cost.")
    if rule.abstain_cost is not None:
        check_number(rule.abstain_cost, "abstain_cost", 0.0)


def fit(rule: DecisionRule, rows: Rows, costs: Any) -> None:
    """Fit the answers, and judge them on held-out rows."""
    if rule.confidence is not None and not rows.are_independent:
        raise ValueError("`confidence` needs independent rows of equal weight: leave out `sample_weight` and `groups`.")
    plan, rows = _plan(rule), replace(rows, costs=_read_costs(rule, costs, len(rows)))
    rule.actions_ = actions = plan.fit(rows)
    rule.offsets_, rule.refusal_, rule.attainable_ = np.zeros(rows.n_classes), actions.refusal, not actions.refusal
    answers, is_cross_fitted = plan.cross_fit(actions, rows)
    plain = actions.best(softmax_and_normalizer(rows.scores)[0])
    if not (answers != NO_ANSWER).any():
        raise ValueError("`abstain_cost` is so low that no row is answered. Pass a larger one.")
    rule.money_ = None if rows.costs is None else plan.count_money(answers, plain, rows)
    money = rule.money_
    rule._keep(plan.judge(answers, plain, rows, is_cross_fitted) if money is None else money.judgement(is_cross_fitted))
    rule.predicted_, rule.baseline_predicted_ = _labels(rule, answers), rule.classes_[plain]
    if actions.abstention is not None:
        rule.coverage_ = shares_of(answers != NO_ANSWER, answers != rows.labels, rows.weight)
        by_all = actions.best(actions.values(rows.scores, rows.costs))
        risk = actions.risk(rows.scores, rows.costs, by_all, actions.abstention.is_money)
        rule.coverage_curve_ = CoverageCurve.of(risk, by_all != rows.labels)
    if actions.budget is not None:
        caps, given = actions.budget.caps(len(rows), rows.n_classes), np.bincount(answers, minlength=rows.n_classes)
        rule.notes_ += tuple(
            f"The budget allows {caps[index]:,.0f} predictions of {label!r} for these {len(rows):,} rows; the rule makes "
            f"{given[index]:,}."
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
    return Plan(rule.metric_, labels, Budget({rule._positive: rank}), rule._positive)


def predict(rule: DecisionRule, scores: Any, costs: Any) -> NDArray[Any]:
    return _labels(rule, _answers(rule, scores, costs)[0])


def _answers(rule: DecisionRule, scores: Any, costs: Any) -> tuple[Ints, RowCosts | None]:
    """The answers to these rows, as one batch, and the costs of the rows."""
    assert rule.actions_ is not None
    read, found = rule._read_new(scores), _read_costs(rule, costs, len(scores))
    return rule.actions_.answers(read, found), found


def score(rule: DecisionRule, scores: Any, y: ArrayLike, weight: Floats, costs: Any) -> float:
    labels = rule._index_of(y)
    rule.check_attainable()
    answers, found = _answers(rule, scores, costs)
    if rule.abstain_cost is None or found is None:  # of answered rows
        kept = answers != NO_ANSWER
        answers, labels, weight = answers[kept], labels[kept], weight[kept]
        found = None if found is None else found.take(kept)
    if not len(answers):
        raise ValueError("`scores` are so unsure that no row is answered, and there is nothing to score.")
    if found is None:
        return float(metric_values(rule.metric_, hard_confusion(answers, labels, weight, len(rule.classes_))))
    return -float(weight @ found.paid(labels, answers, rule.abstain_cost) / weight.sum())


def values(rule: DecisionRule, scores: Any, costs: Any) -> Floats:
    assert rule.actions_ is not None
    return rule.actions_.values(rule._read_new(scores), _read_costs(rule, costs, len(scores)))


def describe(rule: DecisionRule) -> str:
    state = "DecisionRule" if hasattr(rule, "offsets_") else "DecisionRule, not fitted"
    within = ""
    if rule.actions_ is not None and rule.actions_.budget is not None:
        within = f", with {rule.actions_.budget.describe(rule.classes_.tolist())} in each batch"
    elif rule.budget is not None:
        within = f", within the budget {rule.budget}"
    if rule.abstain is not None:
        promise = "" if rule.confidence is None else f" with confidence {rule.confidence:g}"
        within = f", and answer as many rows as {rule.abstain.strip()} allows{promise}"
    elif rule.abstain_cost is not None:
        within = f", where no answer costs {rule.abstain_cost:g}"
    if not isinstance(rule.metric, Cost):
        text = f"maximise {name_of(rule.metric)}{within}"
    else:
        text = f"predict the class with the least expected cost{within}{_listed(rule.metric)}"
    return f"{state}: {text}{'; not attainable' if hasattr(rule, 'offsets_') and not rule._decides() else ''}."


def _listed(cost: Cost) -> str:
    if not cost.by_names:
        return ""
    pairs = [f"{answer!r} instead of {true!r} costs {one}" for (true, answer), one in dict(cost.matrix).items()]  # type: ignore[arg-type]
    return f"; {listed(pairs, MOST_SHOWN)}"


def sentences(rule: DecisionRule) -> list[str]:
    if not rule._decides():
        return []
    assert rule.actions_ is not None
    rows = "held-out rows" if rule.is_cross_fitted_ else "rows of the fit"
    lines = [] if rule.coverage_ is None else [_coverage_sentence(rule, rule.coverage_, rows)]
    if rule.money_ is None and rule.coverage_ is None:
        return [
            rule._score_in_words(f"on {rows}, as one batch"),
            f"Spending the budget on the largest probabilities gives {rule._baseline_in_words()}.",
        ]
    if rule.money_ is not None:
        lines += rule.money_.sentences(f"on {rule.money_.n_rows:,.0f} {rows}")
        if isinstance(worth := rule.actions_.worth, ExpectedCost) and worth.factor != 1.0:
            default = rule.classes_.tolist()[worth.default]
            lines.append(
                f"The expected savings over {default!r} are multiplied by {worth.factor:.2f} to correct the calibration."
            )
    return lines


def _coverage_sentence(rule: DecisionRule, coverage: dict[str, Any], rows: str) -> str:
    """How many rows are answered, how many of them wrongly, and what is promised."""
    (low, high), (least, most) = coverage["interval"], coverage["error_interval"]
    text = (
        f"The rule answers {coverage['coverage']:.1%} ({low:.1%} … {high:.1%}) of the {rows}, and "
        f"{coverage['error']:.2%} ({least:.2%} … {most:.2%}) of these wrongly."
    )
    if rule.confidence is None or rule.abstain is None or rule.refusal_:
        return text
    what = f"the error of answered rows is at most {read_limit(rule.abstain):g}"
    return f"{text} {promise_in_words(what, rule.confidence)}"


def to_onnx(rule: DecisionRule, dtype: str) -> Any:
    why = "costs of the row" if has_row_costs(rule.metric) else "abstention" if may_abstain(rule) else "the other rows"
    raise ValueError(
        f"to_onnx writes offsets and thresholds, but the predictions of this rule depend on {why}. Use `save` and "
        "`DecisionRule.load` instead."
    )


def _read_costs(rule: DecisionRule, costs: Any, n_rows: int) -> RowCosts | None:
    """The costs of the rows, where the metric is a cost."""
    metric = rule.metric_
    return RowCosts.read(metric, rule.classes_.tolist(), costs, n_rows) if isinstance(metric, Cost) else None
