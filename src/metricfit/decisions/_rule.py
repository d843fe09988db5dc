"""``DecisionRule``: from the scores of any classifier to answers, for a metric, constraints and a prevalence."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, ndtr
from sklearn.base import BaseEstimator, ClassifierMixin

from metricfit import metrics
from metricfit._typing import Floats, Ints
from metricfit.decisions import _rule_file
from metricfit.decisions._calibration import MOST_SEARCHED, thin_rows
from metricfit.decisions._constraints import ClassConstraint, Constraint, read_constraints, resolve_constraints
from metricfit.decisions._curve import Curve, Reliability
from metricfit.decisions._guard import Guard
from metricfit.decisions._hard import hard_confusion, largest_class, metric_values
from metricfit.decisions._intervals import Interval, Z, constraint_interval, gain_interval, metric_interval
from metricfit.decisions._onnx import rule_to_onnx
from metricfit.decisions._prevalence import complete_shares, estimate_shares
from metricfit.decisions._scores import check_percentages, check_weight, match_columns, read_scores
from metricfit.decisions._solve import Rows, Solution, check_promise, rank_in_class, solve
from metricfit.metrics import BalancedAccuracy, GMean, Metric, name_of, positive_of, resolve_metric

FOLDS, FEW_FOLDS = 5, 2  # parts of the rows, each decided by a rule of the others; parts of very many rows
CLEARLY = 1.0  # standard error by which offsets of several classes have to lose to be dropped
MOST_KEPT = 20_000  # rows that a rule keeps for another prevalence
MOST_SHOWN = 10  # offsets in a sentence
_KINDS = {"probability": "probabilities", "log_probability": "log-probabilities", "logit": "logits"}


class NotAttainableError(ValueError):
    """No decision keeps the constraints."""


class DecisionRule(ClassifierMixin, BaseEstimator):
    """How to answer by the scores of any classifier: the best decision for a metric, subject to constraints.

    Fit it to scores of rows that the classifier has not seen. The rule adds an offset to the score of each class, and the
    largest sum decides. For two classes that is a threshold. To scikit-learn it is an estimator whose features are scores:
    it can be the last step of a Pipeline.

    **Constraints.** ``subject_to="precision >= 0.9 and predicted_rate <= 0.05"`` limits "precision", "recall", "f1",
    "jaccard", "fpr", "specificity" and "predicted_rate" of a class (``recall[fraud]``), "cost", or any metric. Without
    ``confidence`` the limits hold on the rows of the fit. With ``confidence=0.9`` they are promised: with this probability
    over the draw of the rows, they hold in the population that the rows came from, or the rule refuses. The promise is about
    that population. It is not about each batch, and not about rows from another source.

    **Another prevalence.** :meth:`for_prevalence` solves the offsets again for other shares of the classes. :meth:`adapt`
    estimates these shares from new rows without labels.

    Args:
        metric: a name, a metric or a function of the confusion matrix.
        subject_to: a sentence, a :class:`Constraint` or several of them.
        confidence: of the promise that the constraints hold, such as 0.9.
        pos_label: the positive class, which a single column of scores is about. By default the larger of two numbers, and the
            rarer of two names.
        class_order: the classes in their order, for metrics that depend on it.
        classes: the labels of the columns of scores. By default the names of the columns of a data frame that has all labels,
            or 0 ... k - 1, or the sorted labels.
        kind: "auto", or what the scores are: "probability", "log_probability" or "logit".
        fallback: None, or "best" to decide by the best limit that can be promised where the one in ``subject_to`` cannot.

    Attributes:
        offsets_: one number per class. ``threshold_`` says the same for two classes.
        score_, score_interval_: the metric of rows that did not set the offsets, by cross-validation, and its 95 % interval.
        baseline_, gain_, gain_interval_, gain_p_: the metric of the largest score, and the difference with its p-value.
        predicted_: the labels of the rows of the fit, by rules of the other rows if ``is_cross_fitted_``.
        constraints_: for each constraint its value on the rows of the fit, the interval, what is promised, and a sentence.
        attainable_, refusal_: whether the constraints can be kept, and if not, why.
        curve_: the metric and its parts over thresholds, for two classes.
        reliability_: probabilities and how often they came true, in bins; :meth:`summary` warns if they are not calibrated.
        shares_: the shares of the classes that the rule is for.
        columns_: the names of the columns of scores, if they came in a data frame.
        notes_: what the rule decided by itself, in sentences.

    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.6, 0.9], [0, 0, 1, 1, 0, 1]
    >>> rule = DecisionRule("recall", subject_to="precision >= 0.7", kind="probability").fit(scores, y)
    >>> rule
    DecisionRule: maximise recall subject to precision >= 0.7; answer 1 where its probability is above 0.7101.
    >>> rule.predict([0.3, 0.7])
    array([0, 0])
    """

    _repr_mimebundle_ = None  # notebooks show the sentence
    classes_: NDArray[Any]
    metric_: Metric
    offsets_: Floats
    shares_: Floats
    share_intervals_: Floats | None = None
    notes_: tuple[str, ...]
    score_: float | None = None
    columns_: tuple[str, ...] = ()
    curve_: Curve | None = None
    reliability_: Reliability | None = None

    def __init__(
        self,
        metric: metrics.MetricLike = "accuracy",
        *,
        subject_to: str | Constraint | Iterable[Constraint] | None = None,
        confidence: float | None = None,
        pos_label: Any = None,
        class_order: Sequence[Any] | None = None,
        classes: Sequence[Any] | None = None,
        kind: str = "auto",
        fallback: str | None = None,
    ) -> None:
        self.metric = metric
        self.subject_to = subject_to
        self.confidence = confidence
        self.pos_label = pos_label
        self.class_order = class_order
        self.classes = classes
        self.kind = kind
        self.fallback = fallback

    def fit(self, scores: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Find the offsets from scores (n,), (n, 1) or (n, k) and labels (n,).

        ``sample_weight`` is how much each row counts. Rows of one group depend on each other, which makes intervals wider.
        """
        constraints = self._check()
        rows = self._read(scores, y, sample_weight, groups)
        self._constraints = resolve_constraints(constraints, self.classes_.tolist(), self._positive, self.metric_)
        if self.confidence is not None:
            check_promise(rows, self._constraints)
        solution = self._solve(rows)
        self.offsets_, self.refusal_, self.attainable_ = solution.offsets, solution.refusal, not solution.refusal
        self._judge(rows)
        if len(rows) > MOST_SEARCHED and (rows.n_classes > 2 or not self._constraints):
            self.notes_ += (
                f"The offsets were searched on about {MOST_SEARCHED:,} of the {len(rows):,} rows, as many of each class as "
                "possible. The scores above are those of all rows.",
            )
        self.constraints_ = [self._describe(one, rows, solution) for one in self._constraints]
        self.curve_ = Curve.of(rows, self.metric_, self._positive, self._threshold) if self._positive is not None else None
        self.reliability_ = Reliability.of(rows, self._positive)
        kept, weight = thin_rows(rows.labels, rows.weight, len(self.classes_), MOST_KEPT)
        self._rows = Rows(rows.scores[kept].astype(np.float32).astype(np.float64), rows.labels[kept], weight)
        return self

    def predict(self, scores: Any) -> NDArray[Any]:
        """The label of every row; an error if the constraints cannot be kept and no ``fallback`` was passed."""
        self.check_attainable()
        return self.classes_[largest_class(self._read_new(scores), self.offsets_)]

    def check_attainable(self) -> None:
        """Raise a :class:`NotAttainableError` if :meth:`predict` would."""
        if not self._decides():
            raise NotAttainableError(f"{self.refusal_} Pass fallback='best' to decide by the best that can be promised.")

    def score(self, scores: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The metric of :meth:`predict`."""
        known, truth = self.classes_.tolist(), np.asarray(y).tolist()
        if unknown := sorted(set(truth) - set(known), key=str):
            raise ValueError(f"`y` should hold classes of the rule, {known}, got also {unknown[:5]}.")
        index = {label: place for place, label in enumerate(known)}
        predicted, labels = (np.array([index[label] for label in found]) for found in (self.predict(scores).tolist(), truth))
        weight = check_weight(sample_weight, len(labels))
        return float(metric_values(self.metric_, hard_confusion(predicted, labels, weight, len(known))))

    def decision_function(self, scores: Any) -> Floats:
        """The sums that :meth:`predict` decides by: (n, k), or (n,) for two classes."""
        shifted = self._read_new(scores) + self.offsets_
        return shifted[:, 1] - shifted[:, 0] if len(self.classes_) == 2 else shifted

    def constraints_on(self, y: ArrayLike, predicted: ArrayLike) -> list[dict[str, Any]]:
        """Each constraint for decisions about labelled rows: its value, the interval, exact for a share, and if it is kept."""
        known, n_classes = {label: index for index, label in enumerate(self.classes_.tolist())}, len(self.classes_)
        labels, decided = (np.array([known[label] for label in np.asarray(one).tolist()], np.int64) for one in (y, predicted))
        weight, found = np.ones(len(labels)), list[dict[str, Any]]()
        for one in self._constraints:
            value, interval = constraint_interval(one, decided, labels, weight, n_classes)
            kept = not one.violations(hard_confusion(decided, labels, weight, n_classes)) > 0.0
            found.append({"constraint": str(one.constraint), "value": value, "interval": interval, "kept": kept})
        return found

    @property
    def threshold_(self) -> float:
        """For two classes: the answer is the positive one where its probability, or its score, is above this."""
        if self._positive is None:
            raise AttributeError(f"A rule of {len(self.classes_)} classes has no threshold_. See offsets_.")
        return float(self._threshold(self.offsets_[1 - self._positive] - self.offsets_[self._positive]))

    @property
    def positive_(self) -> Any:
        """The positive class of two; None for more classes."""
        return None if self._positive is None else self.classes_.tolist()[self._positive]

    def for_prevalence(self, shares: Mapping[Any, float]) -> DecisionRule:
        """The rule for other shares of the classes, such as ``{"fraud": 0.003}``; the others keep their proportions.

        Nothing is trained: the rows that the rule keeps are weighted. A promise does not carry over.
        """
        return self._with_shares(complete_shares(shares, self.shares_, self.classes_.tolist()), "passed")

    def adapt(self, scores: Any) -> DecisionRule:
        """The rule for the shares of the classes in these rows, which need no labels.

        It assumes that only the shares have changed: within each class, rows look as they did. Where they do not, the estimate
        is wrong and the rule can become worse than before, which no check of unlabelled rows can rule out.
        """
        new = self._read_new(scores)
        found = estimate_shares(self._rows, self.shares_, new, self.classes_.tolist())
        rule = self._with_shares(found.values, f"estimated from {len(new):,} rows", found.intervals)
        rule.share_intervals_ = found.intervals
        return rule

    def summary(self) -> str:
        """What the rule does, how well, and what it promises: a sentence a line."""
        lines = [repr(self)]
        if self.score_ is not None and self._decides():
            how = "on rows that did not set the offsets" if self.is_cross_fitted_ else "on the rows that set the offsets"
            lines.append(f"{name_of(self.metric)} is {self.score_:.4f} ({_ends(self.score_interval_)}) {how}.")
            if not self._constraints:
                gain = f"{self.gain_:+.4f} ({_ends(self.gain_interval_)}, p = {self.gain_p_:.2g})"
                lines.append(f"The largest score has {self.baseline_:.4f}: the rule gains {gain}.")
        lines += [one["sentence"] for one in self.constraints_]
        if self.reliability_ is not None and self.kind_ != "logit":
            what = "of the most probable class" if self._positive is None else repr(self.classes_.tolist()[self._positive])
            lines.append(self.reliability_.warning(what))
        return "\n".join(filter(None, [*lines, self.refusal_, *self.notes_]))

    def save(self, file: str | Path, *, overwrite: bool = False) -> None:
        """Write the rule to a JSON file, with the rows that it keeps for another prevalence."""
        _rule_file.save(self, Path(file), overwrite)

    def to_onnx(self, *, dtype: str = "float64") -> Any:
        """The rule as an ONNX model from ``scores`` (n, k), or (n, 1) if the fit had one column, to ``label`` (n,).

        It reads scores as :meth:`predict` does, but checks nothing. ``dtype`` is the type of ``scores``: "float32" fits the
        output of a network, and ``onnx.compose.merge_models`` puts the rule behind it. Needs ``metricfit[onnx]``.
        """
        return rule_to_onnx(self, dtype)

    @classmethod
    def load(cls, file: str | Path, *, metric: Any = None) -> Self:
        """Read a rule from a file. Pass a metric that is a function again; nothing but :meth:`for_prevalence` needs it."""
        return _rule_file.load(cls, Path(file), metric)

    def __repr__(self) -> str:
        goal = f"maximise {name_of(self.metric)}"
        if self.subject_to is not None:
            goal += f" subject to {' and '.join(map(str, read_constraints(self.subject_to)))}"
        if self.confidence is not None:
            goal += f" with confidence {self.confidence:g}"
        if not hasattr(self, "offsets_"):
            return f"DecisionRule, not fitted: {goal}."
        if not self._decides():
            return f"DecisionRule: {goal}; not attainable."
        labels = self.classes_.tolist()
        if self._positive is None and not self.offsets_.any():
            return f"DecisionRule: {goal}; answer the largest score."
        if self._positive is None:
            pairs = list(zip(labels, self.offsets_, strict=True))[:MOST_SHOWN]
            shifts = ", ".join(f"{label!r} {shift:+.3g}" for label, shift in pairs) + (
                ", ..." if len(labels) > MOST_SHOWN else ""
            )
            return f"DecisionRule: {goal}; answer the largest score after adding {shifts}."
        what = "score" if self.kind_ == "logit" else "probability"
        return f"DecisionRule: {goal}; answer {labels[self._positive]!r} where its {what} is above {self.threshold_:.4g}."

    def _check(self) -> tuple[Constraint, ...]:
        constraints = read_constraints(self.subject_to)
        if self.confidence is not None and not 0.0 < self.confidence < 1.0:
            raise ValueError(f"`confidence` should lie between 0 and 1, such as 0.9, got {self.confidence!r}.")
        if self.confidence is not None and not constraints:
            raise ValueError("`confidence` is that of a promise: pass `subject_to` too, such as 'precision >= 0.9'.")
        if self.fallback not in (None, "best"):
            raise ValueError(f"`fallback` should be None or 'best', got {self.fallback!r}.")
        return constraints

    def _read(self, scores: Any, y: ArrayLike, sample_weight: ArrayLike | None, groups: ArrayLike | None) -> Rows:
        read = read_scores(scores, self.kind)
        if self.kind == "auto":
            check_percentages(read)
        self.columns_ = tuple(map(str, getattr(scores, "columns", ())))
        labels, columns = match_columns(y, read.values.shape, self.classes, getattr(scores, "columns", ()))
        self.classes_, self.kind_, self.is_single_ = np.array(columns), read.kind, read.is_single
        counts = np.bincount(labels, minlength=len(columns))
        metric = resolve_metric(self.metric, None, self.pos_label, self.classes_, self.class_order, counts)
        self.metric_, self.notes_ = metric.metric, (f"Scores: {read.sentence}",)
        self._positive = self._find_positive(counts)
        weight = check_weight(sample_weight, len(labels))
        self.shares_ = np.bincount(labels, weight, len(columns)) / weight.sum()
        return Rows(self._in_order(read.values), labels, weight, _check_groups(groups, len(labels)))

    def _read_new(self, scores: Any) -> Floats:
        """New scores, read as those of the fit were."""
        kind = self.kind_ if self.kind == "auto" else self.kind
        if self.kind == "auto" and kind == "probability" and not self.is_single_:
            kind = "auto"  # probabilities or percentages: the sum of a row tells
        read = read_scores(scores, kind)
        if (read.kind, read.is_single, read.values.shape[1]) != (self.kind_, self.is_single_, len(self.classes_)):
            columns = "one column" if self.is_single_ else f"{len(self.classes_)} columns"
            raise ValueError(f"`scores` should be {_KINDS[self.kind_]} in {columns}, as in the fit, got {read.sentence}")
        return self._in_order(read.values)

    def _in_order(self, table: Floats) -> Floats:
        """Columns in the order of the classes: a single column is about the positive one."""
        return np.ascontiguousarray(table[:, ::-1]) if self.is_single_ and self._positive == 0 else table

    def _find_positive(self, counts: Ints) -> int | None:
        """The index of the positive class of two; a note says what was decided."""
        known = self.classes_.tolist()
        if len(known) != 2:
            return None
        if self.pos_label is not None:
            return known.index(self.pos_label)
        index, why = positive_of(self.classes_, counts)
        self.notes_ += (f"The positive class is {known[index]!r}, {why}.",)
        return index

    def _solve(self, rows: Rows) -> Solution:
        return solve(rows, self.metric_, self._constraints, self.confidence)

    def _decides(self) -> bool:
        return self.attainable_ or self.fallback is not None

    def _judge(self, rows: Rows) -> None:
        """The metric of rows that did not set the offsets, and its difference from that of the largest score."""
        guard, plain = Guard(rows.labels, rows.weight, rows.n_classes, self.metric_), rows.scores.argmax(1)
        predicted = _cross_fit(rows, self._solve, FOLDS if len(rows) <= MOST_SEARCHED else FEW_FOLDS)
        if rows.n_classes > 2 and not self._constraints and self._offsets_lose(rows, guard, plain, predicted):
            self.offsets_, predicted = np.zeros(rows.n_classes), plain
        self.is_cross_fitted_ = predicted is not None
        if predicted is None:
            predicted = largest_class(rows.scores, self.offsets_)
        known = rows.labels, rows.weight, rows.n_classes
        self.score_, self.baseline_ = guard.value(predicted), guard.value(plain)
        self.gain_ = self.score_ - self.baseline_
        self.score_interval_ = metric_interval(self.metric_, predicted, *known, rows.groups)
        self.gain_interval_ = gain_interval(self.metric_, predicted, plain, *known, rows.groups)
        error = (self.gain_interval_[1] - self.gain_interval_[0]) / (2.0 * Z)
        self.gain_p_ = float(2.0 * ndtr(-abs(self.gain_) / error)) if error > 0.0 else float(self.gain_ == 0.0)
        self.predicted_ = self.classes_[predicted]

    def _offsets_lose(self, rows: Rows, guard: Guard, plain: Ints, predicted: Ints | None) -> bool:
        """Whether the largest score decides better about rows that did not set the offsets; a note says so.

        A few rows for each of many classes are enough for this comparison, though not for a score.
        """
        if predicted is None:
            predicted = _cross_fit(rows, self._solve, FEW_FOLDS, least=1)
        if predicted is None or not np.any(predicted != plain):
            return False
        loss = guard.value(plain) - guard.value(predicted)
        if loss <= CLEARLY * guard.difference_error(predicted, plain):
            return False
        self.notes_ += (f"No offsets: on rows that did not set them they lost {loss:.4f} against the largest score.",)
        return True

    def _describe(self, one: ClassConstraint, rows: Rows, solution: Solution) -> dict[str, Any]:
        """A constraint's value on the rows of the fit, its interval, and what is promised."""
        constraint, predicted = one.constraint, largest_class(rows.scores, self.offsets_)
        value, interval = constraint_interval(one, predicted, rows.labels, rows.weight, rows.n_classes, rows.groups)
        found: dict[str, Any] = {"constraint": str(constraint), "value": value, "interval": interval}
        text = f"{constraint.name} is {value:.4f} ({_ends(interval)}) on the {len(rows):,} rows of the fit."
        promised = solution.limit if solution.refusal else constraint.limit
        if self.confidence is not None and self._decides() and promised is not None:
            found["promised"] = promised
            text += f" {promise_in_words(f'it is {constraint.sign} {promised:g}', self.confidence)}"
        return {**found, "sentence": text}

    def _threshold(self, difference: Any) -> Any:
        """A difference of scores, the positive class's less the other's, in the units that the scores came in."""
        return difference if self.kind_ == "logit" else expit(difference)

    def _with_shares(self, shares: Floats, origin: str, intervals: Floats | None = None) -> DecisionRule:
        """A rule whose offsets are solved again for these shares; the same offsets if they do not depend on them."""
        rule, rows = copy.copy(self), self._rows
        parts = [f"{label!r} {share:.3g}" for label, share in zip(self.classes_.tolist(), shares, strict=True)]
        if intervals is not None:
            parts = [f"{part} ({low:.3g} … {high:.3g})" for part, (low, high) in zip(parts, intervals, strict=True)]
        note = f"The shares of the classes, {origin}, are {', '.join(parts)}."
        if self._ignores_shares():
            rule.notes_ = (
                *self.notes_,
                f"{note} {name_of(self.metric)} does not depend on them, so the rule stays as it was.",
            )
            return rule
        weight = rows.weight * shares[rows.labels] / self.shares_[rows.labels]
        rule._rows, rule.shares_ = replace(rows, weight=weight / weight.mean()), shares
        rule.confidence = rule.score_ = rule.curve_ = None
        solution = rule._solve(rule._rows)
        rule.offsets_, rule.refusal_, rule.attainable_ = solution.offsets, solution.refusal, not solution.refusal
        rule.constraints_ = []
        lost = " The promise was about the old shares and does not hold for these." if self.confidence is not None else ""
        rule.notes_ = (*self.notes_, f"{note} The offsets were solved again.{lost}")
        return rule

    def _ignores_shares(self) -> bool:
        """Whether metric and constraints are about the rows within each class only."""
        within = ("recall", "fpr", "specificity")
        is_metric = isinstance(self.metric_, BalancedAccuracy | GMean)
        return is_metric and all(one.constraint.quantity in within for one in self._constraints)


def promise_in_words(what: str, confidence: float, rows: str = "such rows") -> str:
    """What a promise says, and what it does not say.

    >>> promise_in_words("it is >= 0.9", 0.8)[:75]
    'With probability 0.8 over the draw of such rows it is >= 0.9 in the populat'
    """
    return (
        f"With probability {confidence:g} over the draw of {rows} {what} in the population that they came from. This does "
        "not hold for each batch, nor for rows from another source."
    )


def _ends(interval: Interval) -> str:
    return f"{interval[0]:.4f} … {interval[1]:.4f}"


def _check_groups(groups: ArrayLike | None, n_rows: int) -> Ints | None:
    if groups is None:
        return None
    found = np.asarray(groups)
    if found.shape != (n_rows,):
        raise ValueError(f"`groups` should have shape ({n_rows},), got {found.shape}.")
    names, index = np.unique(found, return_inverse=True)
    if len(names) < 2:
        raise ValueError("`groups` should name at least two groups: one alone has no interval. Leave it out, or pass others.")
    return index


def _cross_fit(rows: Rows, solve_rows: Any, n_folds: int, least: int = 2 * FOLDS) -> Ints | None:
    """What rules of the other rows decide for each part of the rows.

    None for fewer than ``least`` rows of a class, or if such a rule refuses.
    """
    fold = (rank_in_class(rows.labels) if rows.groups is None else rows.groups) % n_folds
    counts = np.bincount(rows.labels)
    if counts[counts > 0].min() < least or len(np.unique(fold)) < n_folds:
        return None
    predicted = np.empty(len(rows), np.int64)
    for number in range(n_folds):
        solution = solve_rows(rows.take(fold != number))
        if solution.refusal:
            return None
        predicted[fold == number] = largest_class(rows.scores[fold == number], solution.offsets)
    return predicted
