r"""The shares of the classes in rows without labels.

If only the shares of the classes change, the probabilities p of a calibrated model become, up to a factor per row,
:math:`p\,\pi'/\pi`, with the old shares :math:`\pi` and the new ones :math:`\pi'`. These are estimated by EM (Saerens et al.,
"Adjusting the outputs of a classifier to new a priori probabilities", 2002), with pseudo-rows at the old shares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from metricfit._typing import Floats
from metricfit.decisions._calibration import fit_scale_and_bias
from metricfit.decisions._intervals import Z
from metricfit.decisions._smoothed import softmax_and_normalizer
from metricfit.decisions._solve import Rows, rank_in_class

PSEUDO_ROWS = 10.0
_MOST_ROUNDS, _TOLERANCE = 5000, 1e-9
N_PARTS, MOST_RECALIBRATED = 10, 10_000  # of the rows of the fit, and new rows that show the error of the calibration
LEAST_SEPARATION = 0.02  # of a class from the others, where its share can be estimated


@dataclass(frozen=True)
class Shares:
    """Estimated shares (k,) and their 95 % intervals (k, 2)."""

    values: Floats
    intervals: Floats


def estimate_shares(rows: Rows, shares: Floats, new: Floats, classes: Sequence[Any]) -> Shares:
    """The shares of the classes in new scores (m, k), given the rows of a fit and their shares.

    The scores are calibrated on the rows of the fit. The interval includes the error of this calibration, which others that
    leave out a tenth of each class show. A ValueError says why the shares cannot be known.
    """
    if not shares.all():
        label = classes[int(shares.argmin())]
        raise ValueError(f"`adapt` needs rows of every class in the fit, but it had none of {label!r}.")
    scale, bias = fit_scale_and_bias(rows.scores, rows.labels, rows.weight)
    if scale == 0.0:
        raise ValueError("`adapt` needs scores that rise with the probability of their class. Pass shares to for_prevalence.")
    separated = separation(softmax_and_normalizer(scale * rows.scores + bias)[0], rows.weight, shares)
    if separated.min() < LEAST_SEPARATION:
        label = classes[int(separated.argmin())]
        raise ValueError(
            f"`adapt` cannot estimate the share of {label!r}: the scores hardly separate it from the others. If you know "
            "the shares, pass them to for_prevalence."
        )
    return shares_by_em(softmax_and_normalizer(scale * new + bias)[0], shares, _recalibrated(rows, new))


def _recalibrated(rows: Rows, new: Floats) -> Iterator[Floats]:
    """Probabilities of some new rows by calibrations that leave out a tenth of each class."""
    some, part = new[:: -(-len(new) // MOST_RECALIBRATED)], rank_in_class(rows.labels) % N_PARTS
    for number in range(N_PARTS):
        kept = rows.take(part != number)
        scale, bias = fit_scale_and_bias(kept.scores, kept.labels, kept.weight)
        yield softmax_and_normalizer(scale * some + bias)[0]


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


def shares_by_em(probabilities: Floats, shares: Floats, others: Iterable[Floats] = ()) -> Shares:
    """The shares of the classes in rows with these calibrated probabilities (n, k), by EM from the old shares (k,).

    ``others`` are probabilities of the same rows, or of some of them, by calibrations that leave out a part of the rows they
    were fitted to, one part each. The interval then includes the error of the calibration, by the jackknife.

    >>> found = shares_by_em(np.array([[0.9, 0.1]] * 90 + [[0.1, 0.9]] * 10), np.array([0.5, 0.5]))
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
