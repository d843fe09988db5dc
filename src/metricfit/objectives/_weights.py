"""Weights of rows and of classes that are huge or tiny for the dtype of the scores."""

from __future__ import annotations

import torch
from torch import Tensor

from metricfit._checks import check_nonnegative

_ORDINARY = (1e-6, 1e6)


def as_weights(weights: Tensor, name: str, like: Tensor, only_ratios: bool) -> tuple[Tensor, float, bool]:
    """Weights in the dtype of ``like``; an upper limit of them, 1 if not known; and whether some may be far from 1.

    If only ratios of weights count, as in a weighted mean, extreme weights are first divided by the largest of them.

    >>> as_weights(torch.tensor([1e300, 5e299], dtype=torch.float64), "weight", torch.zeros(1), True)
    (tensor([1.0000, 0.5000]), 1.0, True)
    """
    ends = check_nonnegative(weights, name)
    largest = 1.0 if ends is None else ends[1]
    is_extreme = ends is None or not _ORDINARY[0] <= ends[0] <= ends[1] <= _ORDINARY[1]
    if only_ratios and largest > 0.0 and not _ORDINARY[0] <= largest <= _ORDINARY[1]:
        weights, largest = weights / largest, 1.0
    check_total(largest, like)
    return weights.to(like), largest, is_extreme


def check_total(largest: float, like: Tensor) -> None:
    """Raise a ValueError if the rows of ``like`` (n, k), each of this weight, have a total far beyond what its dtype holds."""
    limit = torch.finfo(like.dtype).max ** 0.5  # gradients are such totals over the width of a smoothing
    if largest * len(like) > limit:
        raise ValueError(
            f"The weights of {len(like)} rows should sum to less than {limit:.0e} for scores of {like.dtype}, "
            f"got weights of up to {largest:g}. Divide them by the largest of them."
        )
