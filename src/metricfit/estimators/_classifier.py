"""``MetricClassifier``: the front door."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from metricfit import methods, metrics
from metricfit._checks import check_option
from metricfit._progress import Progress, bar_or_lines
from metricfit._table import Table
from metricfit._typing import Floats, Ints
from metricfit.decisions import Constraint, has_row_costs, log_probabilities
from metricfit.estimators._base import DecisionMixin, check_target, check_weight, class_weights, fit_costs, weight_notes
from metricfit.estimators._folds import FitData, Part, folds_of_cv
from metricfit.estimators._forms import FormReader, check_computed, check_float32
from metricfit.estimators._kinds import check_size
from metricfit.estimators._preprocess import as_frame, is_frame, library_of
from metricfit.learners import (
    COLUMNS,
    DataFacts,
    Deadline,
    Learner,
    LinearLearner,
    LinearModel,
    MetricLearner,
    Task,
    TrainingRows,
    build_learner,
    stratified_folds,
    take_rows,
    takes_gaps,
    takes_sparse,
)
from metricfit.metrics import order_of
from metricfit.selection import Fitted, fit_method, mean_of_fits
from metricfit.smoothing import Normal, Softmax

SMOOTHINGS = ("auto", "normal", "softmax")


class MetricClassifier(DecisionMixin, BaseEstimator):
    """Classifier trained for the metric it is judged on.

    By default it fits an ensemble of logistic regression, boosted trees and extremely randomised trees. Offsets then move the
    decision to maximise the metric on held-out rows. The user guide (docs/guide/classifier.md) describes the models, how they
    are chosen, and the constraints.

    ``predict`` returns the best decision for the metric, ``predict_proba`` calibrated probabilities. The best decision is not
    always the most probable class. ``decision_function`` returns the scores that ``predict`` compares.

    Parameters
    ----------
    metric : str, Metric or callable, default="accuracy"
        A name (``metricfit.metrics.names()``), a metric such as ``metrics.FBeta([1, 1, 0.25])`` or ``metrics.Cost(matrix)``,
        or a function of the confusion matrix (rows are true classes).
    model : str, estimator, Network, nn.Module, callable or list, default="auto"
        "auto", "linear", "boosting", "extra_trees", "ensemble", "mlp"; a scikit-learn classifier or Pipeline; a
        :class:`metricfit.Network`, a module, or a function of (number of features, number of classes) that returns a module;
        or a list of these, which becomes an ensemble. "auto" is the ensemble of the members that support the data.
    pos_label : label, default=None
        The positive class for "f1", "precision" and similar metrics. By default the larger of two numbers, or the rarer of
        two names.
    class_order : sequence of labels, default=None
        The order of the classes, for metrics that depend on it: "quadratic_kappa", ``Cost`` with a matrix, one beta per class,
        functions. Numbers and ordered categoricals have an order; names need this argument.
    average : {"macro", "micro", "weighted"}, default=None
        "f1" with "macro" is "f1_macro".
    subject_to : str, Constraint or list of Constraint, default=None
        Limits on the decision, such as ``"precision >= 0.9"``. The fitted :class:`metricfit.DecisionRule` is ``rule_``.
    confidence : float, default=None
        Promise, with this probability, that the limits hold in the population the rows came from.
    calibration : float, default=None
        Share of the rows that are kept out of training to set the rule, which makes the promise exact. None sets the rule
        out of fold: a fit takes ``cv`` times as long, and the promise is approximate.
    fallback : {"best"}, default=None
        Decide by the best limit that can be promised if the one in ``subject_to`` cannot. By default, ``predict`` then raises
        a ``NotAttainableError``.
    class_weight : "balanced" or dict, default=None
        Weights of the classes in cross-entropy and hinge, never in the metric.
    cv : int, splitter or list of splits, default=5
        The folds that choose between candidates and tune the offsets.
    time_limit : float, default=None
        Seconds that a fit may take, such as 60, for the ensemble. It then has more members, which are trained again on other
        splits while the time lasts. ``notes_`` says what was trained.
    method : str or Method, default="auto"
        A method by name (``metricfit.methods.names()``) or a :class:`metricfit.methods.Method`. "noisy_labels" is for networks
        whose labels are partly wrong.
    smoothing : {"auto", "normal", "softmax"}, default="auto"
        Replaces the noise of methods that use normal noise ("direct", "exact").
    preprocess : "auto", transformer or None, default="auto"
        "auto" accepts arrays, sparse matrices and data frames with categories, dates, text and missing values. None passes a
        numeric matrix on unchanged.
    C : float, default=None
        Inverse strength of the linear model's L2 penalty, as in ``LogisticRegression``. None chooses it by cross-validation.
    warm_start : bool, default=False
        Start from the weights of the last fit. Keep ``random_state`` fixed, or a network may have seen its held-out rows.
    n_jobs : int, default=None
        Number of folds in parallel; it does not change the result. None means 1 unless ``joblib.parallel_config`` says
        otherwise.
    random_state : int or RandomState, default=None
        Seed of the folds, trees and networks.
    verbose : int, default=0
        1 shows a progress bar on stderr.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The sorted labels.
    chosen_, method_, learner_ : str, Method, str
        The chosen method, by name and as an object, and the model by name.
    candidates_ : table
        Every candidate with its metric on held-out rows.
    offsets_ : ndarray of shape (n_classes,)
        Added to the scores in :meth:`predict`. For two classes, ``threshold_`` is the same
        decision: the probability of ``positive_``, the positive class, above which it is predicted.
    temperature_ : float
        Divides the scores in :meth:`predict_proba`.
    rule_ : DecisionRule
        Only with ``subject_to`` or costs per row.
    notes_ : tuple of str
        The choices that were made for you, in sentences.

    See Also
    --------
    OffsetClassifier : Tunes the decision of a classifier and leaves its training alone.
    DecisionRule : Decides by scores that you already have.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from metricfit import MetricClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> classifier = MetricClassifier("mcc", model="linear", random_state=0).fit(X_train, y_train)
    >>> classifier.chosen_
    'cross_entropy'
    >>> round(classifier.score(X_test, y_test), 2)
    0.91
    """

    def __init__(
        self,
        metric: metrics.MetricLike = "accuracy",
        *,
        model: Any = "auto",
        pos_label: Any = None,
        class_order: Sequence[Any] | None = None,
        average: str | None = None,
        subject_to: str | Constraint | Iterable[Constraint] | None = None,
        confidence: float | None = None,
        calibration: float | None = None,
        fallback: str | None = None,
        class_weight: Any = None,
        cv: Any = 5,
        time_limit: float | None = None,
        method: methods.MethodLike = "auto",
        smoothing: str = "auto",
        preprocess: Any = "auto",
        C: float | None = None,  # noqa: N803 - scikit-learn's name
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.model = model
        self.pos_label = pos_label
        self.class_order = class_order
        self.average = average
        self.subject_to = subject_to
        self.confidence = confidence
        self.calibration = calibration
        self.fallback = fallback
        self.class_weight = class_weight
        self.cv = cv
        self.time_limit = time_limit
        self.method = method
        self.smoothing = smoothing
        self.preprocess = preprocess
        self.C = C
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,  # noqa: N803
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        costs: Any = None,
    ) -> Self:
        """Fit the model and its decision.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Labels of one type: numbers, texts or booleans.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in training and in the metric. Weights below 1e-15 of the largest count as 1e-15 of it; zeros
            drop the row.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group stay in one fold.
        costs : data frame or dict of arrays, default=None
            The columns that a ``Cost`` names, for these rows.

        Returns
        -------
        self : MetricClassifier
            The fitted classifier.
        """
        warm = getattr(self, "model_", None) if self.warm_start else None
        begin = time.monotonic()
        table = self._read(X, y, sample_weight, groups, costs)
        parts = self._parts(table)
        learner = self._learner(table, parts)
        with bar_or_lines(metrics.name_of(self.metric)) if self.verbose else Progress() as progress:
            all_rows = self._fit_forms(table, parts, learner.forms())
            fitted = list[Fitted]()
            for part, rows in zip(parts, all_rows, strict=True):
                task = self._task(table.take(part), learner, rows, warm, progress)
                task = replace(task, deadline=self._deadline(begin, len(parts) - len(fitted)))
                fitted.append(fit_method(task, learner, self._method()))
            self._keep_parts(fitted, learner, table, parts)
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Calibrated probabilities; the largest is not always the class that :meth:`predict` returns.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The features.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column per class, in the order of ``classes_``.
        """
        return self._scores_and_probabilities(X)[1]

    def scores_and_probabilities(self, X: Any) -> tuple[Floats, Floats]:  # noqa: N803
        """Scores and probabilities from one pass over the rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The features.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)
            The largest score of a row decides :meth:`predict`.
        probabilities : ndarray of shape (n_samples, n_classes)
            The result of :meth:`predict_proba`.

        Raises
        ------
        ValueError
            If a number is so far from those of the fit that the model has no finite score for it. The message names the row.
        """
        if has_row_costs(self.metric):
            raise ValueError("Costs per row need more than scores: call predict(X, costs=frame).")
        return self._scores_and_probabilities(X)

    def _scores_and_probabilities(self, X: Any) -> tuple[Floats, Floats]:  # noqa: N803
        check_is_fitted(self)
        data, reader = self._check_features(X, reset=False), self.preprocessor_
        if hasattr(self, "rule_") and reader.memory is None:
            reader = reader.remembering()  # every fold model reads the same forms
        with np.errstate(over="ignore", invalid="ignore"):  # rows without a number are an error below
            try:
                logits = self.model_.logits(reader.read(data, self.forms_))
            except ValueError as error:
                if "float32" in str(error):
                    check_float32(self.preprocessor_, data)
                raise
            scores, probabilities = logits + self.offsets_, softmax(logits / self.temperature_, 1)
            if hasattr(self, "rule_"):
                scores = log_probabilities(probabilities) + self.rule_.offsets_
        check_computed(scores, probabilities, self.preprocessor_, data, self.forms_)
        return scores, probabilities

    def _scores(self, X: Any) -> Floats:  # noqa: N803
        return self.scores_and_probabilities(X)[0]

    def _rule_input(self, X: Any) -> Floats:  # noqa: N803
        return self.predict_proba(X)

    def summary(self) -> str:
        """Describe the fit: the model, the chosen method, its metric on held-out rows, and the automatic decisions.

        Returns
        -------
        str
            One line for the fit, or the sentences of ``rule_``, then one line per note.
        """
        check_is_fitted(self)
        is_cost = isinstance(self.metric_, metrics.Cost)  # which people read as a positive number
        line = f"{self.learner_}, {self.chosen_} for {'cost per case' if is_cost else metrics.name_of(self.metric)}"
        if hasattr(self, "rule_"):
            line += f"\n{self.rule_.summary()}"
        elif self.candidates_:
            rows = {row["candidate"]: -row["metric"] if is_cost else row["metric"] for row in self.candidates_}
            others = "; ".join(f"{name} {value:.4f}" for name, value in rows.items() if name != self.chosen_)
            line += f": {rows[self.chosen_]:.4f} on held-out rows ({others})"
        return "\n".join([line, *self.notes_])

    def save(self, folder: str | Path) -> None:
        """Write the fitted model to a new folder, without pickle.

        Parameters
        ----------
        folder : str or Path
            The folder to create. :meth:`load` reads it.

        Notes
        -----
        skops writes estimators and transformers that you passed: ``pip install 'metricfit[own]'``.
        """
        from metricfit.estimators._storage import save

        check_is_fitted(self)
        save(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path, *, model: Any = None, metric: Any = None, trusted: tuple[str, ...] = ()) -> Self:
        """Read a model that :meth:`save` wrote; its predictions are the same, bit for bit.

        Models that have a name ("linear", "ensemble", ...) run no code from the folder. skops builds estimators and
        transformers that you passed.

        Parameters
        ----------
        folder : str or Path
            The folder.
        model : estimator, nn.Module, callable or list, default=None
            A custom module, or the list that contains it, as you passed it to the estimator. A file cannot store it. Pass
            your estimator here to fit the loaded classifier again.
        metric : callable, default=None
            The metric, if it is a function.
        trusted : tuple of str, default=()
            Types that skops does not consider safe. The error lists them.

        Returns
        -------
        MetricClassifier
            The fitted classifier.
        """
        from metricfit.estimators._storage import load

        return load(cls, Path(folder), model, metric, trusted)

    def to_onnx(self, *, dtype: str = "float64") -> Any:
        """Convert the classifier to an ONNX model with the outputs ``label`` (n,) and ``probabilities`` (n, k).

        Its input is ``X`` (n, p), or one input (n, 1) per column of a data frame: numbers, and texts for categories, where an
        empty text is a missing value. All arithmetic is in float64. It works for linear models, trees, ensembles of them, and
        what skl2onnx converts (docs/production.md). Needs ``metricfit[onnx]``.

        Parameters
        ----------
        dtype : {"float64", "float32"}, default="float64"
            The type of the inputs.

        Returns
        -------
        onnx.ModelProto
            The model.
        """
        from metricfit.estimators._onnx import classifier_to_onnx

        check_is_fitted(self)
        return classifier_to_onnx(self, dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self.model)
        tags.input_tags.allow_nan = self._takes_gaps()
        return tags

    def _read(self, X: Any, y: Any, sample_weight: Any, groups: Any = None, costs: Any = None) -> FitData:  # noqa: N803
        """Check, and find classes and metric."""
        methods.get(self.method)
        self._check_options()
        check_option(self.smoothing, "smoothing", SMOOTHINGS)
        order = order_of(y) if self.class_order is None else self.class_order
        table = self._table(*self._training_data(X, y, sample_weight), order)
        return table.with_columns(groups, fit_costs(self.metric, costs, X, len(table.used)))

    def _table(self, data: Any, labels: Any, weight: Any, used: NDArray[np.bool_], order: Sequence[Any] | None) -> FitData:
        seed = check_random_state(self.random_state).randint(2**31)
        of_classes = class_weights(self.class_weight, self.classes_, labels)
        self._find_metric(labels, order)
        return FitData(data, labels, weight, self.classes_, of_classes, used, seed, order, self.cv)

    def _check_options(self) -> None:
        self._check_constraints()
        if self._needs_rule() and self.warm_start:
            why = "the last model may know the rows that set the rule"
            raise ValueError(f"`warm_start` should stay False with `subject_to` or costs per row: {why}.")
        if hasattr(self.preprocess, "fit") and self.confidence is not None and self.calibration is None:
            raise ValueError(
                "`preprocess` is fitted to all rows, also to those that set the rule. For a promise pass calibration=0.25, or "
                "put the transformer into a Pipeline with your model."
            )

    def _parts(self, table: FitData) -> list[Part]:
        """The rows that models are trained on, and those that set the rule: all and none without constraints."""
        if not self._needs_rule():
            return [Part(None, np.empty(0, np.int64), table.cv)]
        return table.parts(self.calibration, self.confidence is not None)

    def _learner(self, table: FitData, parts: Sequence[Part]) -> Learner:
        """One learner that can take every part."""
        least = min((table.take(part) for part in parts), key=lambda one: len(one.labels))
        given = DataFacts(len(least.labels), len(self.classes_), issparse(least.data), folds_of_cv(least.cv, least.labels))
        return build_learner(self.get_params(deep=False), self._method(), table.seed, given)

    def _fit_forms(self, table: FitData, parts: Sequence[Part], forms: set[str]) -> Iterator[TrainingRows]:
        """Fit the preprocessing, which knows no labels, and read the rows of each part in these forms."""
        whole = table if len(parts) > 1 else table.take(parts[0])
        self._fit_preprocessor(whole.data, whole.labels, whole.weight, forms)
        for part in parts:
            one = table.take(part)
            features = self.preprocessor_.read(one.data, forms)
            yield TrainingRows(features, one.labels, one.weight, table.class_weight, self.preprocessor_.n_codes)

    def _fit_preprocessor(self, data: Any, labels: Ints, weight: Floats, forms: set[str]) -> None:
        self.reads_frames_ = is_frame(data)
        self.frame_library_ = library_of(data) if self.reads_frames_ else ""
        self.preprocessor_ = FormReader.fit(data, labels, weight, self.preprocess, forms)
        first = _safe_indexing(data, [0])
        self.n_inputs_ = {form: int(self.preprocessor_.read(first, {form}).shape[1]) for form in sorted(forms)}

    def _task(
        self, table: FitData, learner: Learner, rows: TrainingRows, warm: Any = None, progress: Progress | None = None
    ) -> Task:
        """The rows, and the splits that methods are judged by."""
        method = self._method()
        chooses = isinstance(method, methods.Choice) or bool(method.margins)
        if isinstance(learner, MetricLearner) and not learner.refits:
            splits = table.network_splits(learner.n_members)
        elif self.C is not None and isinstance(learner, LinearLearner) and not chooses:
            splits = []  # nothing is left for held-out rows to choose
        else:
            splits = table.splits()
        given_by_user = not isinstance(table.cv, int | np.integer)
        metric = metrics.Accuracy() if has_row_costs(self.metric) else self.metric_  # costs per row are for the rule
        task = Task(rows, metric, splits, self.n_jobs, warm, table.seed, progress or Progress(), given_by_user)
        if given_by_user or not splits:
            return task
        return replace(task, resplit=lambda repeat: stratified_folds(table.labels, len(splits), table.seed + repeat))

    def _deadline(self, begin: float, n_left: int) -> Deadline | None:
        """When the fit of the next of so many parts has to end, if there is a limit; all of them began at ``begin``."""
        now = time.monotonic()
        return None if self.time_limit is None else Deadline(now + (begin + self.time_limit - now) / n_left)

    def _method(self) -> methods.Method | methods.Choice:
        """Where a rule decides, the automatic method is cross-entropy, because it decides by probabilities."""
        plain = self._needs_rule() and isinstance(self.method, str) and self.method == methods.AUTO
        return _with_noise(methods.get(methods.CROSS_ENTROPY if plain else self.method), self.smoothing)

    def _training_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Ints, Floats, NDArray[np.bool_]]:  # noqa: N803
        """Checked features, labels 0 ... k - 1 and weights of the rows with a positive weight; and which rows these are."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        data = self._check_features(X, reset=True)
        y = check_target(y, warn=True)
        check_consistent_length(data, y)
        weight = check_weight(sample_weight, len(y))
        used = weight > 0.0
        if not used.all():
            data, y, weight = _safe_indexing(data, np.flatnonzero(used)), y[used], weight[used]
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes in the data, got one class: {self.classes_.tolist()[0]!r}."
            )
        return data, labels.astype(np.int64), weight, used

    def _check_features(self, X: Any, reset: bool) -> Any:  # noqa: N803
        """A DataFrame unchanged, anything else as a matrix of floats."""
        if is_frame(X) and (self.preprocess is not None if reset else self.reads_frames_):
            validate_data(self, X, skip_check_array=True, reset=reset)
            for count, what in zip(X.shape, ("sample", "feature"), strict=True):
                if not count:
                    raise ValueError(f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required.")
            if not reset and not hasattr(self, "feature_names_in_"):  # scikit-learn compares names that are texts only
                self.preprocessor_.check_names(X)
            return X
        if not reset and self.reads_frames_:
            validate_data(self, X, skip_check_array=True, reset=False)
            return as_frame(X, self.frame_library_, getattr(self, "feature_names_in_", None))
        trees = not reset and self.forms_ == [COLUMNS]  # also where the user's own came back from a file in words
        finite: Any = "allow-nan" if trees or self._takes_gaps() else True
        data = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=finite, reset=reset)
        check_size(data, getattr(self, "feature_names_in_", None))
        return data

    def _takes_gaps(self) -> bool:
        return self.preprocess is not None or takes_gaps(self.model)

    def _keep_parts(self, fitted: Sequence[Fitted], learner: Learner, table: FitData, parts: Sequence[Part]) -> None:
        """Keep the model, or the mean of the parts' models, and set the rule by the rows that these have not seen."""
        together = mean_of_fits(fitted)
        self._keep(together, learner)
        self.notes_ += weight_notes(table.weight)
        if not self._needs_rule():
            return
        scores = []
        for one, part in zip(fitted, parts, strict=True):
            features = self.preprocessor_.read(take_rows(table.data, part.held_out), self.forms_)
            scores.append(softmax(one.model.logits(features) / together.temperature, 1))
        rows = np.concatenate([part.held_out for part in parts])
        known = table.labels[rows], table.weight[rows], table.order, "probability", len(parts)
        costs = {name: column[rows] for name, column in table.costs.items()}
        self._fit_rule(np.concatenate(scores), *known, None if table.groups is None else table.groups[rows], costs)
        self.model_ = together.model.with_offsets(together.temperature * self.rule_.offsets_)
        self.offsets_ = self.model_.offsets

    def _keep(self, fitted: Fitted, learner: Learner) -> None:
        self.learner_, self.forms_ = learner.name, sorted(learner.forms())
        self.notes_ = (*self._decisions(), *learner.notes, *fitted.notes)
        self.model_ = fitted.model
        self.offsets_ = fitted.model.offsets
        self.temperature_ = fitted.temperature
        self.candidates_ = Table(fitted.candidates)
        self.history_ = Table(fitted.history)
        self.chosen_, self.method_ = fitted.method.name, fitted.method
        self.n_iter_ = max(len(fitted.history), 1)
        self.C_ = fitted.C
        for name in ("coef_", "intercept_", "rule_"):
            self.__dict__.pop(name, None)  # left by an earlier fit with another model
        if isinstance(fitted.model, LinearModel):
            self.coef_, self.intercept_ = fitted.model.weight.T, fitted.model.intercept


def _with_noise(method: methods.Method | methods.Choice, kind: str) -> methods.Method | methods.Choice:
    """With "normal" or "softmax" noise for any number of classes, where the noise was normal; "auto" changes nothing."""
    if isinstance(method, methods.Choice):
        return replace(method, candidates=tuple(_change_noise(one, kind) for one in method.candidates))
    return _change_noise(method, kind)


def _change_noise(method: methods.Method, kind: str) -> methods.Method:
    if kind == "auto" or type(method.smoothing) is not Normal:
        return method
    smoothing = method.smoothing if kind == "normal" else method.many_smoothing or Softmax()
    return replace(method, smoothing=smoothing, many_smoothing=None)
