"""The report of a decision rule: the metric over thresholds, changes in rows, errors, calibration, money and coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from metricfit._printable import shorten
from metricfit._typing import Floats
from metricfit.decisions import DecisionRule, Reliability, hard_confusion, read_constraints, read_limit
from metricfit.metrics import Cost, name_of
from metricfit.report._confusion import (
    LEVEL_WORDS,
    Change,
    base_of,
    class_changes,
    of_class,
    per_base,
    positive_changes,
    rows_right,
    total_cost,
)
from metricfit.report._figures import draw_reliability, per_class
from metricfit.report._page import Run, matrix_values, render
from metricfit.report._svg import Chart, span
from metricfit.report._words import N_COLOURS, PageWords, interval, money, rows, score

BEFORE, AFTER = 0, 7  # colours of the largest score and of the rule
LARGEST, NO_ANSWER = "largest score", "no answer"
LABEL_CHANGES = ("labels found", "labels answered that the row does not have")
PARTS = {"precision": 2, "recall": 1, "predicted_rate": 3}  # of a curve, and their colours
MAX_OPEN = 12  # classes in a table that is not folded
MAX_LETTERS = 32  # of the name of a metric along an axis
PER = 1000.0  # cases, as in the summary of a rule


def decision_page(
    rule: DecisionRule, scores: NDArray[Any], labels: NDArray[Any], run: Run, weight: Floats | None = None
) -> str:
    """The report of a rule as HTML; ``scores``, ``labels`` and ``weight`` are those of its fit.

    Errors of a rule for other shares of the classes are counted in rows that are weighted accordingly.
    """
    weight = np.ones(len(labels)) if weight is None else weight
    names, decides = [str(label) for label in rule.classes_], rule.attainable_ or rule.fallback is not None
    if rule.has_lists_ is not None:
        return _labels_page(rule, scores, labels, run, weight)
    before, after = _matrices(rule, labels, scores, weight)
    metric, base = PageWords(name_of(rule.metric), rule.metric_), base_of(after.sum(1).tolist())
    columns = [*names, NO_ANSWER][: after.shape[1]]
    offsets = [score(offset, sign=True) for offset in rule.offsets_.tolist()]
    values: dict[str, Any] = {
        **_common_values(rule, run, len(labels)),
        "metric": metric.title,
        "decides": decides,
        "cards": _cards(rule, metric, len(labels), decides),
        "is_held_out": rule.score_ is not None and rule.is_cross_fitted_,
        "is_reweighted": rule.score_ is None,
        "setting": "offset" if rule.actions_ is None else None,
        "money_rows": money_rows(rule) if decides else [],
        "budget": budget_sentences(rule, labels) if decides else [],
        "coverage_figure": coverage_figure(rule, AFTER) if decides else None,
        "best": _best_range(rule),
        "has_limits": any(one.quantity in PARTS for one in read_constraints(rule.subject_to)),
        "curve_figure": None if rule.curve_ is None else _curve_figure(rule, metric, decides),
        "parts_figure": None if rule.curve_ is None else _parts_figure(rule, decides),
        "parts_legend": [(colour, False, name.replace("_", " ")) for name, colour in PARTS.items()],
        "positive": None if rule.positive_ is None else str(rule.positive_),
        "base": base,
        "changes": _changes(rule, before, after, base) if decides else [],
        "class_changes": class_changes(before, after, names, base) if decides and len(names) > 2 else [],
        "costs": _costs(rule, before, after, base) if decides else None,
        "matrices": matrix_values([(LARGEST, BEFORE, before), ("rule", AFTER, after)], names, columns) if decides else [],
        "classes": _classes(rule, names, offsets, per_class(before, names), per_class(after, names)) if decides else [],
        "reliability": rule.reliability_,
        "reliability_figure": None if rule.reliability_ is None else _reliability_figure(rule.reliability_),
    }
    return render(("decision",), values)


def _common_values(rule: DecisionRule, run: Run, n_rows: int) -> dict[str, Any]:
    first, *sentences = rule.summary().split("\n")
    return {
        "run": run,
        "headline": first.removeprefix("DecisionRule: "),
        "sentences": sentences,
        "n_rows": n_rows,
        "n_classes": len(rule.classes_),
        "has_many": rule.has_lists_ is not None,
        "plain": LARGEST if rule.has_lists_ is None else "one half",
        "has_error_limit": rule.abstain is not None,
        "within_budget": rule.actions_ is not None and rule.actions_.budget is not None,
        "max_open": MAX_OPEN,
        "is_logit": rule.kind_ == "logit",
        "level_words": LEVEL_WORDS,
        "n_colours": N_COLOURS,
        "reference": {"colour": BEFORE},
        "choice": {"colour": AFTER},
    }


def _labels_page(rule: DecisionRule, scores: NDArray[Any], labels: NDArray[Any], run: Run, weight: Floats) -> str:
    """The report of thresholds for several labels per row: precision and recall of each label, before and after."""
    names, title = [str(label) for label in rule.classes_], name_of(rule.metric)
    plain = (rule.decision_function(scores) - rule.offsets_ > 0.0).astype(np.int64)
    before, after = (
        [hard_confusion(one[:, index], labels[:, index], weight, 2) for index in range(len(names))]
        for one in (plain, rule.predicted_)
    )
    low, high = rule.score_interval_
    gain = f"{interval(*rule.gain_interval_, sign=True)}, p = {rule.gain_p_:.2g}"
    values = {
        **_common_values(rule, run, len(labels)),
        **dict.fromkeys(("curve_figure", "coverage_figure", "costs", "positive", "reliability"), None),
        **dict.fromkeys(("money_rows", "budget", "class_changes", "matrices"), ()),
        "metric": title,
        "decides": True,
        "cards": [
            ("Rule", score(rule.score_), interval(low, high)),
            ("One half", score(rule.baseline_), title),
            ("Difference", score(rule.gain_, sign=True), gain),
            ("Rows", f"{len(labels):,}", f"{len(names):,} labels"),
        ],
        "is_held_out": rule.is_cross_fitted_,
        "is_reweighted": False,
        "base": 1000,
        "changes": positive_changes(np.sum(before, 0), np.sum(after, 0), 1, 1000 * len(names), LABEL_CHANGES),
        "setting": "threshold",
        "classes": _classes(
            rule,
            names,
            [f"{one:.3g}" for one in rule.thresholds_],
            *([per_class(two, ["", ""])[1] for two in side] for side in (before, after)),
        ),
    }
    return render(("decision",), values)


def _matrices(rule: DecisionRule, labels: NDArray[Any], scores: NDArray[Any], weight: Floats) -> tuple[Floats, Floats]:
    """Confusion matrices of the largest score and of the rule, on held-out rows where they are known.

    The last column of a rule that may give no answer counts these rows.
    """
    n_classes, known = len(rule.classes_), {label: index for index, label in enumerate(rule.classes_.tolist())}
    predicted = rule.predict(scores) if rule.score_ is None else rule.predicted_
    true, before, after = (
        np.array([known.get(label, n_classes) for label in one.tolist()])
        for one in (labels, rule.baseline_predicted_, predicted)
    )
    if rule.score_ is None:
        weight = weight * (rule.shares_ / np.maximum(np.bincount(true, weight, n_classes) / weight.sum(), 1e-300))[true]
        weight = weight / weight.mean()
    matrix = hard_confusion(after, true, weight, n_classes + 1)[:n_classes]
    return hard_confusion(before, true, weight, n_classes), matrix if rule.coverage_ is not None else matrix[:, :-1]


def _best_range(rule: DecisionRule) -> tuple[float, float] | None:
    """The thresholds that are about as good as the best one; constraints may forbid them."""
    return None if rule.curve_ is None or rule.constraints_ else rule.curve_.best


def _cards(rule: DecisionRule, metric: PageWords, n_rows: int, decides: bool) -> list[tuple[str, str, str]]:
    """The key numbers: what, the number, and a few words."""
    cards, best = action_cards(rule) if decides else [], _best_range(rule)
    if rule.coverage_ is not None and rule.money_ is None and decides and not rule.metric_.counts_hits:
        cards.append((f"{metric.title} of these", metric.score(rule.score_), interval(*rule.score_interval_)))
    elif rule.score_ is not None and rule.coverage_ is None and rule.money_ is None:
        if decides:
            low, high = sorted(map(metric.shown, rule.score_interval_))
            cards.append(("Rule", metric.score(rule.score_), interval(low, high)))
        cards.append(("Largest score", metric.score(rule.baseline_), metric.title))
        if not rule.constraints_:
            ends = f"{interval(*rule.gain_interval_, sign=True)}, p = {rule.gain_p_:.2g}"
            cards.append((metric.gain.capitalize(), score(rule.gain_, sign=True), ends))
    for one in rule.constraints_ if decides else ():
        ends = interval(*one["interval"]) if "interval" in one else "on the rows of the fit"
        cards.append((one["constraint"], score(one["value"]), ends))
    if rule.positive_ is not None and decides and rule.actions_ is None:
        near = "" if best is None else f"about as good: {best[0]:.3g} to {best[1]:.3g}"
        cards.append(("Threshold", f"{rule.threshold_:.4g}", near))
    return [*cards, ("Rows", f"{n_rows:,}", f"{len(rule.classes_):,} classes")]


def _curve_figure(rule: DecisionRule, metric: PageWords, decides: bool) -> Markup:
    """The metric with its band over thresholds, the range that is about as good as the best, and the rule."""
    curve, best = rule.curve_, _best_range(rule)
    assert curve is not None
    drawn = np.isfinite(curve.threshold)
    xs, ys, low, high = (part[drawn] for part in (curve.threshold, *map(metric.shown, (curve.metric, curve.low, curve.high))))
    chart = Chart(
        f"{metric.title} by threshold",
        x=_x_range(rule, xs),
        y=span([*low.tolist(), *high.tolist()]),
        x_label=_x_label(rule),
        y_label=shorten(metric.title, MAX_LETTERS),
        description=f"The rule is at {rule.threshold_:.3g}." if decides else "",
    )
    chart.band(xs.tolist(), low.tolist(), high.tolist(), AFTER)
    chart.line(xs.tolist(), ys.tolist(), AFTER)
    if best is not None:
        floor = chart.y[0] + 0.02 * (chart.y[1] - chart.y[0])
        chart.segment((max(best[0], chart.x[0]), floor), (min(best[1], chart.x[1]), floor), f"whisker c{AFTER}")
    points = [(0.0 if rule.kind_ == "logit" else 0.5, BEFORE, "largest score", True)]
    if decides:
        points.append((rule.threshold_, AFTER, "rule", False))
    for x, colour, name, hollow in points:
        if chart.x[0] <= x <= chart.x[1]:
            here = float(np.interp(x, xs[::-1], ys[::-1]))
            chart.point(x, here, colour, f"{name}: threshold {x:.4g}, {here:.4f}", hollow=hollow)
    return chart.svg()


def _parts_figure(rule: DecisionRule, decides: bool) -> Markup:
    """Precision, recall and the share of rows that are predicted as positive over thresholds, the limits and the rule."""
    curve = rule.curve_
    assert curve is not None
    drawn = np.isfinite(curve.threshold)
    xs = curve.threshold[drawn]
    chart = Chart("Precision, recall and predicted rate by threshold", _x_range(rule, xs), (0.0, 1.0), _x_label(rule))
    for name, colour in PARTS.items():
        used = drawn & (curve.predicted_rate > 0.0)  # the precision of no rows is not known
        chart.line(curve.threshold[used].tolist(), getattr(curve, name)[used].tolist(), colour)
    for one in read_constraints(rule.subject_to):
        if one.quantity in PARTS and one.label in (None, rule.positive_, str(rule.positive_)):
            chart.segment((chart.x[0], one.limit), (chart.x[1], one.limit), f"limit c{PARTS[one.quantity]}")
    if decides and chart.x[0] <= rule.threshold_ <= chart.x[1]:
        chart.segment((rule.threshold_, 0.0), (rule.threshold_, 1.0), "grid strong")
    return chart.svg()


def _x_range(rule: DecisionRule, xs: Floats) -> tuple[float, float]:
    low, high = float(xs.min()), float(xs.max())
    return (low, high) if rule.kind_ == "logit" else (0.0, 1.0 if high > 0.5 else high)


def _x_label(rule: DecisionRule) -> str:
    return shorten(f"threshold on the {'score' if rule.kind_ == 'logit' else 'probability'} of {rule.positive_}", 60)


def _reliability_figure(found: Reliability) -> Markup:
    most = 1.0 if max(found.predicted.max(), found.observed.max()) > 0.5 else None
    top = most or 1.05 * float(max(found.predicted.max(), found.observed.max()))
    chart = Chart("Probability and frequency", (0.0, top), (0.0, top), "probability", "observed frequency")
    chart.segment((0.0, 0.0), (top, top), "grid strong")
    draw_reliability(chart, found, AFTER)
    return chart.svg()


def _changes(rule: DecisionRule, before: Floats, after: Floats, base: int) -> list[Change]:
    found = [rows_right(before, after, base)]
    if rule.coverage_ is not None:
        return [*no_answer_changes(before, after, base), *found]
    if rule.positive_ is None:
        return found
    positive = rule.classes_.tolist().index(rule.positive_)
    return [*positive_changes(before, after, positive, base, of_class(str(rule.positive_))), *found]


def _costs(rule: DecisionRule, before: Floats, after: Floats, base: int) -> tuple[float, float] | None:
    """What the base of cases costs by the largest score and by the rule."""
    if not isinstance(rule.metric_, Cost) or rule.money_ is not None:
        return None
    costs = -rule.metric_.gains.numpy()
    return total_cost(before, costs, base), total_cost(after, costs, base)


def _classes(
    rule: DecisionRule, names: list[str], settings: list[str], before: list[dict[str, Any]], after: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Every class or label: its share, its offset or threshold, and its precision and recall before and after."""
    keys = ("label", "share", "setting", "base", "choice")
    rows = zip(names, rule.shares_.tolist(), settings, before, after, strict=True)
    return [dict(zip(keys, row, strict=True)) for row in rows]


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
    [('wrong answers', 150.0, 50.0), ('cases without an answer', 0.0, 200.0)]
    """
    first, second = per_base(before, base), per_base(after, base)
    none = float(second[:, -1].sum())
    wrong = [float(matrix.sum() - np.trace(matrix)) for matrix in (first, second)]
    return [
        Change("wrong answers", wrong[0], wrong[1] - none, good=-1),
        Change("cases without an answer", 0.0, none, good=0),
    ]


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
    chart.point(found["coverage"], found["error"], colour, tip)
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
