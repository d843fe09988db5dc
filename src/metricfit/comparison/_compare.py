"""Cross-validate every model and method on the same splits; preprocessing and tuning see training rows only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import column_or_1d

from metricfit._checks import check_number
from metricfit._parallel import count_workers
from metricfit._progress import Progress
from metricfit._typing import Ints
from metricfit.comparison._contenders import CONSTANT_NAME, DEFAULT_MODELS, REFERENCE, TIMED, list_contenders
from metricfit.comparison._features import strongest_effects
from metricfit.comparison._limits import Limits
from metricfit.comparison._result import Comparison, collect_results, score_statistics
from metricfit.comparison._run import Job, Outcomes, announce_time, run_splits
from metricfit.comparison._splits import (
    check_training_classes,
    first_splits,
    plan_folds,
    plan_groups,
    plan_test_set,
    plan_time,
)
from metricfit.comparison._statistics import margin_in_units
from metricfit.comparison._verdict import list_warnings
from metricfit.comparison._words import join_labels
from metricfit.decisions import Constraint
from metricfit.estimators import MetricClassifier, check_label_types, check_limits, check_target
from metricfit.learners import DataFacts, members_left_out
from metricfit.methods import MethodLike
from metricfit.metrics import MetricLike, name_of, order_of, resolve_metric

TestSet = tuple[Any, ArrayLike]  # features and labels


class InterruptedComparison(KeyboardInterrupt):
    """Ctrl-C after some splits; ``partial`` is the comparison of these."""

    def __init__(self, partial: Comparison, n_done: int, n_splits: int) -> None:
        super().__init__(f"Interrupted after {n_done} of {n_splits} splits")
        self.partial = partial


def compare(
    X: Any,  # noqa: N803
    y: ArrayLike,
    metric: MetricLike = "accuracy",
    *,
    models: Any = None,
    methods: Sequence[MethodLike] | None = None,
    pos_label: Any = None,
    class_order: Sequence[Any] | None = None,
    n_splits: int = 5,
    n_repeats: int = 2,
    n_jobs: int | None = None,
    random_state: int = 0,
    importance: bool = False,
    groups: ArrayLike | None = None,
    time: ArrayLike | None = None,
    test: TestSet | None = None,
    margin: float = 0.01,
    subject_to: str | Constraint | Iterable[Constraint] | None = None,
    confidence: float | None = None,
    calibration: float | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare models, and methods of training them, on a metric.

    Scores come from repeated stratified cross-validation, unless you pass ``groups``, ``time`` or ``test``. Preprocessing,
    penalties and thresholds are fitted on the training rows of each split. Differences are paired, and p-values are corrected
    for overlapping training sets and for multiple comparisons. With fewer than five scores there are no p-values and no
    verdict.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The features, as for :class:`MetricClassifier`.
    y : array-like of shape (n_samples,)
        The labels.
    metric : str, Metric or callable, default="accuracy"
        A name, a metric or a function of the confusion matrix.
    models : list of str or dict, default=None
        Names as in :class:`MetricClassifier`; by default "linear", "boosting" and "ensemble", if they support the data. Or a
        dictionary of your models, ``{"mine": LGBMClassifier()}``, which are compared with the default ones. A constant answer
        and the linear model are always included.
    methods : sequence of str or Method, default=None
        Methods for linear models and networks; by default all registered methods for the linear model. Every model is compared
        plain and with a tuned threshold.
    pos_label : label, default=None
        The positive class for "f1" and similar metrics of two classes, as in :class:`MetricClassifier`.
    class_order : sequence of labels, default=None
        The order of the classes, for metrics that depend on it.
    n_splits : int, default=5
        Number of folds, or of forward splits by ``time``; at most the number of rows of the rarest class.
    n_repeats : int, default=2
        Number of repeats of the cross-validation.
    n_jobs : int, default=None
        Number of splits in parallel; it does not change the result. None means 1 unless ``joblib.parallel_config`` says
        otherwise: with ``backend="dask"`` it uses all workers of a cluster (docs/howto/clusters.md).
    random_state : int, default=0
        Seed of the splits and fits.
    importance : bool, default=False
        Also compute the permutation importance of every column, for one method of each model.
    groups : array-like of shape (n_samples,), default=None
        Rows of one group, such as one person, are never split between training and test rows, nor between folds inside a fit.
    time : array-like of shape (n_samples,), default=None
        Dates or numbers. Every test block comes after all of its training rows, which grow from split to split. Rows of the
        same moment stay together. Tuning inside a fit uses ordinary folds of the training rows.
    test : tuple of (X_test, y_test), default=None
        A test set. Models are fitted to all rows of ``X`` and evaluated once. Intervals and p-values come from a paired
        bootstrap over the test rows.
    margin : float, default=0.01
        Recommend a simpler contender if its 95 % interval against the best stays above minus the margin. In units of the
        metric; for costs, a share of the cost of a constant answer.
    subject_to : str, Constraint or list of Constraint, default=None
        Limits that every decision has to keep, such as ``"precision >= 0.9"``. Each model is then trained with
        cross-entropy, and a rule decides from its probabilities, so leave out ``methods``.
    confidence : float, default=None
        Promise, with this probability, that the limits hold. A split whose rule cannot promise them counts as a metric of 0,
        or as the highest cost.
    calibration : float, default=None
        Share of the rows that are kept out of training to set the rule.
    time_limit : float, default=None
        Seconds for each fit of the ensemble, as in :class:`MetricClassifier`.
    progress : Progress, default=None
        Progress reporter.

    Returns
    -------
    Comparison
        The scores of every contender with intervals and p-values, and the verdict. Print it for a table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from metricfit import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare(X, y, "f1_macro", models=["linear"], methods=["cross_entropy", "threshold"], n_repeats=1)
    >>> found.verdict.answer
    'no'
    """
    check_number(n_splits, "n_splits", 2)
    check_number(n_repeats, "n_repeats", 1)
    check_number(margin, "margin", 0.0)
    check_request(
        models=models,
        methods=methods,
        groups=groups,
        time=time,
        test=test,
        subject_to=subject_to,
        confidence=confidence,
        calibration=calibration,
        time_limit=time_limit,
    )
    target = check_target(y)
    classes, codes = np.unique(target, return_inverse=True)
    labels, counts = codes.astype(np.int64), np.bincount(codes)
    if len(classes) < 2 or counts.min() < 2:
        rare = classes.tolist()[counts.argmin()]
        raise ValueError(f"`y` should have at least two classes with at least two rows each, got {counts.min()} of {rare!r}.")
    test_data, test_labels = (X, labels) if test is None else _check_test(test, X, classes)
    if test is not None:
        plan = plan_test_set(len(labels), len(test_labels))
    elif time is not None:
        plan = plan_time(time, len(labels), n_splits, n_repeats)
    elif groups is not None:
        plan = plan_groups(labels, classes, groups, n_splits, n_repeats, random_state)
    else:
        plan = plan_folds(labels, classes, n_splits, n_repeats, random_state)
    check_training_classes(plan, labels, classes)
    out = _default_models_left_out(DataFacts(plan.n_training, len(classes), issparse(X), plan.count_inner_folds(labels)))
    order = order_of(y) if class_order is None else class_order
    resolved = resolve_metric(metric, None, pos_label, classes, order, counts)
    limits = Limits.read(subject_to, confidence, calibration, resolved, pos_label, classes, counts)
    contenders = list_contenders(models, methods, out, limits is not None, time_limit)
    chosen_for_user = models is None or isinstance(models, Mapping)
    options = {} if limits is None else limits.options
    classifier = MetricClassifier(resolved, random_state=random_state, **options)  # type: ignore[arg-type]
    n_explained = plan.n_splits if importance and limits is None else 0
    data = classifier, X, target, labels, test_data, test_labels
    job = Job(*data, len(classes), resolved, contenders, plan, n_explained, limits)
    reporter = progress or Progress()
    reporter.announce(lambda: announce_time(job, count_workers(n_jobs)))
    reporter.start(job.n_fits)
    runs, interrupt = list[Outcomes](), None
    try:
        for outcomes in run_splits(job, n_jobs, reporter):
            runs.append(outcomes)
    except KeyboardInterrupt as error:
        if not runs:
            raise
        interrupt, plan = error, first_splits(plan, len(runs))
    left_out = tuple(f"{model} is left out: {why}." for model, why in out.items()) if chosen_for_user else ()
    statistics = score_statistics(runs, plan, resolved.metric, test_labels, len(classes), random_state)
    found = Comparison(
        metric=name_of(metric),
        measure=resolved.metric,
        classes=classes,
        labels=test_labels[plan.held_out],
        n_rows=len(labels),
        class_counts=counts,
        columns=_column_names(X),
        n_splits=plan.n_splits,
        n_repeats=plan.n_repeats,
        seed=random_state,
        results=collect_results(runs, plan, contenders, statistics, limits, test_labels),
        notes=plan.notes + left_out,
        evaluation=plan.evaluation,
        positive=resolved.positive,
        order=tuple(map(str, resolved.order)),
        statistics=statistics,
        effects=strongest_effects([run[REFERENCE].coefficients for run in runs[: plan.n_splits]]),
        is_test_set=plan.is_test_set,
        margin=margin_in_units(margin, resolved.metric, statistics.estimate(CONSTANT_NAME).mean),
        limits=limits,
    )
    found = replace(found, warnings=list_warnings(found))
    if interrupt is not None:
        raise InterruptedComparison(found, len(runs), len(job.plan.splits)) from interrupt
    return found


def check_request(
    *,
    models: Any,
    methods: Any,
    groups: Any,
    time: Any,
    test: Any,
    subject_to: Any,
    confidence: float | None,
    calibration: float | None,
    time_limit: float | None,
) -> None:
    """Refuse arguments of :func:`compare` that cannot be combined, before anything is read."""
    held_out = [name for name, one in (("groups", groups), ("time", time), ("test", test)) if one is not None]
    if len(held_out) > 1:
        raise ValueError(f"Both `{held_out[0]}` and `{held_out[1]}` say which rows are held out: pass one of them.")
    check_limits(subject_to, confidence, calibration)
    if subject_to is not None and methods is not None:
        raise ValueError(
            "`methods` should be left out with `subject_to`: every model is trained with cross-entropy, because the rule "
            "decides by probabilities."
        )
    if confidence is not None and groups is not None:
        raise ValueError(
            "`confidence` needs independent rows, but rows of one group are dependent. Leave out `confidence` or `groups`."
        )
    if time_limit is not None and not time_limit > 0.0:
        raise ValueError(f"`time_limit` should be a positive number of seconds, got {time_limit:g}.")
    if time_limit is not None and isinstance(models, list | tuple) and not TIMED & {*models}:
        raise ValueError("`time_limit` is for the ensemble: add it to `models`, or leave the limit out.")


def _check_test(test: TestSet, data: Any, classes: NDArray[Any]) -> tuple[Any, Ints]:
    """Features and labels 0 ... k - 1 of a test set that has the columns and classes of the training rows."""
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise TypeError(f"`test` should be a pair, (X_test, y_test), got {type(test).__name__}.")
    features, target = test[0], column_or_1d(test[1])
    check_label_types(target)
    if not len(target):
        raise ValueError("`test` should have at least one row, got none.")
    if np.shape(features)[0] != len(target):
        raise ValueError(f"`test` should have one label per row, got {np.shape(features)[0]} rows and {len(target)} labels.")
    own, other = _column_names(data), _column_names(features)
    if own != other:
        missing = [name for name in own if name not in other]
        what = f"misses {join_labels(missing)}" if missing else f"has {join_labels(other)}"
        raise ValueError(f"`test` should have the columns of `X` in the same order, but it {what}.")
    known = {label: index for index, label in enumerate(classes.tolist())}
    unknown = sorted({label for label in target.tolist() if label not in known}, key=str)
    if unknown:
        raise ValueError(f"`test` should have labels of `y`, but {join_labels(unknown)} is not in the training rows.")
    return features, np.array([known[label] for label in target.tolist()], dtype=np.int64)


def _default_models_left_out(given: DataFacts) -> dict[str, str]:
    """The default models that cannot take the data, and why. An ensemble needs more than the linear model."""
    out = members_left_out(given)
    if {"boosting", "extra_trees"} <= out.keys():
        out["ensemble"] = out["boosting"]
    return {model: why for model, why in out.items() if model in DEFAULT_MODELS}


def _column_names(data: Any) -> list[str]:
    names = getattr(data, "column_names", getattr(data, "columns", None))
    return [str(name) for name in (range(1, data.shape[1] + 1) if names is None else names)]
