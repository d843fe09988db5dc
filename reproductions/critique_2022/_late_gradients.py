r"""How far the gradient of :math:`E[-\log p]` is that of :math:`E[1 - p]`, for a model as it stands.

A row's gradient of :math:`1 - p` is :math:`p` times its gradient of :math:`-\log p`. So they agree where p is near 1, and the
rows with small p make the difference.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from reproductions._experiment import Numbers
from reproductions._training import Rows

SURE, WRONG = 0.9, 0.5


def compare_gradients(module: nn.Module, rows: Rows) -> Numbers:
    r"""Shares of rows, both losses, and the angle and the sizes of their gradients by all parameters.

    ``wrong_log`` and ``wrong_linear`` are the shares of the rows with p < 0.5 in the sum of the norms of the rows' gradients
    by their scores, :math:`\lVert p - e_y \rVert` and :math:`p_y \lVert p - e_y \rVert`. The gradients by the parameters do
    not have such a share: where a loss is least, those of the two groups cancel, and each is half of the whole.
    """
    features, labels = rows
    scores = module(features)
    log_p = scores.log_softmax(1).gather(1, labels[:, None]).squeeze(1)
    p = log_p.exp()
    by_log, by_linear = (_gradient(loss, module) for loss in (-log_p.mean(), (1.0 - p).mean()))
    p = p.detach()
    errors = scores.detach().softmax(1) - nn.functional.one_hot(labels, scores.shape[1])
    pulls = errors.norm(dim=1)
    return {
        "sure": 100.0 * (p > SURE).double().mean().item(),
        "wrong": 100.0 * (p < WRONG).double().mean().item(),
        "loss_log": -log_p.mean().item(),
        "loss_linear": (1.0 - p).mean().item(),
        "cosine": torch.cosine_similarity(by_log, by_linear, dim=0).item(),
        "ratio": (by_linear.norm() / by_log.norm()).item(),
        "wrong_log": _share(pulls, p < WRONG),
        "wrong_linear": _share(p * pulls, p < WRONG),
    }


def _gradient(loss: Tensor, module: nn.Module) -> Tensor:
    parts = torch.autograd.grad(loss, list(module.parameters()), retain_graph=True)
    return torch.cat([part.flatten().double() for part in parts])


def _share(sizes: Tensor, chosen: Tensor) -> float:
    """In percent.

    >>> _share(torch.tensor([1.0, 3.0]), torch.tensor([True, False]))
    25.0
    """
    return 100.0 * (sizes[chosen].double().sum() / sizes.double().sum()).item()
