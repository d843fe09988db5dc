r"""The shares of the classes in rows without labels.

If only the shares of the classes change, the probabilities p of a calibrated model become, up to a factor per row,
:math:`p\,\pi'/\pi`, with the old shares :math:`\pi` and the new ones :math:`\pi'`. These are estimated by EM (Saerens et al.,
"Adjusting the outputs of a classifier to new a priori probabilities", 2002), with pseudo-rows at the old shares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from metricfit._typing import Floats

PSEUDO_ROWS = 10.0
_MOST_ROUNDS, _TOLERANCE = 5000, 1e-9
_Z = 1.959964


@dataclass(frozen=True)
class Shares:
    """Estimated shares (k,) and their 95 % intervals (k, 2)."""

    values: Floats
    intervals: Floats


def estimate_shares(probabilities: Floats, shares: Floats) -> Shares:
    """The shares of the classes in rows with these calibrated probabilities (n, k), by EM from the old shares (k,).

    >>> found = estimate_shares(np.array([[0.9, 0.1]] * 90 + [[0.1, 0.9]] * 10), np.array([0.5, 0.5]))
    >>> found.values.round(2).tolist()                  # the pseudo-rows keep 0.1 of the second class; without them it is 0
    [0.9, 0.1]
    """
    ratio, n = probabilities / shares, len(probabilities)
    found = shares.copy()
    for _ in range(_MOST_ROUNDS):
        before = found
        mixed = ratio * found
        found = ((mixed / mixed.sum(1, keepdims=True)).sum(0) + PSEUDO_ROWS * shares) / (n + PSEUDO_ROWS)
        if np.abs(found - before).max() < _TOLERANCE:
            break
    total = (ratio * found).sum(1, keepdims=True)
    others = (total - ratio * found) / (1.0 - found)
    information = (((ratio - others) / total) ** 2).sum(0)  # about each share, while the others keep their proportions
    error = 1.0 / np.sqrt(np.maximum(information, 1e-300))
    step = _Z * error / (found * (1.0 - found))
    intervals = expit(logit(found)[:, None] + np.stack([-step, step], 1))
    return Shares(found, intervals)


def separation(probabilities: Floats, weight: Floats, shares: Floats) -> Floats:
    r"""How well calibrated probabilities (n, k) separate each class from the others, from 0 to 1, (k,).

    It is the variance of the probability over that of the label, :math:`Var(p) / (\pi (1 - \pi))`. At the shares of these rows
    it is also what an unlabelled row says of the share of the class, in labelled rows.

    >>> separation(np.array([[0.9, 0.1], [0.1, 0.9]]), np.ones(2), np.array([0.5, 0.5])).round(2).tolist()
    [0.64, 0.64]
    """
    return weight @ (probabilities - shares) ** 2 / (weight.sum() * shares * (1.0 - shares))
