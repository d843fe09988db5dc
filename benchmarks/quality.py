"""Which model should someone with a table and a metric take, and is it MetricClassifier?

    python -m benchmarks.quality run [--sets pima car] [--seeds 0 1 2] [--rows 5000] [--out benchmarks/results]
    python -m benchmarks.quality autogluon [--sets ...] [--seeds 1] [--times 1 4 | --seconds 60] [--out ...]    # after `run`
    python -m benchmarks.quality report [--out benchmarks/results]

Every set (rows cut to ``--rows``) x accuracy, balanced accuracy, macro F1 and MCC, stratified splits with a fifth of the rows
held out. The models: ``MetricClassifier`` with ``model="auto"`` (the ensemble), ``"boosting"`` (HistGradientBoosting, five
folds, offsets) and ``"linear"``; LightGBM with offsets from out-of-fold scores; scikit-learn's ``TunedThresholdClassifierCV``
around HistGradientBoosting (two classes); and AutoGluon (``good_quality``, one core), whose time limit is the ensemble's own
time and four times that. AutoGluon has an environment of its own: ``make quality-peers``. Rows are written as they come, and a
command that was interrupted goes on where it stopped. Differences are in points. A cell is a set and a metric; its test is
corrected for overlapping training sets (Nadeau and Bengio) and for the number of cells (Holm). Over sets the test is
Wilcoxon's.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, TunedThresholdClassifierCV
from threadpoolctl import threadpool_limits

import metricfit as mf
from benchmarks import _autogluon
from benchmarks._cells import METRICS, TIE, Judge, Results, Row, build_report, run_missing, seconds_ratio
from benchmarks._script import RESULTS, new_parser, write_page
from metricfit._typing import Ints
from metricfit.estimators import FitSpec, SharedFits
from reproductions import _tables as tables

SCORING = {**dict(zip(METRICS, METRICS, strict=True)), "mcc": "matthews_corrcoef"}  # in scikit-learn
OURS, BOOSTING = "ensemble", "HistGradientBoosting + offsets"
MODELS = {OURS: "auto", BOOSTING: "boosting", "linear": "linear"}
LIGHTGBM, THRESHOLD = "LightGBM + offsets", "TunedThresholdClassifierCV"
LEFT_OUT = ("wine", "satellite47")  # nothing to gain; a part of another set


def load_split(name: str, seed: int, rows: int) -> tuple[pd.DataFrame, Any, pd.DataFrame, Any]:
    """Training and test rows of one split; words are categories."""
    return split_rows(*tables.load(name), seed, rows)


def split_rows(features: pd.DataFrame, target: Any, seed: int, rows: int) -> tuple[pd.DataFrame, Any, pd.DataFrame, Any]:
    """The same for any table, of which at most ``rows`` rows are used."""
    if len(target) > rows:
        kept, _ = next(StratifiedShuffleSplit(1, train_size=rows, random_state=0).split(features, target))
        features, target = features.iloc[kept].reset_index(drop=True), target[kept]
    features = features.copy()
    for column in features.select_dtypes(exclude="number"):
        features[column] = features[column].astype("category")
    train, test = next(StratifiedShuffleSplit(1, test_size=0.2, random_state=seed).split(features, target))
    return features.iloc[train], target[train], features.iloc[test], target[test]


def evaluate_split(name: str, seed: int, rows: int) -> Iterator[Row]:
    """All models and metrics but AutoGluon on one split of one set."""
    train, y, test, truth = load_split(name, seed, rows)
    judge = Judge(name, seed, y, truth)
    classes, known = judge.classes, judge.known
    specs = {(m, metric): FitSpec(model, "auto", metric) for m, model in MODELS.items() for metric in METRICS}
    shared = SharedFits(mf.MetricClassifier(random_state=seed), train, y, list(specs.values()))
    for (method, metric), spec in specs.items():
        fitted, seconds = shared.fit(spec)
        yield judge.row(method, metric, fitted.predict(test), seconds)
    begin = time.perf_counter()
    scores, held_out = lightgbm_scores(train, known, test, len(classes), seed)
    fit_seconds = time.perf_counter() - begin
    for metric in METRICS:
        begin = time.perf_counter()
        offsets = mf.tune_offsets(scores, known, metric, smooth=False)
        predicted = classes[mf.decide(held_out, offsets)]
        yield judge.row(LIGHTGBM, metric, predicted, fit_seconds + time.perf_counter() - begin)
    for metric, scoring in SCORING.items() if len(classes) == 2 else ():
        begin = time.perf_counter()
        trees = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=seed)
        tuned = TunedThresholdClassifierCV(trees, scoring=scoring, random_state=seed).fit(train, y)
        yield judge.row(THRESHOLD, metric, tuned.predict(test), time.perf_counter() - begin)


def lightgbm_scores(train: pd.DataFrame, y: Ints, test: pd.DataFrame, n_classes: int, seed: int) -> tuple[Any, Any]:
    """Out-of-fold and test probabilities: five folds, the median of their best rounds, then a refit."""
    from lightgbm import LGBMClassifier, early_stopping

    options: dict[str, Any] = {"learning_rate": 0.05, "num_leaves": 15, "n_jobs": 1, "random_state": seed, "verbose": -1}
    folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(train, y))
    models = []
    for fit, held_out in folds:
        model = LGBMClassifier(n_estimators=500, **options)
        part = [(train.iloc[held_out], y[held_out])]
        models.append(model.fit(train.iloc[fit], y[fit], eval_set=part, callbacks=[early_stopping(20, verbose=False)]))
    rounds = max(1, int(np.median([model.best_iteration_ for model in models])))
    found = np.zeros((len(y), n_classes))
    for model, (_, held_out) in zip(models, folds, strict=True):
        probability = np.asarray(model.predict_proba(train.iloc[held_out], num_iteration=rounds))
        found[np.ix_(held_out, model.classes_)] = probability
    last = LGBMClassifier(n_estimators=rounds, **options).fit(train, y)
    return found, np.asarray(last.predict_proba(test))


def evaluate_autogluon(name: str, seed: int, rows: int, metric: str, method: str, seconds: float) -> Row:
    """AutoGluon on one split for one metric, with a limit in seconds."""
    train, y, test, truth = load_split(name, seed, rows)
    answer = _autogluon.fit_predict(train, y, test, metric, None, seconds, seed)
    note = answer.failed or f"{len(answer.models)} models, {answer.fit_cpu_seconds:.0f} s of CPU"
    return Judge(name, seed, y, truth).row(method, metric, answer.predicted, answer.fit_seconds, note)


def autogluon_limits(ours: float, times: list[float], seconds: float | None) -> dict[str, float]:
    """The limits by the name of the method: multiples of the ensemble's seconds, or seconds."""
    if seconds is not None:
        return {f"AutoGluon, {seconds:g} s": seconds}
    return {f"AutoGluon, {one:g} x the ensemble's time": one * ours for one in times}


def report(results: Results) -> str:
    command, library = "python -m benchmarks.quality report", f"scikit-learn {sklearn.__version__}"
    against = f"The {OURS} against each, on the splits that both have, in points (win, tie, loss by {TIE}):"
    ratio = seconds_ratio(results, OURS, BOOSTING)
    cost = f"The {OURS} takes {ratio:.2f} times as long as {BOOSTING} in the median."
    return build_report(results, command, library, {against: OURS}, cost)


def main() -> None:
    parser = new_parser(__doc__, RESULTS)
    parser.add_argument("what", choices=("run", "autogluon", "report"))
    parser.add_argument("--sets", nargs="+", default=[n for n in tables.SETS if n not in LEFT_OUT], metavar="SET")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--metrics", nargs="+", default=METRICS, choices=METRICS, metavar="METRIC")
    parser.add_argument("--seconds", type=float, help="AutoGluon's limit, instead of multiples of the ensemble's time")
    parser.add_argument("--times", type=float, nargs="+", default=[1.0, 4.0])
    parser.add_argument("--rows", type=int, default=5000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(options.out / "quality.csv")
    if options.what == "run":
        evaluate = partial(evaluate_split, rows=options.rows)
        run_missing(results, options.seeds, options.sets, evaluate, method=OURS)
    for seed, name, metric in product(options.seeds, options.sets, options.metrics) if options.what == "autogluon" else ():
        (ours,) = results.find(set=name, seed=seed, metric=metric, method=OURS)
        for method, limit in autogluon_limits(ours["seconds"], options.times, options.seconds).items():
            if not results.find(set=name, seed=seed, metric=metric, method=method):
                with threadpool_limits(1):
                    results.add(evaluate_autogluon(name, seed, options.rows, metric, method, limit))
                print(f"split {seed}: {name}, {metric}, {method}", file=sys.stderr, flush=True)
    text = report(results)
    write_page(options.out, "quality.md", text)


if __name__ == "__main__":
    main()
