"""What the report of a rule says of money, a budget and rows without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from metricfit._typing import Floats
from metricfit.decisions import read_limit
from metricfit.report._confusion import Change, per_base
from metricfit.report._svg import Chart
from metricfit.report._words import money, rows

if TYPE_CHECKING:
    from metricfit.decisions import DecisionRule

PER = 1000.0  # cases, as in the summary of a rule


def action_cards(rule: DecisionRule) -> list[tuple[str, str, str]]:
    """The key numbers: what, the number, and a few words."""
    cards, found = list[tuple[str, str, str]](), rule.money_
    if found is not None:
        per, saved = PER / found.n_rows, found.savings[0]
        cards.append(("Cost per 1,000", money(per * found.total), _ends(found.interval, per)))
        cards.append(
            ("Saved per 1,000", money(per * saved.total), f"{_ends(saved.interval, per)}, compared with {saved.against}")
        )
    if rule.coverage_ is not None:
        for what, name, ends in (("Answered", "coverage", "interval"), ("Wrong of these", "error", "error_interval")):
            low, high = rule.coverage_[ends]
            cards.append((what, _percent(rule.coverage_[name]), f"{_percent(low)} to {_percent(high)}"))
    for label, cap in _caps(rule, len(rule.predicted_)):
        given = int((rule.predicted_ == label).sum())
        cards.append((f"Budget for {label}", f"{cap:,.0f}", f"{given:,} given to these rows"))
    return cards


def money_rows(rule: DecisionRule) -> list[tuple[str, str, str, str]]:
    """Each way to answer: its cost per 1,000 cases, what the rule saves, and the interval."""
    found = rule.money_
    if found is None:
        return []
    per = PER / found.n_rows
    others = [
        (one.against, money(per * (found.total + one.total)), money(per * one.total), _ends(one.interval, per))
        for one in found.savings
    ]
    return [("the rule", money(per * found.total), "", ""), *others]


def budget_sentences(rule: DecisionRule, labels: NDArray[Any]) -> list[str]:
    """How much of its budget a rule uses, and how many of these answers are right."""
    per, found = PER / len(labels), list[str]()
    for label, cap in _caps(rule, len(labels)):
        given = rule.predicted_ == label
        right = rows(per * float((given & (labels == label)).sum()))
        found.append(
            f"Of 1,000 cases the budget allows {rows(per * cap)} answers “{label}”. The rule gives "
            f"{rows(per * float(given.sum()))}, and {right} of them are right."
        )
    return found


def no_answer_changes(before: Floats, after: Floats, base: int) -> list[Change]:
    """Wrong answers, and cases without an answer, which are in the last column.

    >>> before, after = np.array([[8.0, 2.0], [1.0, 9.0]]), np.array([[8.0, 1.0, 1.0], [0.0, 7.0, 3.0]])
    >>> [(change.what, change.before, change.after) for change in no_answer_changes(before, after, 1000)]
    [('wrong', 150.0, 50.0), ('no answer', 0.0, 200.0)]
    """
    first, second = per_base(before, base), per_base(after, base)
    none = float(second[:, -1].sum())
    wrong = [float(matrix.sum() - np.trace(matrix)) for matrix in (first, second)]
    return [Change("wrong", wrong[0], wrong[1] - none, good=-1), Change("no answer", 0.0, none, good=0)]


def coverage_figure(rule: DecisionRule, colour: int) -> Markup | None:
    """The error of answered rows with its band, over the share of rows that are answered; the limit and the rule."""
    curve, found = rule.coverage_curve_, rule.coverage_
    if curve is None or found is None:
        return None
    limit = None if rule.abstain is None else read_limit(rule.abstain)
    top = 1.25 * max(float(curve.error.max()), limit or 0.0, found["error"], 0.01)
    chart = Chart(
        "Error of answered rows by coverage",
        (0.0, 1.0),
        (0.0, top),
        "share of rows that are answered",
        "error of answered rows",
        description=f"The rule answers {_percent(found['coverage'])} of the rows, {_percent(found['error'])} of them wrongly.",
    )
    xs, low, high = curve.coverage.tolist(), np.minimum(curve.low, top).tolist(), np.minimum(curve.high, top).tolist()
    chart.band(xs, low, high, colour)
    chart.line(xs, curve.error.tolist(), colour)
    if limit is not None:
        chart.segment((0.0, limit), (1.0, limit), f"limit c{colour}")
    tip = f"rule: {_percent(found['coverage'])} answered, {_percent(found['error'])} wrong"
    chart.point(found["coverage"], found["error"], colour, tip, 6.0)
    return chart.svg()


def _caps(rule: DecisionRule, n_rows: int) -> list[tuple[Any, float]]:
    """The classes with a budget, and the answers that it allows to so many rows."""
    if rule.actions_ is None or rule.actions_.budget is None:
        return []
    caps = rule.actions_.budget.caps(n_rows, len(rule.classes_))
    return [(label, float(cap)) for label, cap in zip(rule.classes_.tolist(), caps, strict=True) if np.isfinite(cap)]


def _ends(interval: tuple[float, float], per: float) -> str:
    return f"{money(per * interval[0])} to {money(per * interval[1])}"


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"
