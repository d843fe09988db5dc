"""The same splits for every method, with preprocessing and tuning inside of them."""

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

from metricfit._checks import check_number, check_option
from metricfit._progress import Progress
from metricfit.comparison._methods import BASELINE, METHODS
from metricfit.comparison._result import Comparison, HeldOut, MethodResult
from metricfit.comparison._statistics import Estimate, corrected_estimate, holm
from metricfit.estimators import MetricClassifier
from metricfit.estimators._classifier import fit_each, resolved_metric
from metricfit.estimators._offsets import hard_matrix, metric_of
from metricfit.estimators._table import Table
from metricfit.metrics import MetricLike

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Outcome:
    """One method on one split."""

    score: float
    seconds: float
    held_out: HeldOut
    offsets: Floats
    temperature: float
    history: Table
    chosen: str


def compare(
    X: Any,  # noqa: N803
    y: ArrayLike,
    metric: MetricLike = "accuracy",
    *,
    methods: Sequence[str] | None = None,
    positive_class: Any = None,
    model: Any = "linear",
    folds: int = 5,
    repeats: int = 2,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Does training for the metric beat cross-entropy with a tuned threshold on these data?

    Repeated stratified cross-validation; scaling, encoding, penalties and thresholds are fitted on the training rows of each
    split alone. Differences are paired, their test knows that training sets overlap and how many methods are compared.

    Args:
        X: features as ``MetricClassifier`` takes them.
        y: labels, (n,).
        metric: a name, a metric or a function of the confusion matrix.
        methods: strategies of ``MetricClassifier``; all of them by default. ``"offset"``, the baseline, is always among them.
        positive_class: the label that "f1" and the like are about, for two classes; by default the larger.
        model: what is trained, as in ``MetricClassifier``.
        folds: parts of the data, fewer where a class has fewer rows.
        repeats: how often the data are cut anew.
        n_jobs: splits worked on at the same time; the result is the same for any number.
        random_state: seed of splits and fits.

    >>> from sklearn.datasets import load_breast_cancer
    >>> features, target = load_breast_cancer(return_X_y=True)
    >>> compare(features, target, "mcc", methods=["cross_entropy", "auto"], repeats=1).verdict.answer
    'no'
    """
    chosen = [name for name in METHODS if methods is None or name in methods or name == BASELINE]
    for name in methods or ():
        check_option(name, "methods", METHODS)
    check_number(folds, "folds", 2)
    check_number(repeats, "repeats", 1)
    target = column_or_1d(y)
    classes, labels = np.unique(target, return_inverse=True)
    counts = np.bincount(labels)
    if len(classes) < 2 or counts.min() < 2:
        rare = classes.tolist()[counts.argmin()]
        raise ValueError(f"`y` should have two classes or more with two rows or more each, got {counts.min()} of {rare!r}.")
    measure = resolved_metric(metric, None, positive_class, classes)
    n_folds = min(folds, int(counts.min()))
    splitter = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=repeats, random_state=random_state)
    splits = list(splitter.split(np.empty((len(labels), 1)), labels))
    classifier = MetricClassifier(metric, positive_class=positive_class, model=model, random_state=random_state)
    tell = progress or Progress()
    tell.start(len(splits) * len(chosen))

    def score(predicted: Ints, test: Ints) -> float:
        return float(metric_of(measure, hard_matrix(predicted, labels[test], np.ones(len(test)), len(classes))))

    runs = list(_over_splits(classifier, X, target, splits, chosen, score, n_jobs, tell))
    return Comparison(
        metric=metric if isinstance(metric, str) else str(measure),
        measure=measure,
        classes=classes,
        labels=labels.astype(np.int64),
        n_columns=int(X.shape[1]),
        folds=n_folds,
        repeats=repeats,
        seed=random_state,
        results=_results(runs, [test for _, test in splits[:n_folds]], chosen, 1.0 / (n_folds - 1.0)),
    )


def _over_splits(
    classifier: MetricClassifier,
    data: Any,
    target: NDArray[Any],
    splits: Sequence[tuple[Ints, Ints]],
    chosen: Sequence[str],
    score: Callable[[Ints, Ints], float],
    n_jobs: int,
    progress: Progress,
) -> Iterator[dict[str, Outcome]]:
    if n_jobs == 1:
        for place, (train, test) in enumerate(splits, 1):
            outcomes = {}
            for name, outcome in _one_split(classifier, data, target, train, test, chosen, score):
                outcomes[name] = outcome
                progress.step(f"split {place} of {len(splits)}, {METHODS[name].name}", None)
            yield outcomes
        return
    work = (delayed(_whole_split)(classifier, data, target, train, test, chosen, score) for train, test in splits)
    for place, outcomes in enumerate(Parallel(n_jobs=n_jobs, return_as="generator")(work), 1):
        for _ in chosen:
            progress.step(f"{place} of {len(splits)} splits", None)
        yield outcomes


def _whole_split(*arguments: Any) -> dict[str, Outcome]:
    return dict(_one_split(*arguments))


def _one_split(
    classifier: MetricClassifier,
    data: Any,
    target: NDArray[Any],
    train: Ints,
    test: Ints,
    chosen: Sequence[str],
    score: Callable[[Ints, Ints], float],
) -> Iterator[tuple[str, Outcome]]:
    given, rest = _safe_indexing(data, train), _safe_indexing(data, test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rare class in a fold, a descent cut short: what counts is the score
        for fitted, seconds in fit_each(classifier, given, target[train], chosen):
            held_out = HeldOut(*fitted.heads(rest))
            yield (
                fitted.strategy,
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
    runs: Sequence[dict[str, Outcome]], first: Sequence[Ints], chosen: Sequence[str], test_share: float
) -> dict[str, MethodResult]:
    scores = {name: [run[name].score for run in runs] for name in chosen}
    differences: dict[str, Estimate] = {}
    for name in chosen:
        paired = [own - base for own, base in zip(scores[name], scores[BASELINE], strict=True)]
        differences[name] = corrected_estimate(paired, test_share)
    compared = [name for name in chosen if name != BASELINE]
    adjusted = dict(zip(compared, holm([differences[name].p for name in compared]), strict=True))
    results = {}
    for name in chosen:
        outcomes = [run[name] for run in runs]
        of_first = outcomes[: len(first)]
        results[name] = MethodResult(
            method=METHODS[name],
            scores=scores[name],
            estimate=corrected_estimate(scores[name], test_share),
            difference=differences[name],
            p_holm=adjusted.get(name, 1.0),
            seconds=float(np.median([outcome.seconds for outcome in outcomes])),
            held_out=HeldOut(
                _in_order(first, [outcome.held_out.scores for outcome in of_first]),
                _in_order(first, [outcome.held_out.probability for outcome in of_first]),
            ),
            offsets=np.stack([outcome.offsets for outcome in of_first]),
            temperatures=np.array([outcome.temperature for outcome in of_first]),
            history=outcomes[0].history,
            chosen=dict(Counter(outcome.chosen for outcome in outcomes)),
        )
    return results


def _in_order(places: Sequence[Ints], parts: Sequence[Floats]) -> Floats:
    """Parts of all rows, each row back in its place."""
    whole = np.empty((sum(map(len, places)), parts[0].shape[1]))
    whole[np.concatenate(places)] = np.concatenate(parts)
    return whole
