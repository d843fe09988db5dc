r"""The shares of the classes in rows without labels.

If only the shares of the classes change, the probabilities p of a calibrated model become, up to a factor per row,
:math:`p\,\pi'/\pi`, with the old shares :math:`\pi` and the new ones :math:`\pi'`. These are estimated by EM (Saerens et al.,
"Adjusting the outputs of a classifier to new a priori probabilities", 2002), with pseudo-rows at the old shares.

No calibration is exact, so the intervals do not rely on it. Within each class, the mean of any function of the scores is the
same in new rows. The mean over all rows is a mixture of these means, weighted by the shares, which gives equations for the
shares. The functions are the probabilities at the shares that EM found. Bella et al., "Quantification via probability
estimators", 2010, call this method "scaled probability average".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from metricfit._typing import Floats
from metricfit.decisions._calibration import calibrate
from metricfit.decisions._intervals import Z
from metricfit.decisions._rows import Rows

PSEUDO_ROWS = 10.0
_MOST_ROUNDS, _TOLERANCE = 5000, 1e-9
LEAST_SEPARATION = 0.02  # of a class from the others, where its share can be estimated


def estimate_shares(rows: Rows, shares: Floats, new: Floats, classes: Sequence[Any]) -> tuple[Floats, Floats]:
    """The shares of the classes (k,) in new scores (m, k), and their 95 % intervals (k, 2), given the rows of a fit.

    A ValueError says why the shares cannot be known.
    """
    if not shares.all():
        label = classes[int(shares.argmin())]
        raise ValueError(f"`adapt` needs rows of every class in the fit, but it had none of {label!r}.")
    calibration = calibrate(rows.scores, rows.labels, rows.weight)
    if calibration.scale == 0.0:
        raise ValueError("`adapt` needs scores that rise with the probability of their class. Pass shares to for_prevalence.")
    own, probabilities = map(calibration.probabilities, (rows.scores, new))
    separated = separation(own, rows.weight, shares)
    if separated.min() < LEAST_SEPARATION:
        label = classes[int(separated.argmin())]
        raise ValueError(
            f"`adapt` cannot estimate the share of {label!r}: the scores hardly separate it from the others. If you know "
            "the shares, pass them to for_prevalence."
        )
    found = shares_by_em(probabilities, shares)
    return found, _intervals(rows, own, probabilities, shares, found)


def _intervals(rows: Rows, own: Floats, probabilities: Floats, shares: Floats, found: Floats) -> Floats:
    r"""Intervals (k, 2) by moments of probabilities in the rows of the fit and in new rows; they include ``found``.

    As in Wilson's interval of a share, the error is that at each end: the shares :math:`\pi` with
    :math:`(\hat\pi - \pi)^2 \le z^2 V(\pi)`, where the other classes keep their proportions. V is a square function.
    """
    one_hot = np.eye(len(shares))[rows.labels]
    own, new = (_at(one, found / shares) for one in (own, probabilities))
    share_of = one_hot * rows.weight[:, None] / (rows.weight @ one_hot)  # of each row in its class
    inverse = np.linalg.inv(share_of.T @ own + 1e-12 * np.eye(len(shares)))  # also of two classes with the same scores
    moments, rest = new.mean(0) @ inverse, own @ inverse - one_hot  # whose means within classes are zero
    # variances of a new row and of the mean of the rows of the fit, within the class and within the others, all (k,)
    (row, row_others), (fit, fit_others) = (
        (table.diagonal(), (power @ table - power * table.diagonal()) / whole)
        for table, power, whole in (
            (share_of.T @ rest**2, found, 1.0 - found),
            ((share_of**2).T @ rest**2, found**2, (1.0 - found) ** 2),
        )
    )
    n, square = len(new), Z * Z
    a = 1.0 - square * (fit + fit_others - 1.0 / n)
    b = moments + square * (0.5 * (row - row_others + 1.0) / n - fit_others)
    c = moments**2 - square * (row_others / n + fit_others)
    root, is_known = np.sqrt(np.maximum(b * b - a * c, 0.0)), a > 0.0
    low, high = (
        np.where(is_known, (b + side * root) / np.where(is_known, a, 1.0), end) for side, end in ((-1, 0.0), (1, 1.0))
    )
    return np.stack([np.clip(low, 0.0, found), np.clip(high, found, 1.0)], 1)


def _at(probabilities: Floats, ratio: Floats) -> Floats:
    """Probabilities (n, k) for shares that are ``ratio`` times as large, (k,)."""
    changed = probabilities * ratio
    return changed / changed.sum(1, keepdims=True)


def complete_shares(given: Mapping[Any, float], shares: Floats, classes: list[Any]) -> Floats:
    """The shares of all classes, where those that are not given keep the proportions of ``shares``."""
    if not isinstance(given, Mapping):
        example = {classes[int(shares.argmin())]: 0.01}
        raise TypeError(f"`shares` should be a dict of classes and their shares, such as {example}, got {given!r}.")
    given = {label: float(share) for label, share in given.items()}
    if unknown := [label for label in given if label not in classes]:
        raise ValueError(f"`shares` should name classes of the rule, {classes}, got {unknown[0]!r}.")
    left_out = np.array([label not in given for label in classes])
    rest = 1.0 - sum(given.values())
    if not given or not all(share > 0.0 for share in given.values()) or (rest <= 0.0 if left_out.any() else abs(rest) > 1e-9):
        raise ValueError(f"`shares` should be positive and sum to one, or to less if classes are left out, got {given}.")
    if absent := [label for label, share in zip(classes, shares, strict=True) if share == 0.0 and label in given]:
        raise ValueError(f"`shares` should name classes with rows in the fit, got {absent[0]!r}.")
    found = np.where(left_out, rest * shares / (shares[left_out].sum() or 1.0), 0.0)
    return found + np.array([given.get(label, 0.0) for label in classes])


def shares_by_em(probabilities: Floats, shares: Floats) -> Floats:
    """The shares of the classes in rows with these calibrated probabilities (n, k), by EM from the old shares (k,).

    >>> found = shares_by_em(np.array([[0.9, 0.1]] * 90 + [[0.1, 0.9]] * 10), np.array([0.5, 0.5]))
    >>> found.round(2).tolist()                         # the pseudo-rows keep 0.1 of the second class; without them it is 0
    [0.9, 0.1]
    """
    n, found = len(probabilities), shares
    for _ in range(_MOST_ROUNDS):
        before = found
        found = (_at(probabilities, found / shares).sum(0) + PSEUDO_ROWS * shares) / (n + PSEUDO_ROWS)
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
