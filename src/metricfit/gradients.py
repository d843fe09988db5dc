"""Gradients whose size does not depend on the scale of the loss."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from metricfit._checks import check_number

__all__ = ["GradientNormalizer"]


class GradientNormalizer(nn.Module):
    """Divide gradients by a running mean of their norm.

    EXACT's gradient grows by orders of magnitude as its scale shrinks; normalised gradients have a norm near 1. Call it
    between ``backward`` and ``step``. The running mean is a buffer, so ``state_dict`` contains it. Gradients with a zero or
    non-finite norm do not enter the mean and are left unchanged.

    Parameters
    ----------
    momentum : float, default=0.9
        Factor of the running mean at each step.
    floor : float, default=0.0
        The smallest divisor. Without a floor, a vanishing gradient is scaled up to a norm near 1. With one, it stays small
        and training comes to a halt. The paper does not mention it. Its authors' code (github tinkoff-ai/exact) uses 0.01.

    References
    ----------
    Karpukhin et al., "EXACT", arXiv 2205.09615, section 4.5.4.

    Examples
    --------
    >>> import torch
    >>> from metricfit import GradientNormalizer
    >>> weight = torch.nn.Parameter(torch.ones(2))
    >>> normalizer = GradientNormalizer()
    >>> weight.grad = torch.tensor([3.0, 4.0])
    >>> normalizer([weight]), weight.grad           # the norm before; running mean: 5
    (tensor(5.), tensor([0.6000, 0.8000]))
    >>> weight.grad = torch.tensor([30.0, 40.0])
    >>> normalizer([weight]), weight.grad           # running mean: 0.9 * 5 + 0.1 * 50
    (tensor(50.), tensor([3.1579, 4.2105]))
    >>> weight.grad = torch.tensor([3e-4, 4e-4])
    >>> GradientNormalizer(floor=0.01)([weight]), weight.grad       # divided by 0.01, not by 0.0005
    (tensor(0.0005), tensor([0.0300, 0.0400]))
    """

    running_norm: Tensor

    def __init__(self, momentum: float = 0.9, floor: float = 0.0) -> None:
        super().__init__()
        self.momentum = check_number(momentum, "momentum", 0.0, 1.0)
        self.floor = check_number(floor, "floor", 0.0)
        self.register_buffer("running_norm", torch.zeros(()))

    def extra_repr(self) -> str:
        return f"momentum={self.momentum}" + (f", floor={self.floor}" if self.floor else "")

    @torch.no_grad()
    def forward(self, parameters: nn.Module | Tensor | Iterable[Tensor]) -> Tensor:
        """Normalise the gradients in place.

        Parameters
        ----------
        parameters : nn.Module, Tensor or iterable of Tensor
            The parameters, or the module that has them.

        Returns
        -------
        Tensor of shape ()
            The norm before.
        """
        if isinstance(parameters, nn.Module):
            parameters = parameters.parameters()
        parameters = [parameters] if isinstance(parameters, Tensor) else parameters
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if not gradients:
            return self.running_norm.new_zeros(())
        if all(gradient.is_cpu for gradient in gradients) and not torch.compiler.is_compiling():
            return self._normalize_on_cpu(gradients)
        norm = torch.nn.utils.get_total_norm(gradients)
        running = self.running_norm.to(norm)
        usable = norm.isfinite() & (norm > 0.0)
        updated = torch.where(running > 0.0, self.momentum * running + (1.0 - self.momentum) * norm, norm)
        self.running_norm.copy_(torch.where(usable, updated, running))
        divisor = torch.where(usable, updated.clamp(min=self.floor), 1.0)
        for gradient in gradients:
            gradient.div_(divisor.to(gradient.device))
        return norm

    def _normalize_on_cpu(self, gradients: list[Tensor]) -> Tensor:
        """The same with Python numbers: on a CPU reading them is free, and this takes a fifth of the operators."""
        norm = math.hypot(*(float(torch.linalg.vector_norm(gradient)) for gradient in gradients))
        if 0.0 < norm < math.inf:
            running = float(self.running_norm)
            updated = self.momentum * running + (1.0 - self.momentum) * norm if running > 0.0 else norm
            self.running_norm.fill_(updated)
            for gradient in gradients:
                gradient.div_(max(updated, self.floor))
        return torch.tensor(norm, dtype=gradients[0].dtype)
