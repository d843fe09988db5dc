"""The models that are given a time limit on fresh sets, and their peers: one split at a time, every limit in processor time.

A limit of wall time would be a shorter one for whoever is trained while other programs run. So Python's clocks count the
processor time of the process that trains, for all arms. Classes are numbered from the most frequent one, so that F1 is that of
the rarer of two classes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import optuna
import pandas as pd
from lightgbm import LGBMClassifier, early_stopping
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import metricfit as mf
from benchmarks import _autogluon
from benchmarks._cells import METRICS, Judge, Row
from benchmarks.quality import split_rows
from metricfit.estimators import FitSpec, SharedFits

DEFAULT, OURS, OPTUNA = "default", "metricfit", "LightGBM + Optuna + offsets"
AUTOGLUON = {"AutoGluon, good": "good_quality", "AutoGluon, best": "best_quality"}
TWO_CLASSES = "f1"


@contextmanager
def processor_clock() -> Iterator[None]:
    """Python's clocks count the processor time of this process."""
    clocks = {name: getattr(time, name) for name in ("time", "monotonic", "perf_counter")}
    for name in clocks:
        setattr(time, name, time.process_time)
    try:
        yield
    finally:
        for name, clock in clocks.items():
            setattr(time, name, clock)


class TimedSplit:
    """One split of one table."""

    def __init__(self, name: str, table: tuple[pd.DataFrame, Any], seed: int, rows: int) -> None:
        features, target = table
        by_frequency = pd.Series(target).value_counts().sort_index().sort_values(ascending=False, kind="stable").index
        self.train, self.y, self.test, truth = split_rows(features, by_frequency.get_indexer(target), seed, rows)
        self.judge, self.seed = Judge(name, seed, self.y, truth), seed

    @property
    def metrics(self) -> tuple[str, ...]:
        return (*METRICS, TWO_CLASSES) if len(self.judge.classes) == 2 else METRICS

    def fit_ours(self, limit: float | None) -> Iterator[Row]:
        """Rows of all metrics: without a limit, and with one, models are trained once and decided for every metric."""
        specs = [FitSpec("auto", "auto", metric, limit) for metric in self.metrics]
        with processor_clock():
            shared = SharedFits(mf.MetricClassifier(random_state=self.seed), self.train, self.y, specs)
            fits = [shared.fit(spec) for spec in specs]
        for metric, (fitted, seconds) in zip(self.metrics, fits, strict=True):
            note = next((note for note in fitted.notes_ if note.startswith("time_limit")), "")
            method = DEFAULT if limit is None else name_of(OURS, limit)
            yield self.judge.row(method, metric, fitted.predict(self.test), seconds, note)

    def fit_lightgbm(self, limit: float) -> Iterator[Row]:
        """Trials for the held-out log-loss until the time is over, then offsets. The best trial's folds predict."""
        with processor_clock():
            begin = time.perf_counter()
            scores, held_out, n_trials = tune_lightgbm(self.train, self.judge.known, self.test, limit, self.seed)
            fit_seconds = time.perf_counter() - begin
            for metric in self.metrics:
                begin = time.perf_counter()
                offsets = mf.tune_offsets(scores, self.judge.known, metric, smooth=False)
                predicted = self.judge.classes[mf.decide(held_out, offsets)]
                seconds = fit_seconds + time.perf_counter() - begin
                yield self.judge.row(name_of(OPTUNA, limit), metric, predicted, seconds, f"{n_trials} trials")

    def fit_autogluon(self, arm: str, limit: float, metric: str) -> Iterator[Row]:
        positive = 1 if metric == TWO_CLASSES else None
        begin = time.perf_counter()
        answer = _autogluon.fit_predict(
            self.train, self.y, self.test, metric, positive, limit, self.seed, AUTOGLUON[arm], "processor"
        )
        wall = time.perf_counter() - begin
        note = answer.failed or f"{len(answer.models)} models; {wall:.0f} s of wall time with imports"
        yield self.judge.row(name_of(arm, limit), metric, answer.predicted, answer.fit_seconds, note)


def name_of(arm: str, limit: float) -> str:
    return f"{arm}, {limit:g} s"


def tune_lightgbm(train: pd.DataFrame, y: Any, test: pd.DataFrame, limit: float, seed: int) -> tuple[Any, Any, int]:
    """Out-of-fold and test probabilities of the best trial, and the number of trials. The last one may pass the limit."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study, begin = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed)), time.perf_counter()
    folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(train, y))
    best, found, n_trials = np.inf, (np.empty((0, 0)), np.empty((0, 0))), 0
    while not n_trials or time.perf_counter() - begin < limit:
        trial = study.ask()
        options: dict[str, Any] = {
            "learning_rate": trial.suggest_float("learning_rate", 0.01, 0.3, log=True),
            "num_leaves": trial.suggest_int("num_leaves", 4, 128, log=True),
            "min_child_samples": trial.suggest_int("min_child_samples", 2, 100, log=True),
            "subsample": trial.suggest_float("subsample", 0.5, 1.0),
            "colsample_bytree": trial.suggest_float("colsample_bytree", 0.3, 1.0),
            "reg_lambda": trial.suggest_float("reg_lambda", 1e-3, 30.0, log=True),
        }
        scores, held_out = np.zeros((len(y), len(np.unique(y)))), np.zeros((len(test), len(np.unique(y))))
        for fit, rest in folds:
            model = LGBMClassifier(n_estimators=1000, subsample_freq=1, n_jobs=1, random_state=seed, verbose=-1, **options)
            part = [(train.iloc[rest], y[rest])]
            model.fit(train.iloc[fit], y[fit], eval_set=part, callbacks=[early_stopping(30, verbose=False)])
            scores[np.ix_(rest, model.classes_)] = model.predict_proba(train.iloc[rest])
            held_out[:, model.classes_] += np.asarray(model.predict_proba(test)) / len(folds)
        loss, n_trials = float(log_loss(y, scores, labels=np.arange(scores.shape[1]))), n_trials + 1
        study.tell(trial, loss)
        if loss < best:
            best, found = loss, (scores, held_out)
    return *found, n_trials
