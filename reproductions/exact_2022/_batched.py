"""Train many linear models at once by the protocol of Section 5.4, because one by one nearly all time is Python's.

It computes what ``fit_linear`` and ``fit_exact`` in ``_protocol`` compute: the same batches, start, schedules and steps. A
test compares the weights. The derivatives are written by hand, in ``_slopes``.

A *group* is a number of models that see the same rows in the same order from the same start: the draws of a random search on
one split. Groups differ in rows and seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import softplus

import metricfit as mf
from metricfit.training import Batches
from reproductions.exact_2022._protocol import BATCH, LAST_RATE, MOMENTUM, SIGMA
from reproductions.exact_2022._slopes import cross_entropy_slopes, exact_slopes, hinge_slopes
from reproductions.lab.networks import LinearFixedFirst

LEAST_SIGMA = 1e-3  # of a predicted one, as in ``networks.PredictedSigma``
SOFTPLUS_OF_ONE = math.log(math.e - 1.0)  # its softplus is 1


@dataclass(frozen=True)
class Options:
    """The numbers of each model, all (g, m): learning rate, clip of the gradient's norm, margin, weight decay, floor.

    Infinity means no clip and no margin. The floor is that of the gradient normaliser.
    """

    rate: Tensor
    clip: Tensor
    margin: Tensor
    decay: Tensor
    floor: Tensor

    @classmethod
    def filled(
        cls,
        shape: tuple[int, int],
        rate: float = 1.0,
        clip: float = math.inf,
        margin: float = math.inf,
        decay: float = 0.0,
        floor: float = 0.0,
    ) -> Options:
        """The same numbers for all models."""
        return cls(*(torch.full(shape, value) for value in (rate, clip, margin, decay, floor)))

    def expand(self, groups: int) -> Options:
        """The same numbers, of one group, for so many groups."""
        return replace(self, **{name: values.expand(groups, -1) for name, values in vars(self).items()})

    def take(self, indices: Tensor) -> Options:
        """One model of each group, by its index (g,)."""
        chosen = {name: values.gather(1, indices[:, None]) for name, values in vars(self).items()}
        return replace(self, **chosen)


@dataclass(frozen=True)
class Method:
    """What is trained: the loss, how EXACT gets its sigma ("scheduled", "constant" 1 or "predicted"), the normaliser."""

    loss: str  # "cross-entropy", "hinge" or "exact"
    sigma: str = "scheduled"
    normalize: bool = False


@dataclass(frozen=True)
class LinearModels:
    """Weights (g, k - 1, m, d + 1): the first class has the score zero, the last column is the bias.

    ``sigma_weights`` (g, 1, m, d + 1) are of a predicted sigma.
    """

    weights: Tensor
    sigma_weights: Tensor | None = None

    def predict(self, features: Tensor) -> Tensor:
        """The classes (g, m, n) of the rows (g, n, d)."""
        groups, n_others, models, _ = self.weights.shape
        scores = _with_ones(features) @ self.weights.flatten(1, 2).mT
        scores = scores.view(groups, -1, n_others, models)
        best, index = scores.max(2)
        return torch.where(best > 0.0, index + 1, 0).mT

    def sigma(self, features: Tensor) -> Tensor:
        """The predicted sigma (g, m, n) of the rows (g, n, d), for normalised scores; 1 without such a head."""
        if self.sigma_weights is None:
            return torch.ones(len(self.weights), self.weights.shape[2], features.shape[1])
        return LEAST_SIGMA + softplus(self.sigma_weights.flatten(1, 2) @ _with_ones(features).mT)

    def hits(self, features: Tensor, labels: Tensor) -> Tensor:
        """Whether each row is predicted right, (g, m, n)."""
        return self.predict(features) == labels[:, None]

    def accuracy(self, features: Tensor, labels: Tensor) -> Tensor:
        """In percent, (g, m)."""
        return 100.0 * self.hits(features, labels).double().mean(2)


def train_models(
    features: Tensor, labels: Tensor, n_classes: int, method: Method, options: Options, *, steps: int, seeds: Sequence[int]
) -> LinearModels:
    """Train g x m models on the rows (g, n, d) and labels (g, n), with one seed for each group."""
    groups, models = options.rate.shape
    is_predicted = method.loss == "exact" and method.sigma == "predicted"
    weights = _start(seeds, features.shape[2], n_classes, models, is_predicted)
    speed, running = torch.zeros_like(weights), torch.zeros(groups, models)
    scores = torch.zeros(groups, n_classes, models, min(BATCH, labels.shape[1]))
    free = scores.flatten(1, 2)[:, models:]  # of all classes but the first
    schedule = mf.schedules.geometric(*SIGMA, steps) if method.sigma == "scheduled" else mf.schedules.constant(1.0)
    margin = options.margin[:, None, :, None]
    for step, (rows, targets) in enumerate(_batches(_with_ones(features), labels, steps, seeds)):
        torch.bmm(weights[:, : n_classes - 1].flatten(1, 2), rows.mT, out=free)
        if method.loss == "cross-entropy":
            slopes = cross_entropy_slopes(scores, targets)[:, 1:]
        elif method.loss == "hinge":
            slopes = hinge_slopes(scores, targets, margin)[:, 1:]
        elif is_predicted:
            raw = weights[:, -1:].flatten(1, 2) @ rows.mT
            by_scores, by_sigma = exact_slopes(scores, targets, margin, LEAST_SIGMA + softplus(raw)[:, None])
            slopes = torch.cat([by_scores[:, 1:], by_sigma * raw.sigmoid()[:, None]], 1)
        else:
            slopes = exact_slopes(scores, targets, margin, schedule(step))[0][:, 1:]
        gradient = (slopes.flatten(1, 2) @ rows).view_as(weights)
        gradient *= _factor(gradient, options, method.normalize, running)[:, None, :, None]
        gradient += options.decay[:, None, :, None] * weights
        speed.mul_(MOMENTUM).add_(gradient)
        rate = options.rate * (LAST_RATE / options.rate) ** (step / steps)
        weights -= rate[:, None, :, None] * speed
    return LinearModels(weights[:, : n_classes - 1], weights[:, -1:] if is_predicted else None)


def _start(seeds: Sequence[int], n_features: int, n_classes: int, models: int, is_predicted: bool) -> Tensor:
    """The weights of ``LinearFixedFirst`` for each seed; a predicted sigma is 1 at first."""
    made = []
    for seed in seeds:
        torch.manual_seed(seed)
        linear = LinearFixedFirst(n_features, n_classes).linear
        made.append(torch.cat([linear.weight.detach(), linear.bias.detach()[:, None]], 1))
    weights = torch.stack(made)
    if is_predicted:
        head = torch.zeros(len(seeds), 1, n_features + 1)
        head[..., -1] = SOFTPLUS_OF_ONE
        weights = torch.cat([weights, head], 1)
    return weights[:, :, None].repeat(1, 1, models, 1)


def _with_ones(features: Tensor) -> Tensor:
    return torch.cat([features, features.new_ones(*features.shape[:2], 1)], 2)


def _batches(rows: Tensor, labels: Tensor, steps: int, seeds: Sequence[int]) -> Iterator[tuple[Tensor, Tensor]]:
    """The rows (g, b, d + 1) and labels (g, b) that ``Batches`` draws for each group."""
    n_rows = labels.shape[1]
    if n_rows <= BATCH:
        for _ in range(steps):
            yield rows, labels
        return
    flat, flat_labels = rows.flatten(0, 1), labels.flatten()
    numbers = torch.arange(labels.numel()).view_as(labels)
    drawn = [iter(Batches(own, size=BATCH, steps=steps, seed=seed)) for own, seed in zip(numbers, seeds, strict=True)]
    for _ in range(steps):
        indices = torch.cat([next(one)[0] for one in drawn])
        yield flat.index_select(0, indices).view(len(seeds), BATCH, -1), flat_labels[indices].view(len(seeds), BATCH)


def _factor(gradient: Tensor, options: Options, normalize: bool, running: Tensor) -> Tensor:
    """What the gradient of each model is multiplied by: first its norm is clipped, then it is normalised, as by ``Trainer``.

    A gradient that is not finite is left out: the factor is zero.
    """
    norm = gradient.square().sum((1, 3)).sqrt_()
    is_finite = norm.isfinite()
    gradient.masked_fill_(~is_finite[:, None, :, None], 0.0)
    factor = (options.clip / (norm + 1e-6)).clamp_(max=1.0)  # as ``clip_grad_norm_``
    if normalize:
        norm = norm * factor
        usable = is_finite & (norm > 0.0)
        updated = torch.where(running > 0.0, 0.9 * running + 0.1 * norm, norm)
        running.copy_(torch.where(usable, updated, running))
        factor = torch.where(usable, factor / torch.maximum(running, options.floor), 0.0)
    return torch.where(is_finite, factor, 0.0)
