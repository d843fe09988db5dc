r"""Eight ways to train on wrong labels, each with the numbers of its paper, for all sets alike.

Generalised cross-entropy is the power link, :math:`(1 - p^q)/q` (Zhang and Sabuncu, arXiv 1805.07836, Eq. 6). EXACT has a
constant scale, and no gradient normalisation, because Adam divides by the gradients' size. A softmax of temperature 0.6 is
about as wide as normal noise of scale 1, so "softmax, normalised" is EXACT without its normal noise and without its margin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

import metricfit as mf
from metricfit.training import Batches

SMOOTHED = 0.1  # the share that label smoothing distributes (Szegedy et al., arXiv 1512.00567)
POWER = 0.7
ALPHA, BETA, LOG_ZERO = 0.1, 1.0, -4.0  # for CIFAR-10 in arXiv 1908.06112
LEAK = 0.1
SCALE, MARGIN, TEMPERATURE = 1.0, 5.0, 0.6


def symmetric_cross_entropy(scores: Tensor, labels: Tensor) -> Tensor:
    r"""Symmetric cross-entropy (Wang et al., arXiv 1908.06112, Eq. 6): :math:`\alpha H(q, p) + \beta H(p, q)`.

    :math:`q` is one for the label and zero for others, and :math:`\log 0` is set to :math:`A` in :math:`H(p, q)`, which so is
    :math:`-A (1 - p_y)`. The sum is :math:`-A \beta` times leaky expected error with the leak :math:`-\alpha / (A \beta)`: 4
    times that with 0.025. For two equal scores it is 0.1 log 2 + 4 / 2:

    >>> symmetric_cross_entropy(torch.zeros(1, 2), torch.tensor([0]))
    tensor(2.0693)
    """
    log_target = LOG_ZERO * (1 - functional.one_hot(labels, scores.shape[1]))
    reverse = -(scores.softmax(1) * log_target).sum(1).mean()
    return ALPHA * functional.cross_entropy(scores, labels) + BETA * reverse


@dataclass(frozen=True)
class Method:
    """A loss of scores and labels, and whether rows are mixed before."""

    loss: Callable[[], Callable[..., Tensor]]
    mixes: bool = False


CROSS_ENTROPY, GENERALISED, SYMMETRIC = "cross-entropy", "generalised cross-entropy", "symmetric cross-entropy"
SMOOTHING, MIXUP = "label smoothing", "mixup"
LEAKY, EXACT, NORMALISED = "leaky", "EXACT", "softmax, normalised"
METHODS = {
    CROSS_ENTROPY: Method(nn.CrossEntropyLoss),
    SMOOTHING: Method(lambda: nn.CrossEntropyLoss(label_smoothing=SMOOTHED)),
    GENERALISED: Method(lambda: mf.MetricLoss("accuracy", link=f"power({POWER})")),
    SYMMETRIC: Method(lambda: symmetric_cross_entropy),
    MIXUP: Method(nn.CrossEntropyLoss, mixes=True),
    LEAKY: Method(lambda: mf.LeakyExpectedErrorLoss(LEAK)),
    EXACT: Method(lambda: mf.ExactLoss(SCALE, MARGIN)),
    NORMALISED: Method(lambda: mf.MetricLoss("accuracy", mf.smoothing.Softmax(TEMPERATURE), normalize_scores=True)),
}


class MixupBatches:
    """Batches in which each row is mixed with another one, features and labels alike (mixup, arXiv 1710.09412).

    The share is the same for a whole batch. It is uniform, Beta(1, 1), as the paper has it for CIFAR-10.
    """

    def __init__(self, batches: Batches, n_classes: int, seed: int) -> None:
        self.batches, self.n_classes = batches, n_classes
        self.generator = torch.Generator().manual_seed(seed)

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for features, labels in self.batches:
            share = float(torch.rand((), generator=self.generator))
            other = torch.randperm(len(labels), generator=self.generator)
            targets = functional.one_hot(labels, self.n_classes).to(features)
            yield torch.lerp(features[other], features, share), torch.lerp(targets[other], targets, share)
