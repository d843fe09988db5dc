"""Cross-validate every method on the same splits; preprocessing and tuning see training rows only."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import column_or_1d

from metricfit import methods as known_methods
from metricfit._checks import check_number
from metricfit._progress import Progress
from metricfit._table import Table
from metricfit.comparison._result import Comparison, HeldOutPrediction, MethodResult
from metricfit.comparison._statistics import Estimate, corrected_estimate, holm
from metricfit.decisions import hard_confusion, metric_values
from metricfit.estimators import MetricClassifier, fit_each
from metricfit.methods import BASELINE, Choice, Method, MethodLike
from metricfit.metrics import MetricLike
from metricfit.metrics._resolve import resolve_metric

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Outcome:
    """Score, held-out predictions and fitted values of one method on one split."""

    score: float
    seconds: float
    held_out: HeldOutPrediction
    offsets: Floats
    temperature: float
    history: Table
    chosen: str


def compare(
    X: Any,  # noqa: N803
    y: ArrayLike,
    metric: MetricLike = "accuracy",
    *,
    methods: Sequence[MethodLike] | None = None,
    pos_label: Any = None,
    model: Any = "linear",
    n_splits: int = 5,
    n_repeats: int = 2,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Does training for the metric beat cross-entropy with a tuned threshold on these data?

    It uses repeated stratified cross-validation. Preprocessing, penalties and thresholds are fitted on the training rows of
    each split. Differences are paired; p-values are corrected for overlapping training sets and for multiple comparisons.

    Args:
        X: features, as for ``MetricClassifier``.
        y: labels, (n,).
        metric: a name, a metric or a function of the confusion matrix.
        methods: names or :class:`metricfit.methods.Method`; by default all registered methods. The baseline ``"threshold"`` is
            always included.
        pos_label: the positive class for "f1" and similar metrics of two classes; by default the larger label.
        model: what is trained, as in ``MetricClassifier``.
        n_splits: number of folds; at most the number of rows of the rarest class.
        n_repeats: number of cross-validation repeats.
        n_jobs: number of splits that run in parallel; it does not change the result.
        random_state: seed of splits and fits.
        progress: progress reporter.

    >>> from sklearn.datasets import load_breast_cancer
    >>> features, target = load_breast_cancer(return_X_y=True)
    >>> compare(features, target, "mcc", methods=["cross_entropy", "auto"], n_repeats=1).verdict.answer
    'no'
    """
    chosen = _methods_in_order(methods)
    check_number(n_splits, "n_splits", 2)
    check_number(n_repeats, "n_repeats", 1)
    target = column_or_1d(y)
    classes, labels = np.unique(target, return_inverse=True)
    counts = np.bincount(labels)
    if len(classes) < 2 or counts.min() < 2:
        rare = classes.tolist()[counts.argmin()]
        raise ValueError(f"`y` should have at least two classes with at least two rows each, got {counts.min()} of {rare!r}.")
    measure = resolve_metric(metric, None, pos_label, classes)
    n_folds = min(n_splits, int(counts.min()))
    splitter = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=n_repeats, random_state=random_state)
    splits = list(splitter.split(np.empty((len(labels), 1)), labels))
    classifier = MetricClassifier(metric, pos_label=pos_label, model=model, random_state=random_state)
    reporter = progress or Progress()
    reporter.start(len(splits) * len(chosen))

    def score(predicted: Ints, test: Ints) -> float:
        return float(metric_values(measure, hard_confusion(predicted, labels[test], np.ones(len(test)), len(classes))))

    runs = list(_run_splits(classifier, X, target, splits, chosen, score, n_jobs, reporter))
    return Comparison(
        metric=metric if isinstance(metric, str) else str(measure),
        measure=measure,
        classes=classes,
        labels=labels.astype(np.int64),
        n_columns=int(X.shape[1]),
        n_splits=n_folds,
        n_repeats=n_repeats,
        seed=random_state,
        results=_results(runs, [test for _, test in splits[:n_folds]], chosen, 1.0 / (n_folds - 1.0)),
    )


def _methods_in_order(wanted: Sequence[MethodLike] | None) -> list[Method | Choice]:
    """The methods to compare, including the baseline: registered ones in the registry's order, then the others."""
    registered, chosen = known_methods.names(), dict[str, Method | Choice]()
    for method in map(known_methods.get, registered if wanted is None else [*wanted, BASELINE]):
        if chosen.setdefault(method.name, method) is not method:
            raise ValueError(f"`methods` should have distinct names, got {method.name!r} for two methods.")
    return sorted(
        chosen.values(), key=lambda method: registered.index(method.name) if method.name in registered else len(registered)
    )


def _run_splits(
    classifier: MetricClassifier,
    data: Any,
    target: NDArray[Any],
    splits: Sequence[tuple[Ints, Ints]],
    chosen: Sequence[Method | Choice],
    score: Callable[[Ints, Ints], float],
    n_jobs: int,
    progress: Progress,
) -> Iterator[dict[str, Outcome]]:
    if n_jobs == 1:
        for index, (train, test) in enumerate(splits, 1):
            outcomes = {}
            for name, outcome in _run_split(classifier, data, target, train, test, chosen, score):
                outcomes[name] = outcome
                progress.step(f"split {index} of {len(splits)}, {name}", None)
            yield outcomes
        return
    work = (delayed(_split_outcomes)(classifier, data, target, train, test, chosen, score) for train, test in splits)
    for index, outcomes in enumerate(Parallel(n_jobs=n_jobs, return_as="generator")(work), 1):
        for _ in chosen:
            progress.step(f"{index} of {len(splits)} splits", None)
        yield outcomes


def _split_outcomes(*arguments: Any) -> dict[str, Outcome]:
    return dict(_run_split(*arguments))


def _run_split(
    classifier: MetricClassifier,
    data: Any,
    target: NDArray[Any],
    train: Ints,
    test: Ints,
    chosen: Sequence[Method | Choice],
    score: Callable[[Ints, Ints], float],
) -> Iterator[tuple[str, Outcome]]:
    train_rows, test_rows = _safe_indexing(data, train), _safe_indexing(data, test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rare classes and incomplete convergence show in the score
        for fitted, seconds in fit_each(classifier, train_rows, target[train], chosen):
            held_out = HeldOutPrediction(*fitted.scores_and_probabilities(test_rows))
            yield (
                known_methods.get(fitted.method).name,
                Outcome(
                    score(held_out.predicted, test),
                    seconds,
                    held_out,
                    fitted.offsets_,
                    fitted.temperature_,
                    fitted.history_,
                    fitted.chosen_,
                ),
            )


def _results(
    runs: Sequence[dict[str, Outcome]], first: Sequence[Ints], chosen: Sequence[Method | Choice], test_share: float
) -> dict[str, MethodResult]:
    scores = {method.name: [run[method.name].score for run in runs] for method in chosen}
    differences: dict[str, Estimate] = {}
    for name in scores:
        paired = [own - base for own, base in zip(scores[name], scores[BASELINE], strict=True)]
        differences[name] = corrected_estimate(paired, test_share)
    compared = [name for name in scores if name != BASELINE]
    adjusted = dict(zip(compared, holm([differences[name].p for name in compared]), strict=True))
    results = {}
    for method in chosen:
        name = method.name
        outcomes = [run[name] for run in runs]
        first_repeat = outcomes[: len(first)]
        results[name] = MethodResult(
            method=method,
            scores=scores[name],
            estimate=corrected_estimate(scores[name], test_share),
            difference=differences[name],
            p_holm=adjusted.get(name, 1.0),
            seconds=float(np.median([outcome.seconds for outcome in outcomes])),
            held_out=HeldOutPrediction(
                _join_rows(first, [outcome.held_out.scores for outcome in first_repeat]),
                _join_rows(first, [outcome.held_out.probability for outcome in first_repeat]),
            ),
            offsets=np.stack([outcome.offsets for outcome in first_repeat]),
            temperatures=np.array([outcome.temperature for outcome in first_repeat]),
            history=outcomes[0].history,
            chosen=dict(Counter(outcome.chosen for outcome in outcomes)),
        )
    return results


def _join_rows(indices: Sequence[Ints], parts: Sequence[Floats]) -> Floats:
    """Join the folds' rows in the order of the data."""
    whole = np.empty((sum(map(len, indices)), parts[0].shape[1]))
    whole[np.concatenate(indices)] = np.concatenate(parts)
    return whole
