"""One contender on one split."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from metricfit._table import Table
from metricfit._typing import Floats, Ints
from metricfit.comparison._features import Coefficients
from metricfit.comparison._statistics import score_of
from metricfit.metrics import Metric

MOST_ANSWERS = 50  # classes that are tried as a constant answer, the largest first


@dataclass(frozen=True)
class HeldOutPrediction:
    """Out-of-fold predictions: scores (n, k), whose argmax is the label, and calibrated probabilities (n, k)."""

    scores: Floats
    probability: Floats

    @property
    def predicted(self) -> Ints:
        return self.scores.argmax(1)


@dataclass(frozen=True)
class Outcome:
    """Score, held-out predictions and fitted values."""

    score: float
    seconds: float
    held_out: HeldOutPrediction
    offsets: Floats
    temperature: float
    history: Table
    chosen: str
    coefficients: Coefficients = field(default_factory=dict)  # of the linear reference
    importance: Floats | None = None  # (columns,): what the metric loses where a column is shuffled


def constant_outcome(metric: Metric, train: Ints, test: Ints, n_classes: int) -> Outcome:
    """The best constant answer for the training rows, judged on the test rows."""
    begin, counts = time.perf_counter(), np.bincount(train, minlength=n_classes)
    largest = np.argsort(-counts, kind="stable")[:MOST_ANSWERS]
    values = [score_of(metric, np.full(len(train), label), train, n_classes) for label in largest]
    answer = int(largest[int(np.argmax(np.nan_to_num(values, nan=-np.inf)))])
    scores = np.tile(np.eye(n_classes)[answer], (len(test), 1))
    probability = np.tile(counts / counts.sum(), (len(test), 1))
    return Outcome(
        score_of(metric, np.full(len(test), answer), test, n_classes),
        time.perf_counter() - begin,
        HeldOutPrediction(scores, probability),
        np.zeros(n_classes),
        1.0,
        Table(),
        str(answer),  # the place of the class
    )
