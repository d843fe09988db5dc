r"""Controlled data for the study of where training for a metric pays: one thing varies, everything else stays.

Five features are standard normal. The logit of the positive class has a straight and a curved part of equal scale,

.. math:: \ell(x) = b + 2\, w^\top x + 2 c\, q(x), \qquad q(x) = x^\top A x - \operatorname{tr} A,

with a random direction :math:`w` of length one and a random symmetric matrix :math:`A` with
:math:`\operatorname{Var} q(x) = 2 \lVert A \rVert_F^2 = 1`. At :math:`c = 0` logistic regression is the truth. The intercept
:math:`b` gives the share of positives. Every replication draws its own :math:`w` and :math:`A`, so that no result hangs on one
boundary; the points of the study share these draws.

Wrong labels and outliers are in the training rows only. An outlier is a row five times as far from the centre, with the label
that the straight part speaks against.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

Floats = NDArray[np.float64]
Rows = tuple[Floats, NDArray[np.int64]]

N_FEATURES, SLOPE = 5, 2.0
FAR = 5.0  # times the distance of an outlier from the centre
N_TEST, N_FOR_SHARE = 20_000, 50_000
FACTORS = ("curve", "positives", "wrong", "outliers", "n_rows")


@dataclass(frozen=True)
class Point:
    """One setting of the study; the defaults are its base point."""

    curve: float = 0.0  # c: 0 is a logistic regression
    positives: float = 0.2  # share of the positive class
    wrong: float = 0.0  # share of training labels that are flipped
    outliers: float = 0.0  # share of training rows that are far away and mislabelled
    n_rows: int = 2000  # for training

    @property
    def name(self) -> str:
        """What differs from the base point, in words.

        >>> Point().name, Point(curve=1.0, wrong=0.1).name
        ('straight', 'curved, 10 % wrong labels')
        """
        kind = {0.0: "straight", 1.0: "curved", 2.0: "very curved"}.get(self.curve, f"curve {self.curve:g}")
        words = {
            "positives": f"{100 * self.positives:g} % positive",
            "wrong": f"{100 * self.wrong:g} % wrong labels",
            "outliers": f"{100 * self.outliers:g} % outliers",
            "n_rows": f"{self.n_rows:,} rows",
        }
        base = Point()
        return ", ".join([kind, *(text for key, text in words.items() if getattr(self, key) != getattr(base, key))])


LEVELS: dict[str, tuple[float, ...]] = {
    "curve": (0.0, 0.25, 0.5, 1.0, 2.0),
    "positives": (0.5, 0.2, 0.1, 0.05, 0.02),
    "wrong": (0.0, 0.1, 0.2, 0.3),
    "outliers": (0.0, 0.01, 0.03, 0.1),
    "n_rows": (200, 500, 2000, 20_000),
}
STRAIGHT, CURVED, VERY_CURVED = 0.0, 1.0, 2.0


def series(factor: str, curve: float) -> list[Point]:
    """The points of one line of the figure: ``factor`` varies, everything else is as in the base point with this curve.

    >>> [point.name for point in series("wrong", 1.0)][:2]
    ['curved', 'curved, 10 % wrong labels']
    """
    base: dict[str, Any] = {"curve": curve}
    return [Point(**{**base, factor: int(level) if factor == "n_rows" else level}) for level in LEVELS[factor]]


def all_points() -> dict[str, Point]:
    """Every factor on straight and on curved data; the share of positives on very curved data as well."""
    lines = [("curve", STRAIGHT), ("positives", VERY_CURVED)]
    lines += [(factor, curve) for factor in FACTORS[1:] for curve in (STRAIGHT, CURVED)]
    return {point.name: point for factor, curve in lines for point in series(factor, curve)}


POINTS = all_points()


@dataclass(frozen=True)
class Law:
    """The distribution of one replication at one point."""

    direction: Floats
    form: Floats  # A, symmetric
    curve: float
    intercept: float

    def straight_part(self, features: Floats) -> Floats:
        return SLOPE * features @ self.direction

    def logit(self, features: Floats) -> Floats:
        """
        >>> law = Law(np.array([1.0, 0.0]), np.diag([0.5, 0.5]), 1.0, -1.0)
        >>> float(law.logit(np.array([[2.0, 0.0]]))[0])        # -1 + 2 * 2 + 2 * (0.5 * 4 - 1)
        5.0
        """
        curved = np.einsum("ni,ij,nj->n", features, self.form, features) - np.trace(self.form)
        return self.intercept + self.straight_part(features) + SLOPE * self.curve * curved


def draw_law(point: Point, seed: int) -> Law:
    """The direction and the form depend on the seed alone; the intercept gives the point's share of positives."""
    random = np.random.default_rng([seed, 0])
    direction, square = random.standard_normal(N_FEATURES), random.standard_normal((N_FEATURES, N_FEATURES))
    form = (square + square.T) / 2.0
    law = Law(direction / np.linalg.norm(direction), form / np.sqrt(2.0 * (form**2).sum()), point.curve, 0.0)
    logits = law.logit(random.standard_normal((N_FOR_SHARE, N_FEATURES)))
    intercept = brentq(lambda b: float(expit(logits + b).mean()) - point.positives, -100.0, 100.0)
    return replace(law, intercept=intercept)


def draw_rows(point: Point, seed: int) -> tuple[Rows, Rows]:
    """Training rows, with the point's wrong labels and outliers, and clean test rows."""
    law, random = draw_law(point, seed), np.random.default_rng([seed, 1])
    test = _draw_clean(law, N_TEST, random)
    features, labels = _draw_clean(law, point.n_rows, random)
    order = random.permutation(point.n_rows)  # rows that are spoilt first, so that a larger share contains a smaller one
    flipped = order[: round(point.wrong * point.n_rows)]
    labels[flipped] = 1 - labels[flipped]
    far = order[: round(point.outliers * point.n_rows)]
    features[far] *= FAR
    labels[far] = law.straight_part(features[far]) < 0.0
    return (features, labels), test


def _draw_clean(law: Law, n_rows: int, random: np.random.Generator) -> Rows:
    features = random.standard_normal((n_rows, N_FEATURES))
    return features, (random.random(n_rows) < expit(law.logit(features))).astype(np.int64)
