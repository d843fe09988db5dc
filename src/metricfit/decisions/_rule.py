"""``DecisionRule``: from the scores of any classifier to answers, for a metric, constraints and a prevalence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from metricfit import metrics
from metricfit._score_names import column_names, in_order_of, match_names
from metricfit._typing import Floats, Ints
from metricfit.decisions import _rule_actions, _rule_file, _rule_labels, _rule_offsets
from metricfit.decisions._abstain import CoverageCurve
from metricfit.decisions._actions import Actions
from metricfit.decisions._constraints import ClassConstraint, Constraint, read_constraints
from metricfit.decisions._curve import Curve, Reliability
from metricfit.decisions._intervals import Judgement, constraint_interval, ends, gain_p_value
from metricfit.decisions._prevalence import complete_shares, estimate_shares
from metricfit.decisions._row_costs import Money, check_costs, has_row_costs
from metricfit.decisions._rows import Rows
from metricfit.decisions._scores import check_groups, check_percentages, check_weight, match_columns, read_scores
from metricfit.decisions._tuning import are_reversed
from metricfit.metrics import Metric, name_of, positive_of, resolve_metric

_KINDS = {"probability": "probabilities", "log_probability": "log-probabilities", "logit": "logits"}


class NotAttainableError(ValueError):
    """No decision keeps the constraints."""


class Way(Protocol):
    """How a fitted rule comes to its answers. These modules are ways: by offsets, by actions, by a threshold per label."""

    def predict(self, rule: DecisionRule, scores: Any, costs: Any) -> NDArray[Any]: ...

    def values(self, rule: DecisionRule, scores: Any, costs: Any) -> Floats:
        """What :meth:`predict` compares, a column per class."""

    def score(self, rule: DecisionRule, scores: Any, y: ArrayLike, weight: Floats, costs: Any) -> float: ...

    def describe(self, rule: DecisionRule) -> str:
        """The rule in a sentence, also before the fit."""

    def sentences(self, rule: DecisionRule) -> list[str]:
        """How good the answers are."""

    def to_onnx(self, rule: DecisionRule, dtype: str) -> Any: ...


class DecisionRule(ClassifierMixin, BaseEstimator):
    """Find the best decision for a metric from the scores of any classifier, subject to constraints.

    Fit it to scores of rows that the classifier has not seen. The rule adds an offset to the score of each class, and the
    largest sum decides; for two classes that is a threshold. It is a scikit-learn estimator whose features are scores, so it
    can be the last step of a Pipeline. The user guide explains constraints and promises (docs/guide/decide.md), and costs per
    row, budgets, abstention and several labels per row (docs/guide/actions.md).

    Parameters
    ----------
    metric : str, Metric or callable, default="accuracy"
        A name, a metric or a function of the confusion matrix. "recall@200" and "precision@200" evaluate the 200 best rows.
        ``Cost({("fraud", "ok"): "amount", ("ok", "fraud"): 5})`` reads costs from the column "amount" of ``costs``, and
        the rule predicts the class with the least expected cost.
    subject_to : str, Constraint or list of these, default=None
        Limits such as ``"precision >= 0.9 and predicted_rate <= 0.05"`` on "precision", "recall", "f1", "jaccard", "fpr",
        "specificity" or "predicted_rate" of a class (``recall[fraud]``), on "cost", or on any metric.
    confidence : float, default=None
        Promise, with this probability over the draw of the rows, that the limits hold in the population the rows came from, or
        refuse. The promise is not about single batches or rows from another source. None keeps the limits on the rows of the
        fit.
    pos_label : label, default=None
        The positive class, which a single column of scores is about. By default the larger of two numbers, or the rarer of two
        names.
    class_order : sequence of labels, default=None
        The order of the classes, for metrics that depend on it.
    classes : sequence of labels, default=None
        The labels of the columns of scores. By default they come from the column names of a data frame, such as "fraud",
        "p_fraud" or "proba_1". Otherwise they are 0 ... k - 1 or the sorted labels.
    kind : {"auto", "probability", "log_probability", "logit"}, default="auto"
        The kind of the scores.
    fallback : {"best"}, default=None
        Decide by the best limit that can be promised if the one in ``subject_to`` cannot. By default, :meth:`predict`
        then raises an error.
    budget : dict, default=None
        How often a class may be predicted in each call of :meth:`predict`: ``{"fraud": 200}`` rows, or a share,
        ``{"fraud": 0.02}``.
    abstain : str, default=None
        Limit on the error among answered rows, such as ``"error <= 0.02"``. The rule answers the most certain rows, as many as
        the limit allows. ``confidence`` promises the limit.
    abstain_cost : float, default=None
        Cost of leaving a row without an answer. A wrong answer costs 1, or what ``Cost`` defines.
    abstain_label : label, default=None
        The label that stands for no answer. By default -1 among numbers and "abstain" among names.

    Attributes
    ----------
    offsets_ : ndarray of shape (n_classes,)
        One number per class. ``threshold_`` is the same decision for two classes.
    threshold_range_ : tuple
        For two classes, from the lowest to the highest threshold that is not significantly worse than the best, at 95 %.
    score_, score_interval_ : float, tuple
        The cross-validated metric of the rule and its 95 % interval.
    baseline_, gain_, gain_interval_, gain_p_ : float, float, tuple, float
        The metric of the largest score, and the gain over it with interval and p-value.
    predicted_ : ndarray of shape (n_samples,)
        The labels predicted for the rows of the fit, each by a rule fitted to other rows if ``is_cross_fitted_``.
    baseline_predicted_ : ndarray of shape (n_samples,)
        The same by the largest score, within the budget.
    constraints_ : list of dict
        For each constraint its value on the rows of the fit, the interval, what is promised, and a sentence.
    attainable_, refusal_ : bool, str
        Whether the constraints can be kept, and if not, why.
    curve_ : Curve
        The metric and its parts over thresholds, for two classes.
    reliability_ : Reliability
        Probabilities against observed frequencies, in bins. :meth:`summary` warns if they are not calibrated.
    shares_ : ndarray of shape (n_classes,)
        The shares of the classes that the rule is for.
    columns_ : tuple of str
        The column names of the scores, if they came in a data frame.
    coverage_, coverage_curve_ : dict, CoverageCurve
        With abstention: the share of answered rows and their error, and the error over this share.
    money_ : Money
        With costs per row: what the predictions cost and save on held-out rows.
    notes_ : tuple of str
        The choices that the rule made for you, in sentences.

    See Also
    --------
    OffsetClassifier : Wraps a classifier and finds the rule by cross-validation.
    tune_offsets : Returns only the offsets.

    Examples
    --------
    >>> from metricfit import DecisionRule
    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.6, 0.9], [0, 0, 1, 1, 0, 1]
    >>> rule = DecisionRule("recall", subject_to="precision >= 0.7", kind="probability").fit(scores, y)
    >>> rule
    DecisionRule: maximise recall subject to precision >= 0.7; predict 1 where its probability is above 0.7101.
    >>> rule.predict([0.3, 0.7])
    array([0, 0])

    Predict class 1 at most once per batch, for the row with the largest gain:

    >>> DecisionRule("f1", budget={1: 1}, kind="probability").fit(scores, y).predict([0.7, 0.8, 0.9])
    array([0, 0, 1])
    """

    _repr_mimebundle_ = None  # notebooks show the sentence
    classes_: NDArray[Any]
    metric_: Metric
    offsets_: Floats
    shares_: Floats
    share_intervals_: Floats | None = None
    notes_: tuple[str, ...]
    score_: float | None = None
    threshold_range_: tuple[float, float] | None = None
    columns_: tuple[str, ...] = ()
    curve_: Curve | None = None
    reliability_: Reliability | None = None
    actions_: Actions | None = None  # how answers are found if not by offsets
    money_: Money | None = None
    coverage_: dict[str, Any] | None = None
    coverage_curve_: CoverageCurve | None = None
    has_lists_: bool | None = None  # of several labels per row: whether answers are lists of labels
    _about: Any = None  # the class that the name of a single column says
    _constraints: tuple[ClassConstraint, ...] = ()
    _rows: Rows | None = None  # of the fit, for another prevalence

    def __init__(
        self,
        metric: metrics.MetricLike = "accuracy",
        *,
        subject_to: str | Constraint | Iterable[str | Constraint] | None = None,
        confidence: float | None = None,
        pos_label: Any = None,
        class_order: Sequence[Any] | None = None,
        classes: Sequence[Any] | None = None,
        kind: str = "auto",
        fallback: str | None = None,
        budget: Mapping[Any, Any] | None = None,
        abstain: str | None = None,
        abstain_cost: float | None = None,
        abstain_label: Any = None,
    ) -> None:
        self.metric = metric
        self.subject_to = subject_to
        self.confidence = confidence
        self.pos_label = pos_label
        self.class_order = class_order
        self.classes = classes
        self.kind = kind
        self.fallback = fallback
        self.budget = budget
        self.abstain = abstain
        self.abstain_cost = abstain_cost
        self.abstain_label = abstain_label

    def fit(
        self,
        scores: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        costs: Any = None,
    ) -> Self:
        """Find the offsets.

        Parameters
        ----------
        scores : array-like, data frame or tensor of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Scores of rows that the classifier has not seen. A single column belongs to the positive class.
        y : array-like of shape (n_samples,)
            The labels. For several labels per row, a table of 0 and 1 of the shape of ``scores``, or a list of labels for each
            row: there is then one threshold per label, for "f1_macro", "f1_micro", "f1_samples", the same of Jaccard, or
            "subset_accuracy".
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group depend on each other, which widens the intervals.
        costs : data frame or dict of arrays, default=None
            The columns that a ``Cost`` names.

        Returns
        -------
        self : DecisionRule
            The fitted rule.
        """
        self.actions_ = self.money_ = self.coverage_ = self.coverage_curve_ = self.curve_ = self.reliability_ = None
        self.has_lists_ = self.share_intervals_ = self._rows = self.threshold_range_ = None
        self.attainable_, self.refusal_, self._constraints, self.constraints_ = True, "", (), list[dict[str, Any]]()
        check_costs(self.metric, costs)
        if _rule_labels.are_many(scores, y):
            index = None if groups is None else check_groups(groups, len(scores))
            _rule_labels.fit(self, scores, y, check_weight(sample_weight, len(scores)), index)
            return self
        self._check()
        rows = self._read(scores, y, sample_weight, groups)
        (_rule_actions if _rule_actions.is_needed(self) else _rule_offsets).fit(self, rows, costs)
        self.reliability_ = Reliability.of(rows, self._positive)
        return self

    def predict(self, scores: Any, *, costs: Any = None) -> NDArray[Any]:
        """Predict the labels.

        Parameters
        ----------
        scores : array-like, data frame or tensor
            Scores in the layout of the fit. The columns of a data frame are found by their names.
        costs : data frame or dict of arrays, default=None
            The columns that a ``Cost`` names, for these rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.

        Raises
        ------
        NotAttainableError
            If the constraints cannot be kept and ``fallback`` is None.
        """
        self.check_attainable()
        check_costs(self.metric, costs)
        return self._way.predict(self, scores, costs)

    def check_attainable(self) -> None:
        """Raise a :class:`NotAttainableError` if :meth:`predict` would."""
        check_is_fitted(self, "offsets_")
        if not self._decides():
            raise NotAttainableError(f"{self.refusal_} Pass fallback='best' to decide by the best that can be promised.")

    def score(self, scores: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, costs: Any = None) -> float:
        """Metric of the predictions for the rows with an answer; for costs per row, minus the mean cost.

        Parameters
        ----------
        scores : array-like, data frame or tensor
            Scores in the layout of the fit.
        y : array-like of shape (n_samples,)
            The true labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts.
        costs : data frame or dict of arrays, default=None
            The columns that a ``Cost`` names, for these rows.

        Returns
        -------
        float
            The metric; larger is better.
        """
        check_is_fitted(self, "offsets_")
        if (n_labels := y.shape[0] if hasattr(y, "shape") else len(y)) != len(scores):  # type: ignore[arg-type]
            raise ValueError(f"`y` should have {len(scores):,} labels to match the scores, got {n_labels:,}.")
        check_costs(self.metric, costs)
        return self._way.score(self, scores, y, check_weight(sample_weight, len(scores)), costs)

    def decision_function(self, scores: Any, *, costs: Any = None) -> Floats:
        """Sums of scores and offsets that :meth:`predict` decides by; for costs per row, the expected savings.

        Parameters
        ----------
        scores : array-like, data frame or tensor
            Scores in the layout of the fit.
        costs : data frame or dict of arrays, default=None
            The columns that a ``Cost`` names, for these rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples,)
            For two classes one column: the sum of ``classes_[1]`` minus that of ``classes_[0]``.
        """
        check_is_fitted(self, "offsets_")
        check_costs(self.metric, costs)
        found = self._way.values(self, scores, costs)
        return found[:, 1] - found[:, 0] if len(self.classes_) == 2 and self.has_lists_ is None else found

    def constraints_on(self, y: ArrayLike, predicted: ArrayLike) -> list[dict[str, Any]]:
        """Evaluate the constraints on decisions about labelled rows.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            The true labels.
        predicted : array-like of shape (n_samples,)
            The predicted labels.

        Returns
        -------
        list of dict
            For each constraint its ``"value"``, the ``"interval"``, which is exact for a share, and whether it is ``"kept"``.
        """
        decided, found = self._index_of(predicted), list[dict[str, Any]]()
        rows = Rows(np.eye(len(self.classes_))[decided], labels := self._index_of(y), np.ones(len(labels)))
        for one in self._constraints:
            value, interval = constraint_interval(one, decided, rows)
            kept = not one.violations(rows.confusion(decided)) > 0.0
            found.append({"constraint": str(one.constraint), "value": value, "interval": interval, "kept": kept})
        return found

    def answered(self, *columns: Any) -> tuple[NDArray[Any], ...]:
        """Keep the rows with an answer, for metrics that do not support abstention.

        ``accuracy_score(*rule.answered(y, predicted))`` is the accuracy of the answers.

        Parameters
        ----------
        *columns : array-like of shape (n_samples,)
            Any columns; the last one holds the predicted labels.

        Returns
        -------
        tuple of ndarray
            The columns without the rows that have no answer.
        """
        return _rule_actions.answered(self, *columns)

    @property
    def thresholds_(self) -> Floats:
        """For several labels per row, the probability or score above which each label is predicted."""
        if self.has_lists_ is None:
            raise AttributeError("A rule for one label per row has no thresholds_; see threshold_ and offsets_.")
        return _rule_labels.thresholds(self)

    @property
    def threshold_(self) -> float:
        """For two classes, the probability or score above which the positive class is predicted."""
        if self._positive is None:
            raise AttributeError(f"A rule for {len(self.classes_)} classes has no threshold_; see offsets_.")
        if self.actions_ is not None:
            raise AttributeError("This rule has no threshold_, because its predictions depend on more than the score.")
        return float(_rule_offsets.to_threshold(self, self.offsets_[1 - self._positive] - self.offsets_[self._positive]))

    @property
    def positive_(self) -> Any:
        """The positive class of two; None for more classes."""
        return None if self._positive is None else self.classes_.tolist()[self._positive]

    def for_prevalence(self, shares: Mapping[Any, float]) -> DecisionRule:
        """Compute the offsets for other shares of the classes.

        Nothing is retrained: the rows stored in the rule are reweighted. A promise does not carry over.

        Parameters
        ----------
        shares : dict
            Shares such as ``{"fraud": 0.003}``. Classes that you leave out keep their proportions.

        Returns
        -------
        DecisionRule
            The new rule.
        """
        rows = self._rows_for("for_prevalence")
        return _rule_offsets.with_shares(self, rows, complete_shares(shares, self.shares_, self.classes_.tolist()), "passed")

    def adapt(self, scores: Any) -> DecisionRule:
        """Adapt the rule to the shares of the classes in new rows without labels.

        This assumes that only the shares have changed and rows within each class look as before. If they do not, the estimate
        is wrong and the rule can get worse. No check of unlabelled rows can rule that out.

        Parameters
        ----------
        scores : array-like, data frame or tensor
            Scores of the new rows, in the layout of the fit.

        Returns
        -------
        DecisionRule
            The new rule, with the estimated ``shares_`` and their ``share_intervals_``.
        """
        rows, new = self._rows_for("adapt"), self._read_new(scores)
        shares, intervals = estimate_shares(rows, self.shares_, new, self.classes_.tolist())
        return _rule_offsets.with_shares(self, rows, shares, f"estimated from {len(new):,} rows", intervals)

    def summary(self) -> str:
        """Describe what the rule does, how good it is, and what it promises.

        Returns
        -------
        str
            One sentence per line.
        """
        check_is_fitted(self, "offsets_")
        lines = [repr(self), *self._way.sentences(self), *(one["sentence"] for one in self.constraints_)]
        if self.reliability_ is not None and self.kind_ != "logit":
            what = "of the most probable class" if self._positive is None else repr(self.positive_)
            lines.append(self.reliability_.warning(what))
        return "\n".join(dict.fromkeys(filter(None, [*lines, self.refusal_, *self.notes_])))

    def save(self, file: str | Path, *, overwrite: bool = False) -> None:
        """Write the rule to a JSON file, with the rows that it needs for another prevalence.

        Parameters
        ----------
        file : str or Path
            The file.
        overwrite : bool, default=False
            Replace an existing file.
        """
        _rule_file.save(self, Path(file), overwrite)

    def to_onnx(self, *, dtype: str = "float64") -> Any:
        """Convert the rule to an ONNX model from ``scores`` to ``label``.

        It reads scores as :meth:`predict` does, (n, k), or (n, 1) if the fit had one column, without checks. The output is
        (n,); for several labels per row it is 0 and 1, (n, k). Costs per row, budgets and abstention do not fit in a graph.
        Needs ``metricfit[onnx]``.

        Parameters
        ----------
        dtype : {"float64", "float32"}, default="float64"
            The type of ``scores``. "float32" fits the output of a network; ``onnx.compose.merge_models`` joins the two.

        Returns
        -------
        onnx.ModelProto
            The model.
        """
        self.check_attainable()
        return self._way.to_onnx(self, dtype)

    @classmethod
    def load(cls, file: str | Path, *, metric: Any = None) -> Self:
        """Read a rule that :meth:`save` wrote.

        Parameters
        ----------
        file : str or Path
            The file.
        metric : callable, default=None
            The metric, if it is a function. :meth:`predict` works without it.

        Returns
        -------
        DecisionRule
            The fitted rule.
        """
        return _rule_file.load(cls, Path(file), metric)

    def __repr__(self) -> str:
        return self._way.describe(self)

    @property
    def _way(self) -> Way:
        if self.has_lists_ is not None:
            return _rule_labels
        by_actions = self.actions_ is not None if hasattr(self, "offsets_") else _rule_actions.is_needed(self)
        return _rule_actions if by_actions else _rule_offsets

    def _check(self) -> None:
        constraints = read_constraints(self.subject_to)
        if self.confidence is not None and not (isinstance(self.confidence, Real) and 0.0 < self.confidence < 1.0):
            raise ValueError(f"`confidence` should lie between 0 and 1, such as 0.9, got {self.confidence!r}.")
        if self.confidence is not None and not constraints and self.abstain is None:
            raise ValueError("`confidence` applies to constraints: pass `subject_to` too, such as 'precision >= 0.9'.")
        if self.fallback not in (None, "best"):
            raise ValueError(f"`fallback` should be None or 'best', got {self.fallback!r}.")
        _rule_actions.check(self)

    def _read(self, scores: Any, y: ArrayLike, sample_weight: ArrayLike | None, groups: ArrayLike | None) -> Rows:
        read = read_scores(scores, self.kind)
        if self.kind == "auto":
            check_percentages(read)
        names = column_names(scores)
        labels, columns = match_columns(y, read.values.shape, self.classes, names)
        self.columns_, self.classes_ = tuple(map(str, names)), np.array(columns)
        self.kind_, self.is_single_ = read.kind, read.is_single
        self._about = self._named_class(names or [getattr(scores, "name", None)]) if read.is_single else None
        counts = np.bincount(labels, minlength=len(columns))
        self.metric_, self.notes_ = self._resolve(counts), (f"Scores: {read.sentence}", *read.hints())
        self._positive = self._find_positive(counts)
        if are_reversed(table := self._in_order(read.values), labels):
            self.notes_ += (
                f"The scores of {columns[1]!r} are lower in its own rows than in the others: check which class each column "
                "belongs to.",
            )
        weight = check_weight(sample_weight, len(labels))
        self.shares_ = np.bincount(labels, weight, len(columns)) / weight.sum()
        return Rows(table, labels, weight, None if groups is None else check_groups(groups, len(labels)))

    def _named_class(self, names: Sequence[Any]) -> Any:
        """The class that the name of a single column says it is about, if it does."""
        for name, label in match_names([name for name in names if isinstance(name, str)], self.classes_.tolist())[1].items():
            if self.pos_label not in (None, label):
                raise ValueError(
                    f"`pos_label` is {self.pos_label!r}, but the only column of scores, {name!r}, belongs to {label!r}. Pass "
                    f"a column of {self.pos_label!r}."
                )
            return label
        return None

    def _resolve(self, counts: Ints) -> Metric:
        if has_row_costs(self.metric):
            return self.metric  # by the names of the classes
        metric = self.metric if _rule_actions.rank_of(self) is None else str(self.metric).split("@")[0]
        positive = self.pos_label if self._about is None else self._about
        return resolve_metric(metric, None, positive, self.classes_, self.class_order, counts).metric

    def _read_new(self, scores: Any) -> Floats:
        """New scores, read as those of the fit were."""
        kind = self._known_kind
        if self.kind == "auto" and kind == "probability" and not self.is_single_:
            kind = "auto"  # probabilities or percentages: the sum of a row tells
        read = read_scores(in_order_of(scores, self.columns_, self.classes_.tolist()), kind)
        if (read.kind, read.is_single, read.values.shape[1]) != (self.kind_, self.is_single_, len(self.classes_)):
            columns = "one column" if self.is_single_ else f"{len(self.classes_)} columns"
            raise ValueError(f"`scores` should be {_KINDS[self.kind_]} in {columns}, as in the fit, got {read.sentence}")
        return self._in_order(read.values)

    @property
    def _known_kind(self) -> str:
        """The kind of scores that was passed, or else that of the fit."""
        return self.kind_ if self.kind == "auto" else self.kind

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
        if self._about is not None:
            self.notes_ += (f"The positive class is {self._about!r}, by the name of the column.",)
            return known.index(self._about)
        index, why = positive_of(self.classes_, counts)
        self.notes_ += (f"The positive class is {known[index]!r}, {why}.",)
        return index

    def _index_of(self, labels: ArrayLike) -> Ints:
        """The index of every label among the classes."""
        index, given = {label: place for place, label in enumerate(self.classes_.tolist())}, np.asarray(labels).tolist()
        if unknown := sorted(set(given) - set(index), key=str):
            raise ValueError(f"`y` should contain only classes of the rule, {list(index)}, got also {unknown[:5]}.")
        return np.array([index[label] for label in given], np.int64)

    def _rows_for(self, name: str) -> Rows:
        """The rows to solve offsets with again."""
        check_is_fitted(self, "offsets_")
        if self._rows is None:
            raise ValueError(
                f"`{name}` is for rules of offsets, with one label per row. Fit the rule again: to rows like the new "
                "ones, or with `sample_weight`, for each row the new share of its class divided by the old one."
            )
        return self._rows

    def _keep(self, found: Judgement) -> None:
        self.is_cross_fitted_, self.score_, self.score_interval_ = found.is_cross_fitted, found.score, found.score_interval
        self.baseline_, self.gain_, self.gain_interval_ = found.baseline, found.gain, found.gain_interval
        self.gain_p_ = gain_p_value(found.gain, found.gain_interval)

    def _score_in_words(self, where: str) -> str:
        return f"{name_of(self.metric)} is {self.score_:.4f} ({ends(self.score_interval_)}) {where}."

    def _baseline_in_words(self) -> str:
        gain = f"{self.gain_:+.4f} ({ends(self.gain_interval_)}, p = {self.gain_p_:.2g})"
        return f"{self.baseline_:.4f}; the rule gains {gain}"

    def _decides(self) -> bool:
        return self.attainable_ or self.fallback is not None
