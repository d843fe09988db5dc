"""Linear models and multilayer perceptrons, and a head that predicts the width of the noise."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from reproductions.lab.networks._parts import scaled


class LinearFixedFirst(nn.Module):
    """A linear model whose first class has the score zero (EXACT, section 5.1).

    >>> LinearFixedFirst(4, 3)(torch.ones(2, 4))[:, 0]
    tensor([0., 0.], grad_fn=<SelectBackward0>)
    """

    def __init__(self, n_features: int, n_classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(n_features, n_classes - 1)

    def forward(self, features: Tensor) -> Tensor:
        found = self.linear(features)
        return torch.cat([found.new_zeros(len(found), 1), found], 1)


class MLP(nn.Sequential):
    """Linear layers with ReLU and dropout between them.

    The leaky paper has the sizes 300, 200, 100 with dropout before the first layer too (``input_dropout``), EAST has 512, 256,
    128 (its section E.3.2).

    >>> sum(parameter.numel() for parameter in MLP(784, 10).parameters())               # 784·300 + 300 + 300·200 + 200 + ...
    316810
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        sizes: Sequence[int] = (300, 200, 100),
        *,
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        width: float = 1.0,
    ) -> None:
        layers: list[nn.Module] = [nn.Flatten(), nn.Dropout(input_dropout)]
        n_inputs = n_features
        for size in sizes:
            layers += [nn.Linear(n_inputs, scaled(size, width)), nn.ReLU(), nn.Dropout(dropout)]
            n_inputs = scaled(size, width)
        super().__init__(*layers, nn.Linear(n_inputs, n_classes))


class PredictedSigma(nn.Module):
    """Scores mu(x) and the standard deviation sigma(x) of the noise on them (EXACT, Eq. 8 and Figure 2).

    ``body`` gives features, ``head`` their scores; a second head gives sigma, by softplus, at least ``least``. It starts at 1.
    The forward pass returns both, (n, k) and (n,), for ``loss(mu, target, scale=sigma)``. Predict by mu alone (section 4.4).

    >>> module = PredictedSigma(nn.Linear(4, 8), nn.Linear(8, 3), least=0.0)
    >>> mu, sigma = module(torch.ones(2, 4))
    >>> mu.shape, sigma.detach()
    (torch.Size([2, 3]), tensor([1., 1.]))
    """

    def __init__(self, body: nn.Module, head: nn.Linear, least: float = 1e-3) -> None:
        super().__init__()
        self.body, self.head, self.least = body, head, least
        self.sigma_head = nn.Linear(head.in_features, 1)
        nn.init.zeros_(self.sigma_head.weight)
        nn.init.constant_(self.sigma_head.bias, 0.5413248546)  # log(e - 1): softplus gives 1

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        features = self.body(inputs)
        return self.head(features), self.least + functional.softplus(self.sigma_head(features)).squeeze(-1)
