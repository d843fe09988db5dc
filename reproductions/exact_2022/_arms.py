"""The methods of Tables 1 to 6 and of section 4.5.3, and the random search for their hyper-parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reproductions.exact_2022 import published
from reproductions.exact_2022._batched import LinearModels, Method, Options, train_models
from reproductions.exact_2022._protocol import FLOOR, Dataset


@dataclass(frozen=True)
class Arm:
    """A method, and which of the hyper-parameters it has."""

    method: Method
    has_clip: bool = False
    has_margin: bool = False
    floor: float = 0.0

    def restrict(self, drawn: Options) -> Options:
        """The drawn numbers without those that the method does not have."""
        nothing = torch.full_like(drawn.clip, math.inf)
        return Options(
            drawn.rate,
            drawn.clip if self.has_clip else nothing,
            drawn.margin if self.has_margin else nothing,
            drawn.decay,
            torch.full_like(drawn.floor, self.floor),
        )


def _exact(sigma: str = "scheduled", *, normalize: bool = True, has_margin: bool = True, floor: float = FLOOR) -> Arm:
    return Arm(Method("exact", sigma, normalize), has_margin=has_margin, floor=floor)


ARMS = {
    "Cross-entropy": Arm(Method("cross-entropy"), has_clip=True),
    "Hinge": Arm(Method("hinge"), has_clip=True, has_margin=True),
    "EXACT": _exact(),
    "EXACT without margin": _exact(has_margin=False),
    "EXACT without scheduler": _exact("constant"),
    "EXACT with predicted sigma": _exact("predicted"),
    "EXACT without normalizer": _exact(normalize=False),
    "EXACT without floor": _exact(floor=0.0),
    "Cross-entropy with normalizer": Arm(Method("cross-entropy", normalize=True), has_clip=True, floor=FLOOR),
    "Hinge with normalizer": Arm(Method("hinge", normalize=True), has_clip=True, has_margin=True, floor=FLOOR),
}


def table_8(method: str, name: str) -> Options:
    """The paper's hyper-parameters of a method on a set, (1, 1)."""
    index, base = published.SETS.index(name), next(base for base in published.LEARNING_RATE if method.startswith(base))
    clip, margin = (known[base][index] if base in known else math.inf for known in (published.CLIP, published.MARGIN))
    return ARMS[method].restrict(Options.filled((1, 1), published.LEARNING_RATE[base][index], clip, margin))


def train_seeds(data: Dataset, method: str, options: Options, *, steps: int, seeds: Sequence[int]) -> LinearModels:
    """One model for each seed, all on the same training rows with the same hyper-parameters (1, 1)."""
    features, labels = (part.expand(len(seeds), *part.shape) for part in data.train)
    method_of_all, repeated = ARMS[method].method, options.expand(len(seeds))
    return train_models(features, labels, data.n_classes, method_of_all, repeated, steps=steps, seeds=seeds)


# of Table 8; where it has 0 we begin a little above
RANGES = {"rate": (0.01, 5.0), "clip": (0.01, 10.0), "margin": (0.01, 10.0), "decay": (1e-6, 1.0)}


def draw_options(n_draws: int, seeds: Sequence[int]) -> Options:
    """Random numbers in the ranges of Table 8, (seeds, draws); all methods get the same.

    The paper does not say how it draws. The values that it chose go in steps of 2 to 5, so we draw logarithms. Its
    regularisation of SGD is always zero, so half of ours are.
    """
    columns = []
    for seed in seeds:
        random = np.random.default_rng(seed)
        rate, clip, margin, decay = (
            np.exp(random.uniform(math.log(low), math.log(high), n_draws)) for low, high in RANGES.values()
        )
        columns.append([rate, clip, margin, np.where(random.random(n_draws) < 0.5, 0.0, decay), np.zeros(n_draws)])
    return Options(*torch.tensor(np.array(columns), dtype=torch.float32).movedim(1, 0))


def draw_penalties(n_draws: int, seed: int) -> list[float]:
    """Random regularisations of scikit-learn's logistic regression, 1e-6 to 10: Table 8 has 0 to 10."""
    return np.exp(np.random.default_rng(seed).uniform(math.log(1e-6), math.log(10.0), n_draws)).tolist()


def first_best(scores: Tensor) -> Tensor:
    """The place of the largest number in each row (g, m), the first of equals.

    >>> first_best(torch.tensor([[1.0, 3.0, 3.0]]))
    tensor([1])
    """
    return torch.from_numpy(scores.numpy().argmax(1))


@dataclass(frozen=True)
class Chosen:
    """The models of one draw for each group, trained on all training rows."""

    models: LinearModels  # (g, 1)
    options: Options  # (g, 1)
    validation: Tensor  # (g,), accuracy of the chosen draw on the held-out training rows, in percent


def search_and_refit(
    arm: Arm,
    rows: tuple[Tensor, Tensor],
    inner: tuple[Tensor, Tensor],
    held_out: tuple[Tensor, Tensor],
    n_classes: int,
    *,
    n_draws: int,
    steps: int,
    seeds: Sequence[int],
) -> Chosen:
    """Train all draws on the ``inner`` training rows, take the best on the ``held_out`` ones (the first of equals), and refit.

    All rows are pairs of features (g, n, d) and labels (g, n).
    """
    options = arm.restrict(draw_options(n_draws, seeds))
    found = train_models(*inner, n_classes, arm.method, options, steps=steps, seeds=seeds).accuracy(*held_out)
    best = first_best(found)
    options = options.take(best)
    models = train_models(*rows, n_classes, arm.method, options, steps=steps, seeds=seeds)
    return Chosen(models, options, found.gather(1, best[:, None]).squeeze(1))
