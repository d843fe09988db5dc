"""Logistic regression from sums over rows: the steps of scikit-learn's solvers, so that the result is that of memory.

The in-memory fit stops where the largest entry of the gradient is below 1e-4. Two descents that stop so early agree to many
digits only if they take the same steps. Therefore this module has the rules of scikit-learn's ``newton-cholesky`` and
``lbfgs``: start, step, line search and stopping. A test compares the two.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgWarning, solve
from scipy.optimize import minimize

from metricfit._typing import Floats
from metricfit.learners import LinearModel
from metricfit.learners._descent import MAX_STEPS
from metricfit.learners._linear import MAX_NEWTON
from metricfit.shards._questions import CrossEntropy, hessian_of
from metricfit.shards._together import Ask

TOLERANCE = 1e-4  # of LogisticRegression: largest entry of a gradient, and half the squared Newton decrement
_EPSILON = float(np.finfo(np.float64).eps)


@dataclass
class CrossEntropyPath:
    """Models of one fold for every inverse penalty, from the strongest penalty to the weakest; each starts at the last."""

    fold: int
    class_weight: Floats
    total_weight: float  # of the training rows
    n_features: int
    strengths: Sequence[float]

    def __call__(self, ask: Ask) -> list[LinearModel]:
        k = len(self.class_weight)
        n_columns = 1 if k == 2 else k
        self._newton = (self.n_features + 1) * n_columns <= MAX_NEWTON
        flat, found = np.zeros(n_columns * (self.n_features + 1)), []
        self._known: tuple[bytes, tuple[float, Floats, Floats]] | None = None
        for strength in self.strengths:
            penalty = 1.0 / (strength * self.total_weight)
            flat = (_newton if self._newton else _lbfgs)(_Penalized(self, ask, penalty), flat, MAX_STEPS)
            found.append(self._model(flat))
        return found

    def sums(self, ask: Ask, flat: Floats) -> tuple[float, Floats, Floats]:
        """Mean cross-entropy, gradient and Hessian; those of the last point are kept, where the next penalty starts."""
        if self._known is None or self._known[0] != flat.tobytes():
            asked = CrossEntropy(self._model(flat), self.fold, self.class_weight, self._newton)
            (loss,), slopes, blocks = ask(asked)
            hessian = hessian_of(blocks) / self.total_weight if blocks else np.zeros((0, 0))
            values = float(loss) / self.total_weight, slopes.T.ravel() / self.total_weight, hessian
            self._known = flat.tobytes(), values
        return self._known[1]

    def _model(self, flat: Floats) -> LinearModel:
        stacked = flat.reshape(-1, self.n_features + 1).T
        return LinearModel(stacked[:-1].copy(), stacked[-1].copy(), np.zeros(len(self.class_weight)))


@dataclass
class _Penalized:
    """Cross-entropy plus the penalty on weights, as a function of all parameters: one class after the other."""

    path: CrossEntropyPath
    ask: Ask
    penalty: float

    def value_and_gradient(self, flat: Floats) -> tuple[float, Floats]:
        loss, gradient, _ = self.path.sums(self.ask, flat)
        penalized = flat * self._penalized(flat)
        return loss + 0.5 * self.penalty * float(penalized @ penalized), gradient + self.penalty * penalized

    def hessian(self, flat: Floats) -> Floats:
        return self.path.sums(self.ask, flat)[2] + self.penalty * np.diag(self._penalized(flat))

    def _penalized(self, flat: Floats) -> Floats:
        """1 for weights and 0 for intercepts."""
        return (np.arange(1, len(flat) + 1) % (self.path.n_features + 1) != 0).astype(np.float64)

    @property
    def several(self) -> bool:
        """Whether a constant can be added to all intercepts: that of the last class stays where it is."""
        return len(self.path.class_weight) > 2


def _newton(objective: _Penalized, flat: Floats, n_steps: int) -> Floats:
    """Newton's steps with a line search. L-BFGS goes on where the Hessian is singular or the search fails."""
    value, gradient = objective.value_and_gradient(flat)
    free = len(flat) - int(objective.several)
    for done in range(n_steps):
        hessian = objective.hessian(flat)[:free, :free]
        step = _newton_step(hessian, gradient[:free])
        slope = np.inf if step is None else float(gradient[:free] @ step)
        if step is None or slope > 0.0:
            return _lbfgs(objective, flat, n_steps - done)
        searched = _search(objective, flat, value, gradient, np.append(step, np.zeros(len(flat) - free)), slope)
        if searched is None:
            return _lbfgs(objective, flat, n_steps - done)
        flat, value, gradient = searched
        if np.abs(gradient).max() <= TOLERANCE and 0.5 * float(step @ hessian @ step) <= TOLERANCE:
            break
    if objective.several:
        intercepts = flat.reshape(len(objective.path.class_weight), -1)[:, -1]
        intercepts -= intercepts.mean()
    return flat


def _newton_step(hessian: Floats, gradient: Floats) -> Floats | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", LinAlgWarning)
            return solve(hessian, -gradient, check_finite=False, assume_a="sym")
    except (np.linalg.LinAlgError, LinAlgWarning):
        return None


def _search(
    objective: _Penalized, flat: Floats, value: float, gradient: Floats, step: Floats, slope: float
) -> tuple[Floats, float, Floats] | None:
    """Halve the step until the value falls enough; near the precision of a float, until the gradient falls."""
    for size in 0.5 ** np.arange(21):
        trial = flat + size * step
        new_value, new_gradient = objective.value_and_gradient(trial)
        enough = new_value - value <= size * slope / 2**11
        tiny = abs(new_value - value) <= 16 * _EPSILON * abs(value)
        if enough or (tiny and np.abs(new_gradient).sum() < np.abs(gradient).sum()):
            return trial, new_value, new_gradient
    return None


def _lbfgs(objective: _Penalized, flat: Floats, n_steps: int) -> Floats:
    options = {"maxiter": n_steps, "maxls": 50, "gtol": TOLERANCE, "ftol": 64 * _EPSILON}
    return minimize(objective.value_and_gradient, flat, jac=True, method="L-BFGS-B", options=options).x
