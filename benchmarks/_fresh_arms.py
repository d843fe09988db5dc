"""The models that are judged on fresh sets, and what they have to beat: one split at a time.

All are as in ``quality.py``, ``quality_linear.py`` and ``quality_networks.py``. What does not depend on the metric is trained
once for a split. This changes no prediction: ``metricfit compare`` shares the same fits (``SharedFits``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import pandas as pd

import metricfit as mf
from benchmarks._cells import METRICS, Judge, Row
from benchmarks.quality import BOOSTING, LIGHTGBM, lightgbm_scores, split_rows
from benchmarks.quality_linear import logistic_regression
from metricfit.estimators import FitSpec, SharedFits

ENSEMBLE, LINEAR, NETWORKS, NETWORK = "ensemble", "linear", "four networks", "one network"
TREES = "HistGradientBoosting"
LOGISTIC, LOGISTIC_OFFSETS, LINEAR_THRESHOLD = "logistic regression", "logistic regression + offsets", "linear, threshold"
FAILED = "failed: "

Answer = tuple[Any, float]  # the predicted classes of the test rows, and the seconds of the fit


class Split:
    """Training and test rows, and what several metrics and models share."""

    def __init__(self, name: str, table: tuple[pd.DataFrame, Any], seed: int, rows: int) -> None:
        self.train, self.y, self.test, truth = split_rows(*table, seed, rows)
        self.judge, self.seed = Judge(name, seed, self.y, truth), seed

    def fit_shared(self, model: str, method: str, metric: str) -> Answer:
        fitted, seconds = self._tables.fit(FitSpec(model, method, metric))
        return fitted.predict(self.test), seconds

    def fit_networks(self, n_members: int | None, metric: str) -> Answer:
        model = "mlp" if n_members is None else mf.Network(n_members=n_members)
        fitted, seconds = self._networks.fit(FitSpec(model, "auto", metric))
        return fitted.predict(self.test), seconds

    def fit_lightgbm(self, metric: str) -> Answer:
        (scores, held_out), seconds = self._lightgbm
        begin = time.perf_counter()
        offsets = mf.tune_offsets(scores, self.judge.known, metric, smooth=False)
        return self.judge.classes[mf.decide(held_out, offsets)], seconds + time.perf_counter() - begin

    def fit_logistic(self, with_offsets: bool, metric: str) -> Answer:
        (plain, fixed), seconds = self._logistic
        if not with_offsets:
            return plain.predict(self.test), seconds
        begin = time.perf_counter()
        tuned = mf.OffsetClassifier(fixed, metric, smooth=False, random_state=self.seed).fit(self.train, self.y)
        return tuned.predict(self.test), seconds + time.perf_counter() - begin

    @cached_property
    def _tables(self) -> SharedFits:
        specs = [FitSpec(model, "auto", METRICS[0]) for model in ("auto", "boosting", "linear")]
        return SharedFits(mf.MetricClassifier(random_state=self.seed), self.train, self.y, specs)

    @cached_property
    def _networks(self) -> SharedFits:
        return SharedFits(
            mf.MetricClassifier(random_state=self.seed), self.train, self.y, [FitSpec("mlp", "auto", METRICS[0])]
        )

    @cached_property
    def _lightgbm(self) -> tuple[Any, float]:
        begin = time.perf_counter()
        scores = lightgbm_scores(self.train, self.judge.known, self.test, len(self.judge.classes), self.seed)
        return scores, time.perf_counter() - begin

    @cached_property
    def _logistic(self) -> tuple[Any, float]:
        begin = time.perf_counter()
        return logistic_regression(self.train, self.y, self.seed), time.perf_counter() - begin


ARMS: dict[str, Callable[[Split, str], Answer]] = {
    ENSEMBLE: lambda split, metric: split.fit_shared("auto", "auto", metric),
    BOOSTING: lambda split, metric: split.fit_shared("boosting", "auto", metric),
    LIGHTGBM: lambda split, metric: split.fit_lightgbm(metric),
    TREES: lambda split, metric: split.fit_shared("boosting", "cross_entropy", metric),
    LINEAR: lambda split, metric: split.fit_shared("linear", "auto", metric),
    LOGISTIC_OFFSETS: lambda split, metric: split.fit_logistic(True, metric),
    LINEAR_THRESHOLD: lambda split, metric: split.fit_shared("linear", "threshold", metric),
    LOGISTIC: lambda split, metric: split.fit_logistic(False, metric),
    NETWORKS: lambda split, metric: split.fit_networks(None, metric),
    NETWORK: lambda split, metric: split.fit_networks(1, metric),
}


def evaluate_split(name: str, table: tuple[pd.DataFrame, Any], seed: int, rows: int) -> Iterator[Row]:
    """Rows of all models and metrics. A fit that raises an error gives a row without a score, with the error as its note."""
    split = Split(name, table, seed, rows)
    for method, fit in ARMS.items():
        for metric in METRICS:
            try:
                yield split.judge.row(method, metric, *fit(split, metric))
            except Exception as error:
                unknown = {"score": float("nan"), "seconds": float("nan"), "note": f"{FAILED}{type(error).__name__}: {error}"}
                yield {**split.judge.about, "metric": metric, "method": method, **unknown}
