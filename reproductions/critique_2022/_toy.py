"""The toys of EXACT's Section 3 and Appendix E, solved on a grid: where each loss is least, and what is right there.

A line weight (x - threshold) predicts class 1 where it is positive. ``examples/toy.py`` trains the same lines; here are the
global minima, so that no loss is blamed for its optimiser. Both texts search grids too. A minimum that runs off to a flat line
has its threshold at the grid's end.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

import metricfit as mf
from metricfit.scores import binary_scores
from reproductions._experiment import Numbers

POINTS = {
    "three points": ((-0.25, 0.0, 0.25), (0, 0, 1)),
    "five points": ((-6.0, -5.0, -4.0, 0.0, 2.0), (0, 1, 1, 0, 1)),
}
FREE = np.geomspace(1e-4, 100.0, 61).tolist()  # ten per decade, then finer where the loss is least
FINE = 41
TOYS = {  # points, and the weights to choose from
    "three points, weight 1": ("three points", [1.0]),
    "three points, free weight": ("three points", FREE),
    "five points, free weight": ("five points", FREE),
}
LOSSES: dict[str, nn.Module] = {
    "cross-entropy": nn.CrossEntropyLoss(reduction="none"),
    "hinge": mf.HingeLoss(reduction="none"),
    "softmax, linear": mf.ExpectedErrorLoss(reduction="none"),
    "normal noise, linear": mf.ExactLoss(normalize_scores=False, reduction="none"),
    "EXACT": mf.ExactLoss(scale=0.01, normalize_scores=False, reduction="none"),  # where its schedule ends
}
FAR = 1e4
_NEAR, _TAIL = torch.arange(-200, 201) / 200.0, torch.logspace(1, 4, 61, dtype=torch.float64)
THRESHOLDS = torch.cat([_NEAR, torch.arange(-1000, 1001) / 100.0, -_TAIL, _TAIL]).unique()
SAME = 1e-12  # losses that differ by less are equal


def solve(toy: str, method: str) -> Numbers:
    """The least loss, its weight (the smallest of several), its thresholds from low to high, and accuracy in percent.

    Of several thresholds, accuracy is that of the worst. ``from_weight`` is the least weight from which on the best thresholds
    of the loss classify as many points as any threshold can; it is left out if no temperature does.
    """
    name, weights = TOYS[toy]
    x, labels = torch.tensor(POINTS[name][0], dtype=torch.float64), torch.tensor(POINTS[name][1])
    curves = {weight: _losses(LOSSES[method], weight, x, labels) for weight in weights}
    for weight in _around(_best(curves), weights):
        curves[weight] = _losses(LOSSES[method], weight, x, labels)
    weight = _best(curves)
    where = curves[weight] <= curves[weight].min() + SAME
    hits = ((x > THRESHOLDS[:, None]) == (labels == 1)).double().mean(1)
    found = {
        "weight": weight,
        "low": THRESHOLDS[where].min().item(),
        "high": THRESHOLDS[where].max().item(),
        "loss": curves[weight].min().item(),
        "accuracy": 100.0 * hits[where].min().item(),
        "reachable": 100.0 * hits.max().item(),
    }
    wrong = [weight for weight, curve in curves.items() if hits[curve <= curve.min() + SAME].min() < hits.max()]
    enough = [weight for weight in curves if weight > max(wrong, default=0.0)]
    return found | {"from_weight": min(enough)} if enough else found


def _best(curves: dict[float, Tensor]) -> float:
    least = min(curve.min() for curve in curves.values())
    return min(weight for weight, curve in curves.items() if curve.min() <= least + SAME)


def _around(weight: float, weights: list[float]) -> list[float]:
    """Between the neighbours of one of the weights."""
    index = weights.index(weight)
    return np.geomspace(weights[max(index - 1, 0)], weights[min(index + 1, len(weights) - 1)], FINE).tolist()


def _losses(loss: nn.Module, weight: float, x: Tensor, labels: Tensor) -> Tensor:
    scores = weight * (x - THRESHOLDS[:, None])  # (thresholds, points)
    return loss(binary_scores(scores.flatten()), labels.repeat(len(THRESHOLDS))).view_as(scores).mean(1)
