"""A loss as the Trainer of Hugging Face calls it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from metricfit.losses._base import ClassificationLoss


def compute_loss_func(loss: ClassificationLoss) -> Callable[..., Tensor]:
    """The loss for ``transformers.Trainer(compute_loss_func=...)``.

    With gradient accumulation the Trainer passes ``num_items_in_batch``, the number of labels of all micro-batches, and adds
    up the results. So the loss of a micro-batch is multiplied by its share of these labels. The sum is then the mean over all
    labels, or the mean of the metrics of the micro-batches. Token scores (N, L, C) need ``class_dim=-1`` in the loss.

    >>> import torch
    >>> from metricfit import LeakyExpectedErrorLoss
    >>> compute = compute_loss_func(LeakyExpectedErrorLoss())
    >>> scores, labels = torch.zeros(2, 2), torch.tensor([0, 1])
    >>> compute({"logits": scores}, labels), compute({"logits": scores}, labels, num_items_in_batch=4)
    (tensor(0.5693), tensor(0.2847))
    """

    def compute(outputs: Any, labels: Tensor, num_items_in_batch: Tensor | int | None = None) -> Tensor:
        value = loss(outputs["logits"], labels)
        if num_items_in_batch is None:
            return value
        return value * ((labels != loss.ignore_index).sum() / num_items_in_batch)

    return compute
