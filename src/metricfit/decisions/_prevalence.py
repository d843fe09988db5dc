r"""The shares of the classes in rows without labels.

If only the shares of the classes change, the probabilities p of a calibrated model become, up to a factor per row,
:math:`p\,\pi'/\pi`, with the old shares :math:`\pi` and the new ones :math:`\pi'`. These are estimated by EM (Saerens et al.,
"Adjusting the outputs of a classifier to new a priori probabilities", 2002), with pseudo-rows at the old shares.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from metricfit._typing import Floats
from metricfit.decisions._intervals import Z

PSEUDO_ROWS = 10.0
_MOST_ROUNDS, _TOLERANCE = 5000, 1e-9


@dataclass(frozen=True)
class Shares:
    """Estimated shares (k,) and their 95 % intervals (k, 2)."""

    values: Floats
    intervals: Floats


def estimate_shares(probabilities: Floats, shares: Floats, others: Iterable[Floats] = ()) -> Shares:
    """The shares of the classes in rows with these calibrated probabilities (n, k), by EM from the old shares (k,).

    ``others`` are probabilities of the same rows, or of some of them, by calibrations that leave out a part of the rows they
    were fitted to, one part each. The interval then includes the error of the calibration, by the jackknife.

    >>> found = estimate_shares(np.array([[0.9, 0.1]] * 90 + [[0.1, 0.9]] * 10), np.array([0.5, 0.5]))
    >>> found.values.round(2).tolist()                  # the pseudo-rows keep 0.1 of the second class; without them it is 0
    [0.9, 0.1]
    """
    found = _iterate(probabilities, shares, shares)
    ratio = probabilities / shares
    total = (ratio * found).sum(1, keepdims=True)
    rest = (total - ratio * found) / (1.0 - found)
    information = (((ratio - rest) / total) ** 2).sum(0)  # about each share, while the others keep their proportions
    squares = 1.0 / (np.maximum(information, 1e-300) * (found * (1.0 - found)) ** 2)  # of the errors of logits
    without = np.array([logit(_iterate(one, shares, found)) for one in others])
    if len(without) > 1:
        squares += (len(without) - 1) * without.var(0)
    step = Z * np.sqrt(squares)
    return Shares(found, expit(logit(found)[:, None] + np.stack([-step, step], 1)))


def _iterate(probabilities: Floats, shares: Floats, start: Floats) -> Floats:
    """The shares at which EM stands still."""
    ratio, n, found = probabilities / shares, len(probabilities), start
    for _ in range(_MOST_ROUNDS):
        before, mixed = found, ratio * found
        found = ((mixed / mixed.sum(1, keepdims=True)).sum(0) + PSEUDO_ROWS * shares) / (n + PSEUDO_ROWS)
        if np.abs(found - before).max() < _TOLERANCE:
            break
    return found


def separation(probabilities: Floats, weight: Floats, shares: Floats) -> Floats:
    r"""How well calibrated probabilities (n, k) separate each class from the others, from 0 to 1, (k,).

    It is the variance of the probability over that of the label, :math:`Var(p) / (\pi (1 - \pi))`. At the shares of these rows
    it is also what an unlabelled row says of the share of the class, in labelled rows.

    >>> separation(np.array([[0.9, 0.1], [0.1, 0.9]]), np.ones(2), np.array([0.5, 0.5])).round(2).tolist()
    [0.64, 0.64]
    """
    return weight @ (probabilities - shares) ** 2 / (weight.sum() * shares * (1.0 - shares))
