"""Cross-validate every model and method on the same splits; preprocessing and tuning see training rows only."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import column_or_1d

from metricfit._checks import check_number
from metricfit._progress import Progress
from metricfit._typing import Floats, Ints
from metricfit.comparison._contenders import DEFAULT_MODELS, REFERENCE, TRIVIAL, Contender, list_contenders
from metricfit.comparison._effects import coefficients_of, strongest_effects
from metricfit.comparison._importance import importance_of
from metricfit.comparison._outcome import HeldOutPrediction, Outcome, constant_outcome, score_of
from metricfit.comparison._result import Comparison, Result
from metricfit.comparison._statistics import corrected_estimate, holm
from metricfit.estimators import MetricClassifier
from metricfit.estimators._shared import SharedFits, Wanted
from metricfit.learners import Given, members_left_out
from metricfit.methods import BASELINE, Choice, MethodLike
from metricfit.metrics import MetricLike, name_of
from metricfit.metrics._resolve import Resolved, order_of, resolve_metric


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
    n_jobs: int = 1,
    random_state: int = 0,
    importance: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Which model for this metric, and which method for the model?

    It uses repeated stratified cross-validation. Preprocessing, penalties and thresholds are fitted on the training rows of
    each split. Differences are paired; p-values are corrected for overlapping training sets and for multiple comparisons.

    Args:
        X: features, as for ``MetricClassifier``.
        y: labels, (n,).
        metric: a name, a metric or a function of the confusion matrix.
        models: names as in ``MetricClassifier``, by default "linear", "boosting" and "ensemble", as far as they take the data
            (``notes`` of the result says which do not); or a dictionary of your own models, ``{"mine": LGBMClassifier()}``,
            which are compared beside the default ones. A constant answer and the linear model are always included.
        methods: names or :class:`metricfit.methods.Method`, for linear models and networks; by default all registered methods
            for the linear model. Every model is compared plain and with a tuned threshold.
        pos_label: the positive class for "f1" and similar metrics of two classes; by default as in ``MetricClassifier``.
        class_order: the classes in their order, for metrics that depend on it, as in ``MetricClassifier``.
        n_splits: number of folds; at most the number of rows of the rarest class.
        n_repeats: number of cross-validation repeats.
        n_jobs: number of splits that run in parallel; it does not change the result.
        random_state: seed of splits and fits.
        importance: also compute the permutation importance of every column, for one method of each model.
        progress: progress reporter.

    >>> from sklearn.datasets import load_breast_cancer
    >>> features, target = load_breast_cancer(return_X_y=True)
    >>> compare(features, target, "mcc", models=["linear"], methods=["cross_entropy", "auto"], n_repeats=1).verdict.answer
    'no'
    """
    options: dict[str, Any] = {"models": models, "methods": methods, "pos_label": pos_label, "class_order": class_order}
    options |= {"n_splits": n_splits, "n_repeats": n_repeats, "n_jobs": n_jobs, "random_state": random_state}
    options |= {"importance": importance}
    (found,) = compare_metrics(X, y, [metric], progress=progress, **options).values()
    return found


def compare_metrics(
    X: Any,  # noqa: N803
    y: ArrayLike,
    metrics: Sequence[MetricLike],
    *,
    models: Any = None,
    methods: Sequence[MethodLike] | None = None,
    pos_label: Any = None,
    class_order: Sequence[Any] | None = None,
    n_splits: int = 5,
    n_repeats: int = 2,
    n_jobs: int = 1,
    random_state: int = 0,
    importance: bool = False,
    progress: Progress | None = None,
) -> dict[str, Comparison]:
    """A :func:`compare` for each of several metrics. Every model is trained once per split for all of them."""
    check_number(n_splits, "n_splits", 2)
    check_number(n_repeats, "n_repeats", 1)
    target = column_or_1d(y)
    classes, labels = np.unique(target, return_inverse=True)
    counts = np.bincount(labels)
    if len(classes) < 2 or counts.min() < 2:
        rare = classes.tolist()[counts.argmin()]
        raise ValueError(f"`y` should have at least two classes with at least two rows each, got {counts.min()} of {rare!r}.")
    n_folds = min(n_splits, int(counts.min()))
    n_training = len(labels) * (n_folds - 1) // n_folds
    out = _default_models_left_out(Given(n_training, len(classes), issparse(X), n_folds))
    contenders, chosen_for_user = list_contenders(models, methods, out), models is None or isinstance(models, Mapping)
    order = order_of(y) if class_order is None else class_order
    named = {name_of(metric): resolve_metric(metric, None, pos_label, classes, order, counts) for metric in metrics}
    splitter = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=n_repeats, random_state=random_state)
    splits = list(splitter.split(np.empty((len(labels), 1)), labels))
    classifier = MetricClassifier(next(iter(named.values())), random_state=random_state)  # type: ignore[arg-type]
    places, n_explained = labels.astype(np.int64), n_folds if importance else 0
    job = _Job(classifier, X, target, places, len(classes), named, contenders, n_explained)
    reporter = progress or Progress()
    reporter.start(len(splits) * len(contenders) * len(named))
    runs = list(_run_splits(job, splits, n_jobs, reporter))
    first, test_share = [test for _, test in splits[:n_folds]], 1.0 / (n_folds - 1.0)
    return {
        name: Comparison(
            metric=name,
            measure=measure.metric,
            positive=measure.positive,
            order=tuple(map(str, measure.order)),
            classes=classes,
            labels=places,
            columns=_column_names(X),
            n_splits=n_folds,
            n_repeats=n_repeats,
            seed=random_state,
            effects=strongest_effects([run[name][REFERENCE].coefficients for run in runs[:n_folds]]),
            results=_results([run[name] for run in runs], first, contenders, test_share),
            notes=tuple(f"{model} is left out: {why}." for model, why in out.items()) if chosen_for_user else (),
        )
        for name, measure in named.items()
    }


def _default_models_left_out(given: Given) -> dict[str, str]:
    """The default models that cannot take the data; an ensemble of the linear model alone is none."""
    out = members_left_out(given)
    if {"boosting", "extra_trees"} <= out.keys():
        out["ensemble"] = out["boosting"]
    return {model: why for model, why in out.items() if model in DEFAULT_MODELS}


@dataclass(frozen=True)
class _Job:
    """What every split is given."""

    classifier: MetricClassifier
    data: Any
    target: NDArray[Any]
    labels: Ints
    n_classes: int
    metrics: dict[str, Resolved]
    contenders: Sequence[Contender]
    n_explained: int  # the first splits, whose columns are shuffled


Outcomes = dict[str, dict[str, Outcome]]  # metric: contender: outcome


def _run_splits(job: _Job, splits: Sequence[tuple[Ints, Ints]], n_jobs: int, progress: Progress) -> Iterator[Outcomes]:
    if n_jobs == 1:
        for index, split in enumerate(splits):
            outcomes: Outcomes = {}
            for metric, name, outcome in _run_split(job, index, split):
                outcomes.setdefault(metric, {})[name] = outcome
                progress.step(f"split {index + 1} of {len(splits)}: {name}", None)
            yield outcomes
        return
    work = (delayed(_split_outcomes)(job, index, split) for index, split in enumerate(splits))
    for index, outcomes in enumerate(Parallel(n_jobs=n_jobs, return_as="generator")(work), 1):
        for _ in range(len(job.contenders) * len(job.metrics)):
            progress.step(f"{index} of {len(splits)} splits", None)
        yield outcomes


def _split_outcomes(job: _Job, index: int, split: tuple[Ints, Ints]) -> Outcomes:
    outcomes: Outcomes = {}
    for metric, name, outcome in _run_split(job, index, split):
        outcomes.setdefault(metric, {})[name] = outcome
    return outcomes


def _run_split(job: _Job, index: int, split: tuple[Ints, Ints]) -> Iterator[tuple[str, str, Outcome]]:
    train, test = split
    train_rows, test_rows = _safe_indexing(job.data, train), _safe_indexing(job.data, test)
    fitted = [one for one in job.contenders if one.model != TRIVIAL]
    every = [Wanted(one.given, one.method, metric) for one in fitted for metric in job.metrics.values()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rare classes and incomplete convergence show in the score
        shared = SharedFits(job.classifier, train_rows, job.target[train], every)
        for contender in job.contenders:
            for name, measure in job.metrics.items():
                if contender.model == TRIVIAL:
                    outcome = constant_outcome(measure.metric, job.labels[train], job.labels[test], job.n_classes)
                else:
                    one, seconds = shared.fit(Wanted(contender.given, contender.method, measure))
                    outcome = _outcome(one, seconds, test_rows, job.labels[test])
                    if contender.name == REFERENCE:
                        outcome = replace(outcome, coefficients=coefficients_of(one))
                    if index < job.n_explained and _is_explained(contender, job.contenders):
                        columns = importance_of(one, test_rows, job.labels[test], index)
                        outcome = replace(outcome, importance=columns)
                yield name, contender.name, outcome


def _outcome(fitted: MetricClassifier, seconds: float, rows: Any, labels: Ints) -> Outcome:
    held_out = HeldOutPrediction(*fitted.scores_and_probabilities(rows))
    score = score_of(fitted.metric_, held_out.predicted, labels, len(fitted.classes_))
    return Outcome(score, seconds, held_out, fitted.offsets_, fitted.temperature_, fitted.history_, fitted.chosen_)


def _is_explained(contender: Contender, contenders: Sequence[Contender]) -> bool:
    """One method of each model: the automatic choice, or else a tuned threshold."""
    methods = [one.method for one in contenders if one.model == contender.model]
    choice = next((method for method in methods if isinstance(method, Choice)), None)
    return contender.method is choice if choice else contender.method.name == BASELINE


def _results(
    runs: Sequence[dict[str, Outcome]], first: Sequence[Ints], contenders: Sequence[Contender], test_share: float
) -> dict[str, Result]:
    scores = {one.name: [run[one.name].score for run in runs] for one in contenders}

    def paired(name: str, other: str) -> list[float]:
        return [own - base for own, base in zip(scores[name], scores[other], strict=True)]

    best = max(scores, key=lambda name: float(np.mean(scores[name])))  # of equals the simplest
    against = {}
    for other in (REFERENCE, best):
        estimates = {name: corrected_estimate(paired(name, other), test_share) for name in scores}
        compared = [name for name in scores if name != other]
        adjusted = dict(zip(compared, holm([estimates[name].p for name in compared]), strict=True))
        against[other] = {name: (estimate, adjusted.get(name, 1.0)) for name, estimate in estimates.items()}
    results = {}
    for one in contenders:
        outcomes = [run[one.name] for run in runs]
        first_repeat = outcomes[: len(first)]
        columns = [outcome.importance for outcome in first_repeat if outcome.importance is not None]
        (difference, p_holm), (behind, p_behind) = against[REFERENCE][one.name], against[best][one.name]
        results[one.name] = Result(
            contender=one,
            scores=scores[one.name],
            estimate=corrected_estimate(scores[one.name], test_share),
            difference=difference,
            p_holm=p_holm,
            behind_best=behind,
            p_behind=p_behind,
            seconds=float(np.median([outcome.seconds for outcome in outcomes])),
            held_out=HeldOutPrediction(
                _join_rows(first, [outcome.held_out.scores for outcome in first_repeat]),
                _join_rows(first, [outcome.held_out.probability for outcome in first_repeat]),
            ),
            offsets=np.stack([outcome.offsets for outcome in first_repeat]),
            temperatures=np.array([outcome.temperature for outcome in first_repeat]),
            history=outcomes[0].history,
            chosen=dict(Counter(outcome.chosen for outcome in outcomes)),
            importance=np.stack(columns) if columns else None,
        )
    return results


def _join_rows(indices: Sequence[Ints], parts: Sequence[Floats]) -> Floats:
    """Join the folds' rows in the order of the data."""
    whole = np.empty((sum(map(len, indices)), parts[0].shape[1]))
    whole[np.concatenate(indices)] = np.concatenate(parts)
    return whole


def _column_names(data: Any) -> list[str]:
    names = getattr(data, "column_names", getattr(data, "columns", None))
    return [str(name) for name in (range(1, data.shape[1] + 1) if names is None else names)]
