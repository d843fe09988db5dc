"""``MetricClassifier``: the front door."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from metricfit import methods, metrics
from metricfit._checks import check_number, check_option
from metricfit._progress import Progress, bar_or_lines
from metricfit._table import Table
from metricfit._typing import Floats, Ints
from metricfit.estimators._decision import DecidesByScores
from metricfit.estimators._preprocess import as_frame, build_preprocessor, is_frame, is_missing, library_of
from metricfit.learners import Learner, LinearModel, TrainingRows, build_learner
from metricfit.metrics._resolve import resolve_metric
from metricfit.selection import Fitted, Task, fit_method, fit_start, hold_out

STRENGTHS = tuple(10.0**power for power in range(-3, 4))
SMOOTHINGS = ("auto", "normal", "softmax")


class MetricClassifier(DecidesByScores, BaseEstimator):
    """A classifier trained for the metric it is judged on.

    It trains logistic regression, the same with tuned offsets, and models for the metric itself. It compares their predictions
    for held-out rows, and chooses a model trained for the metric only where it beats the others by more than chance.
    ``candidates_`` lists every candidate, and why it was chosen or rejected.

    **Decisions and probabilities.** ``predict`` gives the best decision for the metric, ``predict_proba`` gives calibrated
    probabilities. The best decision is not always the most probable class, so ``predict_proba`` with ``argmax`` is not
    ``predict``. ``decision_function`` has the scores of ``predict``.

    Args:
        metric: a name (``metricfit.metrics.names()``), a metric such as ``metrics.FBeta([1, 1, 0.25])`` or
            ``metrics.Cost(matrix)``, or a function of the confusion matrix (rows are true classes).
        model: ``"linear"``, ``"mlp"``, an ``nn.Module``, or a function of (number of features, number of classes) that
            returns one.
        pos_label: the label that "f1", "precision" and the like are about, for two classes; by default the larger.
        average: ``"macro"``, ``"micro"`` or ``"weighted"``: "f1" with "macro" is "f1_macro".
        class_weight: None, ``"balanced"`` or a dictionary: weights of classes in cross-entropy and hinge, never in the metric.
        cv: number of folds, a splitter, or a list of splits.
        method: ``"auto"``, one method alone by its name (``metricfit.methods.names()``), or your own ``metricfit.Method``.
        smoothing: ``"auto"``, what the method says; or ``"normal"`` noise or ``"softmax"`` for any number of classes, in
            methods with normal noise (``leaky``, ``exact``).
        preprocess: ``"auto"`` takes arrays, sparse matrices and DataFrames with categories, dates, text and missing values; a
            scikit-learn transformer takes its place; None leaves a matrix of numbers as it is.
        C: inverse strength of the L2 penalty as in ``LogisticRegression``, or None to choose it by held-out cross-entropy.
        max_epochs, batch_size, learning_rate, patience, hidden_layer_sizes: for networks.
        warm_start: start from the weights of the last fit.
        n_jobs: number of folds in parallel. The result is the same, bit for bit, for any number.
        random_state: seed of the folds and of networks.
        verbose: 1 shows a bar on stderr, or lines where rich is not installed.

    >>> from sklearn.datasets import load_breast_cancer
    >>> features, target = load_breast_cancer(return_X_y=True)
    >>> classifier = MetricClassifier("mcc", random_state=0).fit(features, target)
    >>> classifier.score(features, target) > 0.95
    True
    """

    def __init__(
        self,
        metric: metrics.MetricLike = "accuracy",
        *,
        model: Any = "linear",
        pos_label: Any = None,
        average: str | None = None,
        class_weight: Any = None,
        cv: Any = 5,
        method: methods.MethodLike = "auto",
        smoothing: str = "auto",
        preprocess: Any = "auto",
        C: float | None = None,  # noqa: N803 - scikit-learn's name
        max_epochs: int = 200,
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        patience: int = 15,
        hidden_layer_sizes: tuple[int, ...] = (128, 64),
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.model = model
        self.pos_label = pos_label
        self.average = average
        self.class_weight = class_weight
        self.cv = cv
        self.method = method
        self.smoothing = smoothing
        self.preprocess = preprocess
        self.C = C
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.patience = patience
        self.hidden_layer_sizes = hidden_layer_sizes
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: N803
        """Fit to features (n, p), labels of any type (n,) and, if given, weights of rows (n,)."""
        warm = getattr(self, "model_", None) if self.warm_start else None
        rows, used = self._prepare(X, y, sample_weight)
        with bar_or_lines(str(self.metric)) if self.verbose else Progress() as progress:
            self._keep(fit_method(*self._task(rows, used, warm, progress), self._method()))
        return self

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """The scores that :meth:`predict` decides by, offsets included: (n, k), or (n,) for two classes."""
        scores, _ = self.scores_and_probabilities(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Calibrated probabilities (n, k). The largest is not always the class that :meth:`predict` returns."""
        return self.scores_and_probabilities(X)[1]

    def scores_and_probabilities(self, X: Any) -> tuple[Floats, Floats]:  # noqa: N803
        """Scores, whose largest decides :meth:`predict`, and :meth:`predict_proba`: (n, k) both, from one pass."""
        logits = self._logits(X)
        return logits + self.offsets_, softmax(logits / self.temperature_, 1)

    def summary(self) -> str:
        """One line: the chosen method, and its metric on held-out rows."""
        check_is_fitted(self)
        if not self.candidates_:
            return f"{self.chosen_} for {self.metric}"
        rows = {row["candidate"]: row for row in self.candidates_}
        line = f"{self.chosen_} for {self.metric}: {rows[self.chosen_]['metric']:.4f} on held-out rows"
        baseline = rows.get(methods.BASELINE)
        return (
            line
            if baseline is None or self.chosen_ == methods.BASELINE
            else line + f"; {methods.BASELINE} {baseline['metric']:.4f}"
        )

    def save(self, folder: str | Path) -> None:
        """Write the fitted model into a new folder, without pickle: see :meth:`load`."""
        from metricfit.estimators._storage import save

        check_is_fitted(self)
        save(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path, *, model: Any = None, metric: Any = None, trusted: tuple[str, ...] = ()) -> Self:
        """Read a model from a folder. Its predictions are the same to the last bit. Loading runs no code from the files.

        Pass what a file cannot hold as you passed it to the estimator: your own network as ``model``, a function as
        ``metric``, and the types of your own preprocessor as ``trusted``.
        """
        from metricfit.estimators._storage import load

        return load(cls, Path(folder), model, metric, trusted)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.preprocess is not None
        return tags

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[TrainingRows, NDArray[np.bool_]]:  # noqa: N803
        """Check, find classes and metric, preprocess. Returns the rows with a positive weight, and which rows these are."""
        methods.get(self.method)
        check_option(self.smoothing, "smoothing", SMOOTHINGS)
        for name in ("max_epochs", "batch_size", "patience"):
            check_number(getattr(self, name), name, 1)
        check_number(self.learning_rate, "learning_rate", 0.0, open_low=True)
        data, labels, weight, used = self._training_data(X, y, sample_weight)
        self.metric_ = resolve_metric(self.metric, self.average, self.pos_label, self.classes_)
        class_weight = self._class_weights(labels)
        features = self._fit_preprocessor(data, labels, weight)
        self.n_inputs_ = features.shape[1]
        return TrainingRows(features, labels, weight, class_weight), used

    def _task(
        self, rows: TrainingRows, used: NDArray[np.bool_], warm: Any = None, progress: Progress | None = None
    ) -> tuple[Task, Learner]:
        """The learner of ``model``, and its task with the splits that methods are judged by."""
        seed = check_random_state(self.random_state).randint(2**31)
        learner = build_learner(self.get_params(deep=False), self._strengths(), seed)
        splits = self._splits(rows.labels, used, seed) if learner.refits else hold_out(rows, seed)
        return Task(rows, self.metric_, splits, self.n_jobs, warm, seed, progress or Progress()), learner

    def _method(self) -> methods.Method | methods.Choice:
        return methods.get(self.method).with_smoothing(self.smoothing)

    def _training_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Ints, Floats, NDArray[np.bool_]]:  # noqa: N803
        """Checked features, labels 0 ... k - 1 and weights of the rows with a positive weight; and which rows these are."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        data = self._check_features(X, reset=True)
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity.")
        if y.dtype == object and any(is_missing(value) for value in y):
            raise ValueError("Input y contains NaN: every row needs a label. Drop these rows first.")
        check_consistent_length(data, y)
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, np.empty((len(y), 1)), dtype=np.float64, ensure_non_negative=True)
        used = weight > 0.0
        if not used.all():
            data, y, weight = _rows_of(data, used), y[used], weight[used]
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes in the data, got one class: "
                f"{self.classes_[0] if len(self.classes_) else 'none'!r}."
            )
        return data, labels.astype(np.int64), weight, used

    def _check_features(self, X: Any, reset: bool) -> Any:  # noqa: N803
        """A DataFrame unchanged, anything else as a matrix of floats."""
        if is_frame(X) and self._reads_frames(reset):
            validate_data(self, X, skip_check_array=True, reset=reset)
            if not len(X):
                raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
            return X
        if not reset and self.reads_frames_:
            validate_data(self, X, skip_check_array=True, reset=False)
            return as_frame(X, self.frame_library_, getattr(self, "feature_names_in_", None))
        finite: Any = "allow-nan" if self.preprocess is not None else True
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=finite, reset=reset)

    def _reads_frames(self, reset: bool) -> bool:
        return self.preprocess is not None if reset else self.reads_frames_

    def _fit_preprocessor(self, data: Any, labels: Ints, weight: Floats) -> Any:
        self.reads_frames_ = is_frame(data)
        self.frame_library_ = library_of(data) if self.reads_frames_ else ""
        if self.preprocess is None:
            self.preprocessor_ = None
            return data
        automatic = isinstance(self.preprocess, str)
        if automatic:
            check_option(self.preprocess, "preprocess", ("auto",))
        self.preprocessor_ = build_preprocessor(data) if automatic else clone(self.preprocess)
        weighted = {"scale__sample_weight": weight} if automatic and not self.reads_frames_ else {}
        with config_context(enable_metadata_routing=False, transform_output="default"):  # not the caller's
            return _as_matrix(self.preprocessor_.fit(data, labels, **weighted).transform(data))

    def _logits(self, X: Any) -> Floats:  # noqa: N803
        check_is_fitted(self)
        data = self._check_features(X, reset=False)
        if self.preprocessor_ is None:
            return self.model_.logits(data)
        with config_context(transform_output="default"):
            return self.model_.logits(_as_matrix(self.preprocessor_.transform(data)))

    def _class_weights(self, labels: Ints) -> Floats:
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        given = self.class_weight
        if isinstance(given, dict):
            unknown = [label for label in given if label not in self.classes_]
            if unknown:
                raise ValueError(f"`class_weight` should name classes of y, got {unknown[0]!r}, which is not one of them.")
        return compute_class_weight(given, classes=self.classes_, y=self.classes_[labels])

    def _strengths(self) -> tuple[float, ...]:
        if self.C is None:
            return STRENGTHS
        if not self.C > 0.0:
            raise ValueError(f"`C` should be positive, got {self.C!r}.")
        return (float(self.C),)

    def _splits(self, labels: Ints, used: NDArray[np.bool_], seed: int) -> list[tuple[Any, Any]]:
        """Folds; none for a single method with a given C, where there is nothing to choose, and for too few rows."""
        if self.C is not None and isinstance(methods.get(self.method), methods.Method):
            return []
        if not isinstance(self.cv, int | np.integer):
            given = np.zeros(len(used), np.int64)
            given[used] = labels
            place = np.cumsum(used) - 1
            splits = check_cv(self.cv, given, classifier=True).split(np.empty((len(given), 1)), given)
            indices = [(_index(train, len(used)), _index(test, len(used))) for train, test in splits]
            return [(place[train[used[train]]], place[test[used[test]]]) for train, test in indices]
        if self.cv < 2:
            raise ValueError(f"`cv` should be at least 2 folds, a splitter or a list of splits, got {self.cv}.")
        counts = np.bincount(labels)
        n_folds = min(int(self.cv), int(np.sort(counts)[-2]))
        if n_folds < 2:
            warnings.warn(f"{len(labels)} rows are too few to hold any out: candidates are not compared.", stacklevel=3)
            return []
        if counts.min() < self.cv:
            rare = self.classes_[counts.argmin()]
            warnings.warn(
                f"Class {rare!r} has {counts.min()} rows for {self.cv} folds: using {n_folds} folds. A class that is "
                "missing in a training fold counts as missed in its test fold.",
                stacklevel=3,
            )
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")
            return list(folds.split(np.empty((len(labels), 1)), labels))

    def _keep(self, fitted: Fitted) -> None:
        self.model_ = fitted.model
        self.offsets_ = fitted.model.offsets
        self.temperature_ = fitted.temperature
        self.candidates_ = Table(fitted.candidates)
        self.history_ = Table(fitted.history)
        self.chosen_, self.method_ = fitted.method.name, fitted.method
        self.n_iter_ = max(len(fitted.history), 1)
        self.C_ = fitted.strength
        for name in ("coef_", "intercept_"):
            self.__dict__.pop(name, None)  # left by an earlier fit with another model
        if isinstance(fitted.model, LinearModel):
            self.coef_, self.intercept_ = fitted.model.weight.T, fitted.model.intercept


def fit_each(
    classifier: MetricClassifier, data: Any, y: Any, wanted: Iterable[methods.Method | methods.Choice]
) -> Iterator[tuple[MetricClassifier, float]]:
    """The classifier fitted by one method after the other, and the seconds that each would take alone.

    Preprocessing is shared, and so are the models of cross-entropy where the learner allows it.
    """
    begin = time.perf_counter()
    task, learner = classifier._task(*classifier._prepare(data, y, None))
    with learner.session():
        start = fit_start(task, learner) if learner.refits else None
    shared = time.perf_counter() - begin
    for method in wanted:
        begin = time.perf_counter()
        one = copy.copy(classifier).set_params(method=method)
        one._keep(fit_method(task, learner, one._method(), start))
        yield one, shared + time.perf_counter() - begin


def _index(rows: Any, n_rows: int) -> Ints:
    """Row numbers, from row numbers or a mask."""
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype == bool and len(rows) == n_rows else rows.astype(np.int64)


def _as_matrix(features: Any) -> Any:
    """Float64, dense or CSR, from whatever a transformer returns."""
    return check_array(features, accept_sparse="csr", dtype=np.float64)


def _rows_of(data: Any, used: NDArray[np.bool_]) -> Any:
    from sklearn.utils import _safe_indexing

    return _safe_indexing(data, np.flatnonzero(used))
