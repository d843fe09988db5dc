"""Draws a loss, scores, targets and weights from one seed, most of them at the ends of what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

import metricfit as mf
from metricfit.losses import ClassificationLoss, CrossEntropyLoss

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
LINKS = ("linear", "log", "leaky", "leaky(3)", "power(0.3)")
WIDTHS = (1.0, 1.0, 10.0, 0.1, 0.01, 1e-6, 1e-20, 1e-300, 1e6, 1e20, 1e300)
TEMPERATURES = (0.2, 0.2, 0.05, 0.39, 1e-10, 1e-300)
MARGINS = (None, None, 0.0, 0.5, 10.0, 1e30)
SCORES = ("ordinary", "huge", "maximum", "tiny", "denormal", "zero", "mixed", "ties", "constant", "far", "levels")
LAYOUTS = ("plain", "plain", "plain", "transposed", "strided", "expanded", "offset", "pixels")
WEIGHTS = ("none", "none", "none", "random", "zero", "one zero", "least", "huge", "mixed")


@dataclass(frozen=True)
class Case:
    """A loss and its arguments; ``scores`` are contiguous, ``layout`` is how they are passed."""

    loss: ClassificationLoss
    scores: Tensor  # (n, k)
    target: Tensor  # (n,), or (n, k)
    weight: Tensor | None
    layout: str
    words: str  # what was drawn
    known: tuple[Tensor, Tensor] | None = None  # value and gradient

    @property
    def n_rows(self) -> int:
        return len(self.scores)

    @property
    def is_mean(self) -> bool:
        return self.loss.reduction == "mean"

    @property
    def normalizes(self) -> bool:
        return bool(getattr(self.loss, "normalize_scores", False))

    @property
    def is_comparable(self) -> bool:
        """Whether another order of sums gives the same numbers: not for random ones, nor for noise below rounding errors."""
        smoothing = getattr(self.loss, "smoothing", None)
        method, width = getattr(smoothing, "method", "quadrature"), 1.0 if smoothing is None else float(smoothing.width)
        if isinstance(smoothing, mf.smoothing.Hard):
            width = 0.0
        least = 1e-12 if self.scores.dtype == torch.float64 else 1e-4
        return method == "quadrature" and not (self.normalizes and width < least)

    def changed(self, **changes: Any) -> Case:
        return replace(self, **{"known": None, **changes})

    def rows(self, index: Any) -> Case:
        """The same loss of these rows."""
        weight = None if self.weight is None else self.weight[index]
        return self.changed(scores=self.scores[index], target=self.target[index], weight=weight)


def draw_case(random: np.random.Generator) -> Case:
    k, dtype = int(random.integers(2, 13)), pick(random, DTYPES)
    n = int(random.integers(1, 65 if random.random() < 0.2 else 9))
    names: dict[str, Any] = {"dtype": str(dtype).removeprefix("torch."), "n": n, "k": k}
    loss = draw_loss(random, k)
    names["scores"] = pick(random, SCORES)
    scores = draw_scores(random, names["scores"], n, k, dtype)
    target = draw_target(random, loss, scores)
    names["weight"], layout = pick(random, WEIGHTS), pick(random, LAYOUTS)
    weight = draw_weight(random, names["weight"], n)
    if names["weight"] == "one zero":
        scores[int(weight.argmin())] = draw_scores(random, "maximum", 1, k, dtype)[0]
    if layout == "expanded":
        scores = scores[:1].repeat(n, 1)
    words = " ".join(f"{name}={value}" for name, value in names.items())
    return Case(loss, scores, target, weight, layout, f"{' '.join(repr(loss).split())}, {words} layout={layout}")


def pick(random: np.random.Generator, options: Any) -> Any:
    return options[int(random.integers(len(options)))]


def draw_loss(random: np.random.Generator, k: int) -> ClassificationLoss:
    return pick(random, (_exact, _exact, _expected, _leaky, _east, _metric, _metric, _metric, _cost, _baseline))(random, k)


def draw_scores(random: np.random.Generator, kind: str, n: int, k: int, dtype: torch.dtype) -> Tensor:
    """Scores (n, k), finite in their dtype."""
    limits = torch.finfo(dtype)
    numbers = random.standard_normal((n, k))
    low, high = np.log10(limits.tiny), np.log10(limits.max)
    match kind:
        case "ordinary":
            numbers *= 10.0 ** random.uniform(-3, 3)
        case "huge":
            numbers = np.sign(numbers) * random.uniform(0.2, 1.0, (n, k)) * limits.max
        case "maximum":
            numbers = np.sign(numbers) * limits.max
        case "tiny":
            numbers *= 10.0 ** random.uniform(low + 1, 0.3 * low)
        case "denormal":
            numbers *= limits.tiny * 10.0 ** random.uniform(-3, 0)
        case "zero":
            numbers = np.copysign(0.0, numbers)
        case "mixed":
            numbers = np.sign(numbers) * 10.0 ** random.uniform(low, high - 0.1, (n, k))
        case "ties":
            numbers = random.integers(-2, 3, (n, k)) * 10.0 ** random.integers(-3, 4)
        case "constant":
            numbers = np.full((n, k), float(numbers[0, 0]) * 10.0 ** random.uniform(low, high - 1))
        case "far":
            numbers += random.standard_normal((n, 1)) * 10.0 ** random.uniform(0, 4)
        case "levels":
            numbers = random.choice([-1.0, 0.0, 1.0, limits.max, -limits.max, limits.tiny], (n, k))
    return torch.from_numpy(np.clip(numbers, -limits.max, limits.max)).to(dtype).nan_to_num_()


def draw_target(random: np.random.Generator, loss: ClassificationLoss, scores: Tensor) -> Tensor:
    """Labels of all, some or one class, a few of them ignored; or class probabilities."""
    n, k = scores.shape
    if random.random() < 0.1 and getattr(loss, "margin", None) is None:
        return torch.from_numpy(random.dirichlet(np.ones(k), n)).to(scores.dtype)
    labels = random.integers(0, pick(random, (1, 2, k, k, k)), n)
    if random.random() < 0.1:
        labels[random.random(n) < 0.3] = -100
    return torch.from_numpy(labels)


def draw_weight(random: np.random.Generator, kind: str, n: int) -> Any:
    weight = random.uniform(0.1, 2.0, n)
    match kind:
        case "none":
            return None
        case "zero":
            weight[:] = 0.0
        case "one zero":
            weight[random.integers(n)] = 0.0
        case "least":
            weight = np.full(n, 5e-324)
        case "huge":
            weight *= 10.0 ** random.uniform(30, 307)
        case "mixed":
            weight = 10.0 ** random.uniform(-300, 300, n)
    return torch.from_numpy(weight)


def laid_out(scores: Tensor, layout: str) -> Tensor:
    """The same numbers at other places in memory."""
    n, k = scores.shape
    match layout:
        case "transposed":
            return scores.T.contiguous().T
        case "strided":
            return torch.stack([scores, scores + 1], 2).flatten(1)[:, ::2]
        case "expanded":
            return scores[:1].expand(n, k)
        case "offset":
            return torch.cat([scores[:1], scores])[1:]
    return scores


def _options(random: np.random.Generator, k: int) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if random.random() < 0.2:
        options["reduction"] = "sum"
    if random.random() < 0.1:
        options["weight"] = torch.from_numpy(random.choice([0.0, 0.5, 1.0, 3.0], k))
    if random.random() < 0.05 and "reduction" not in options:
        options["memory"] = 0.9
    return options


def _exact(random: np.random.Generator, k: int) -> ClassificationLoss:
    margin, method = pick(random, MARGINS), "quadrature"
    if k < 5 and random.random() < 0.1:
        method = pick(random, ("genz", "monte_carlo"))
    options = _options(random, k)
    return mf.ExactLoss(pick(random, WIDTHS), margin, bool(random.random() < 0.6), pick(random, LINKS), method, **options)


def _expected(random: np.random.Generator, k: int) -> ClassificationLoss:
    return mf.ExpectedErrorLoss(pick(random, WIDTHS), **_smoothed_options(random, k))


def _leaky(random: np.random.Generator, k: int) -> ClassificationLoss:
    return mf.LeakyExpectedErrorLoss(pick(random, (0.1, 0.0, 2.0)), pick(random, WIDTHS), **_smoothed_options(random, k))


def _east(random: np.random.Generator, k: int) -> ClassificationLoss:
    return mf.EastLoss(draw_metric(random, k), pick(random, TEMPERATURES), **_smoothed_options(random, k))


def _smoothed_options(random: np.random.Generator, k: int) -> dict[str, Any]:
    options = _options(random, k)
    return {**options, "label_smoothing": 0.1} if random.random() < 0.1 else options


def _metric(random: np.random.Generator, k: int) -> ClassificationLoss:
    options = _options(random, k)
    if random.random() < 0.2:
        options["leak"] = 0.1
        if random.random() < 0.3:
            options["leak_weight"] = torch.from_numpy(random.uniform(0.0, 2.0, k))
    if random.random() < 0.1:
        options["offsets"] = torch.from_numpy(random.standard_normal(k))
    if random.random() < 0.2:
        options["normalize_scores"] = True
    return mf.MetricLoss(draw_metric(random, k), draw_smoothing(random), pick(random, LINKS), **options)


def _cost(random: np.random.Generator, k: int) -> ClassificationLoss:
    costs = mf.metrics.Cost(torch.from_numpy(random.integers(-1, 4, (k, k))))
    return mf.MetricLoss(costs, draw_smoothing(random), pick(random, LINKS), **_options(random, k))


def _baseline(random: np.random.Generator, k: int) -> ClassificationLoss:
    kind = pick(random, (mf.HingeLoss, mf.DiceLoss, CrossEntropyLoss))
    own = {"margin": pick(random, (0.0, 1.0, 1e30))} if kind is mf.HingeLoss else {}
    return kind(**own, **_smoothed_options(random, k))


def draw_smoothing(random: np.random.Generator) -> mf.smoothing.Smoothing:
    make: Callable[[], mf.smoothing.Smoothing] = pick(
        random,
        (
            mf.smoothing.Hard,
            lambda: mf.smoothing.Softmax(pick(random, WIDTHS)),
            lambda: mf.smoothing.Normal(pick(random, WIDTHS)),
            lambda: mf.smoothing.SoftSet(pick(random, TEMPERATURES)),
        ),
    )
    return make()


def draw_metric(random: np.random.Generator, k: int) -> str:
    return pick(random, _metrics(k == 2))


@cache
def _metrics(is_binary: bool) -> list[str]:
    names = mf.metrics.names()
    return [name for name in names if is_binary or getattr(mf.metrics.get(name), "average", "") != "binary"]
