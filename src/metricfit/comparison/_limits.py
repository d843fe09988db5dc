"""A comparison with constraints: what every contender has to keep, how well it did, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metricfit._typing import Ints
from metricfit.comparison._statistics import BETTER
from metricfit.comparison._verdict import (
    CLOSE,
    UNCLEAR,
    Verdict,
    beats_constant,
    capital,
    closeness,
    difference_in_words,
    highest_of,
    interval_in_words,
    name_and_score,
    not_above_constant,
    too_few,
)
from metricfit.comparison._words import MetricWords, plural
from metricfit.decisions import DecisionRule, promise_in_words
from metricfit.metrics import Cost, Resolved, positive_of

if TYPE_CHECKING:
    from metricfit.comparison._result import Comparison, Result


@dataclass(frozen=True)
class Limits:
    """What decisions have to keep: ``subject_to``, ``confidence`` and ``calibration`` for the classes of a table."""

    rule: DecisionRule  # of a constant answer to one row of each class: it has read and checked the options
    metric: Resolved
    calibration: float | None
    names: tuple[str, ...]  # of the constraints, with their classes

    @classmethod
    def read(
        cls,
        subject_to: Any,
        confidence: float | None,
        calibration: float | None,
        metric: Resolved,
        pos_label: Any,
        classes: NDArray[Any],
        counts: Ints,
    ) -> Limits | None:
        """The limits, or None without any; a ValueError for those that no decision could keep, or that name another class."""
        if subject_to is None:
            return None
        if len(classes) == 2 and (pos_label := metric.positive if metric.positive is not None else pos_label) is None:
            pos_label = classes.tolist()[positive_of(classes, counts)[0]]  # the same on every split
        options = {"subject_to": subject_to, "confidence": confidence, "pos_label": pos_label}
        rule = _constant_rule(metric, classes, counts, classes, options)
        return cls(rule, metric, calibration, tuple(one["constraint"] for one in rule.constraints_))

    @property
    def options(self) -> dict[str, Any]:
        """What ``MetricClassifier`` takes."""
        return {**self._of_rule, "calibration": self.calibration}

    @property
    def _of_rule(self) -> dict[str, Any]:
        return {name: getattr(self.rule, name) for name in ("subject_to", "confidence", "pos_label")}

    @property
    def refused_score(self) -> float:
        """What a split counts as whose rule refuses: 0, or the highest cost."""
        return self.metric.metric.bounds[0] if isinstance(self.metric.metric, Cost) else 0.0

    def constant_rule(self, labels: Ints) -> DecisionRule:
        """The best constant answer to rows of these classes that keeps the limits, found as every rule is."""
        classes = self.rule.classes_
        return _constant_rule(
            self.metric, classes, np.bincount(labels, minlength=len(classes)), classes[labels], self._of_rule
        )

    def check(self, labels: Ints, predicted: Ints) -> tuple[dict[str, Any], ...]:
        """Every constraint on rows, given by the indices of their classes: its value, the interval, and if it is kept."""
        if not len(labels):
            return tuple({"constraint": name, "value": None, "interval": (None, None), "kept": False} for name in self.names)
        return tuple(self.rule.constraints_on(*(self.rule.classes_[one] for one in (labels, predicted))))

    @property
    def in_words(self) -> str:
        """Such as "precision[bad] >= 0.9 with confidence 0.9"."""
        confidence = self.rule.confidence
        return " and ".join(self.names) + ("" if confidence is None else f" with confidence {confidence:g}")

    def sentence(self, words: MetricWords) -> str:
        """What is compared, and what is promised."""
        names, refused = " and ".join(self.names), f"{words.shown(self.refused_score):g}"
        text = (
            f"Compared: {words.title} on held-out rows, by the best rule of each model that keeps "
            f"{self.in_words}. Models are trained with cross-entropy; methods that train for the metric are left out. A split "
            f"whose rule refuses counts as {refused}. Kept counts the splits whose test rows keep the limit too."
        )
        if self.rule.confidence is None:
            return f"{text} Nothing is promised without a confidence: the limit holds on the rows that set the rule."
        names += " holds" if len(self.names) == 1 else " hold"
        text += f" {promise_in_words(names, self.rule.confidence, 'the rows that set the rule,')}"
        if self.calibration is not None:
            return f"{text} The promise is exact, because rows that train nothing set the rule."
        return f"{text} The promise is approximate: out-of-fold scores set the rule, and the mean of the fold models predicts."

    def as_json(self, words: MetricWords) -> dict[str, Any]:
        return {
            "subject_to": " and ".join(self.names),
            "confidence": self.rule.confidence,
            "calibration": self.calibration,
            "promise": self.sentence(words),
        }


def _constant_rule(
    metric: Resolved, classes: NDArray[Any], counts: Ints, labels: NDArray[Any], options: dict[str, Any]
) -> DecisionRule:
    """A rule for rows of these labels, whose scores are all the sizes of the classes."""
    rule = DecisionRule(metric, classes=classes.tolist(), kind="probability", **options)  # type: ignore[arg-type]
    return rule.fit(np.tile(counts / counts.sum(), (len(labels), 1)), labels)


@dataclass(frozen=True)
class Kept:
    """How a contender kept the limits on the splits of a comparison."""

    by_split: tuple[bool | None, ...]  # whether the test rows keep all of them; None where the rule refused
    refusals: tuple[str, ...]  # of every split; empty where the rule decides
    values: tuple[dict[str, Any], ...]  # of every constraint on the held-out rows of the first repeat; None without a decision

    @property
    def n_kept(self) -> int:
        return sum(one is True for one in self.by_split)

    @property
    def n_refused(self) -> int:
        return sum(one is None for one in self.by_split)

    @property
    def is_usual(self) -> bool:
        """Whether the rule decides on more than half of the splits."""
        return 2 * self.n_refused < len(self.by_split)

    @property
    def in_words(self) -> str:
        values = [
            f"{one['constraint'].split()[0]} is {one['value']:.4f} ({one['interval'][0]:.3f} to {one['interval'][1]:.3f})"
            for one in self.values
            if one["value"] is not None
        ]
        where = " on held-out rows, " if values else ""
        refused = f", refused on {self.n_refused}" if self.n_refused else ""
        return f"{' and '.join(values)}{where}kept on {self.n_kept} of {plural(len(self.by_split), 'split')}{refused}"

    def row(self) -> dict[str, Any]:
        """Cells of a table: every constrained quantity with its interval, and how many splits kept the limits or refused."""
        cells = dict[str, Any]()
        for one in self.values:
            name, (low, high) = one["constraint"], one["interval"]
            cells |= {name: one["value"], f"{name}, low": low, f"{name}, high": high}
        return {**cells, "kept": self.n_kept, "refused": self.n_refused}

    def as_json(self) -> dict[str, Any]:
        """For every constraint its value and interval, and for every split whether it was kept, or why the rule refused."""
        values = [
            {"constraint": one["constraint"], "value": one["value"], "low": one["interval"][0], "high": one["interval"][1]}
            for one in self.values
        ]
        return {"constraints": values, "kept_by_split": list(self.by_split), "refusals": list(self.refusals)}


def find_limited_verdict(comparison: Comparison, limits: Limits) -> Verdict:
    """The best objective among the models that can keep the limits, or the subject's."""
    promise = limits.sentence(comparison.metric_words)
    able = [one for one in comparison.models if one.is_able]
    best = highest_of(able or comparison.models)
    if comparison.subject is not None:
        return _about_subject(comparison, limits, comparison.results[comparison.subject], able, promise)
    if not able:
        return _not_attainable(limits, best, promise)
    if not comparison.reference.estimate.known:
        return replace(too_few(comparison), about_method=promise)
    use = f"Use {best.contender.in_words}: {_score(best, comparison)} subject to {limits.in_words}"
    words = f"Best: {_described(best, comparison)}."
    constant = comparison.constant
    if constant.is_able and not any(map(beats_constant, able)):
        headline = f"No model is shown to beat a constant answer, {comparison.constant_title}, subject to {limits.in_words}."
        words += not_above_constant(best, comparison)
        return Verdict("constant", "none", best.contender.name, comparison.constant_name, headline, words, promise)
    simpler = [one for one in takewhile(lambda one: one is not best, able) if not constant.is_able or beats_constant(one)]
    close = [one for one in simpler if closeness(one.behind_best, comparison.margin) == CLOSE]
    if close:
        recommended, within = close[0], f"{comparison.margin:.2g}"
        difference = interval_in_words(recommended.behind_best, comparison)
        words += f" Recommended: {_described(recommended, comparison)}."
        words += f" It is simpler and within {within} of the best: {difference}."
        use = f"Use {recommended.contender.in_words}: {_score(recommended, comparison)} subject to {limits.in_words}"
        return Verdict("clear", "none", best.contender.name, recommended.contender.name, f"{use}.", words, promise)
    unclear = [one for one in simpler if closeness(one.behind_best, comparison.margin) == UNCLEAR]
    if unclear:
        one = highest_of(unclear)
        difference = interval_in_words(one.behind_best, comparison)
        words += f" There is not enough data to tell whether {name_and_score(one, comparison)} is as good: {difference}."
    status = "unclear" if unclear else "clear"
    return Verdict(status, "none", best.contender.name, best.contender.name, f"{use}.", words, promise)


def _not_attainable(limits: Limits, best: Result, promise: str) -> Verdict:
    """Every model refuses on half of the splits or more."""
    verb = "keeps" if limits.rule.confidence is None else "can promise"
    headline = f"Not attainable: no model {verb} {limits.in_words} on most splits."
    words = f"{headline} {_refusal(best)}"
    return Verdict("none", "none", best.contender.name, None, headline, words, promise)


def _about_subject(comparison: Comparison, limits: Limits, subject: Result, able: Sequence[Result], promise: str) -> Verdict:
    """The contender that is fitted, and whether another one that keeps the limits is shown to be better."""
    assert subject.kept is not None
    better = [one for one in able if one.above_subject.evidence == BETTER]
    best = highest_of(better) if better else subject
    score = comparison.metric_words.shown_estimate(subject.estimate)
    interval = f" (95 % interval {score.low:.4f} to {score.high:.4f})" if score.known else ""
    held_out = "on rows that neither the model nor its tuning saw"
    words = f"{subject.contender.name} scores {comparison.metric_words.text(subject.estimate.mean)}{interval} {held_out}; "
    words += f"{subject.kept.in_words}."
    headline = f"{subject.contender.in_words}: {_score(subject, comparison)} subject to {limits.in_words}."
    if subject.kept.n_refused:
        words += f" {_refusal(subject)}"
    if better:
        gain = difference_in_words(best.above_subject, comparison)
        words += f" {_described(best, comparison)}, is shown to be better: {gain}. Fit it with --model {best.contender.model}."
    recommended = best.contender.name if best.is_able else None
    status = "none" if recommended is None else "clear" if score.known else "none"
    return Verdict(status, "none", comparison.best.contender.name, recommended, capital(headline), words, promise)


def _refusal(result: Result) -> str:
    assert result.kept is not None
    said = next(filter(None, result.kept.refusals))
    return (
        f"{result.contender.name} refused on {result.kept.n_refused} of {len(result.kept.by_split)} splits, first with: {said}"
    )


def _described(result: Result, comparison: Comparison) -> str:
    assert result.kept is not None
    return f"{name_and_score(result, comparison)}; {result.kept.in_words}"


def _score(result: Result, comparison: Comparison) -> str:
    return comparison.metric_words.sentence(result.estimate.mean)
