r"""When not to answer: where the answer is too likely to be wrong, or too expensive.

The risk of an answer is the calibrated probability that it is wrong, or its expected cost. A row is answered if its risk is
below a threshold. For a cost of not answering that cost is the threshold (Chow, 1970). For a limit of the error among answered
rows it is the largest threshold that keeps the limit, on these rows or with a promise: the answered rows that are right are
binomial, so the promise is that of precision in :mod:`metricfit.decisions._promise`.

Its tests start where the model's probabilities expect most evidence. A model that is too sure of itself expects it among too
many rows, where the limit does not hold, and the first test ends it all. So where no rows could be spared to calibrate the
model, a second sequence starts where a model with a third of its log-odds would. It gets a fifth of the error level, and the
first gets the rest (Bonferroni).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from metricfit._typing import Floats
from metricfit.decisions._constraints import ClassConstraint, Constraint
from metricfit.decisions._intervals import Interval, binomial_interval
from metricfit.decisions._promise import Path, fewest_rows, promise
from metricfit.metrics import Accuracy

N_POINTS = 200  # of a curve
CAUTION = ((0.8, 1.0), (0.2, 3.0))  # shares of the error level, and what log-odds are divided by to find a start
_LIMIT = re.compile(r"\s*error\s*<=\s*(?P<limit>[.\deE+-]+)\s*(?P<percent>%?)\s*")
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Abstention:
    """Rows whose risk is at least the threshold get no answer; ``is_money`` says whether the risk is an expected cost."""

    threshold: float
    is_money: bool = False


def read_limit(abstain: Any) -> float:
    """The largest error among answered rows, from ``"error <= 0.02"``.

    >>> read_limit("error <= 2%")
    0.02
    """
    found = _LIMIT.fullmatch(abstain) if isinstance(abstain, str) else None
    try:
        limit = float(found["limit"]) / (100.0 if found["percent"] else 1.0) if found else math.nan
    except ValueError:
        limit = math.nan
    if not 0.0 < limit < 1.0:
        raise ValueError(f"`abstain` should be a limit such as 'error <= 0.02' or 'error <= 2%', got {abstain!r}.")
    return limit


def fit_threshold(
    risk: Floats, is_wrong: Bools, weight: Floats, limit: float, confidence: float | None, is_calibrated: bool = True
) -> tuple[float, str]:
    """The largest threshold of the risk (n,) that keeps the error of answered rows at most at the limit.

    ``is_calibrated`` says whether the risk can be trusted to find where tests should start. If the limit cannot be kept, a
    sentence says so, and the threshold keeps the best limit that can be.
    """
    path = Path.of(np.stack([np.zeros(len(risk)), -risk], 1), 1)
    if confidence is None:
        errors, answered = (np.append(0.0, np.cumsum(one[path.order]))[path.sizes] for one in (weight * is_wrong, weight))
        kept = np.flatnonzero((errors <= limit * answered * (1.0 + 1e-12)) & (answered > 0.0))
        if len(kept):
            return float(path.shifts[kept[-1]]), ""
        text = f"Not attainable: however few of these {len(risk):,} rows are answered, the error is above {limit:g}."
        return float(path.shifts[min(1, len(path.shifts) - 1)]), text
    constraint = ClassConstraint(Constraint("precision", ">=", 1.0 - limit), 1, Accuracy())
    best, odds = (0.0, 1), logit(np.clip(1.0 - risk, 1e-12, 1.0 - 1e-12))
    passed, sequences = list[int](), ((1.0, 1.0),) if is_calibrated else CAUTION
    for share, divisor in sequences:
        promised = promise(path, ~is_wrong, expit(odds / divisor), constraint, share * (1.0 - confidence))
        passed += np.flatnonzero(promised.cuts).tolist()
        best = max(best, (promised.limit or 0.0, promised.cut))
    if passed:
        return float(path.shifts[max(passed)]), ""
    needed = fewest_rows(constraint.constraint, sequences[0][0] * (1.0 - confidence))
    more = f" It needs at least {needed:,} answered rows." if len(risk) < needed else ""
    return (
        float(path.shifts[best[1]]),
        f"Not attainable: the smallest error of answered rows that can be promised with {confidence:.0%} confidence from "
        f"{len(risk):,} rows is {1.0 - best[0]:.3g}.{more}",
    )


@dataclass(frozen=True)
class CoverageCurve:
    """The error of answered rows with its 95 % interval, over the share of rows that are answered, the least risk first."""

    coverage: Floats
    error: Floats
    low: Floats
    high: Floats
    threshold: Floats  # of the risk

    @classmethod
    def of(cls, risk: Floats, is_wrong: Bools) -> Self:
        """
        >>> CoverageCurve.of(np.array([0.1, 0.4, 0.2, 0.3]), np.array([False, True, False, False])).error.tolist()
        [0.0, 0.0, 0.0, 0.25]
        """
        order = np.argsort(risk, kind="stable")
        index = np.unique(np.linspace(0, len(risk) - 1, min(N_POINTS, len(risk))).astype(np.int64))
        n_wrong, n_answered = np.cumsum(is_wrong[order])[index].astype(np.float64), (index + 1).astype(np.float64)
        low, high = binomial_interval(n_wrong, n_answered)
        return cls(n_answered / len(risk), n_wrong / n_answered, low, high, risk[order][index])


def shares_of(is_answered: Bools, is_wrong: Bools, weight: Floats) -> dict[str, Any]:
    """The share of answered rows and their error; with intervals, which are exact if all rows count alike."""

    def share(hits: Bools, among: Bools) -> tuple[float, Interval]:
        total, part = float(weight[among].sum()), float(weight[hits & among].sum())
        n = total**2 / float((weight[among] ** 2).sum()) if total else 0.0  # rows that count alike and say as much
        low, high = binomial_interval(n * part / total, n) if total else (0.0, 1.0)
        return (part / total if total else 0.0), (float(low), float(high))

    (coverage, ends), (error, error_ends) = share(is_answered, np.ones(len(weight), bool)), share(is_wrong, is_answered)
    return {"coverage": coverage, "interval": ends, "error": error, "error_interval": error_ends}
