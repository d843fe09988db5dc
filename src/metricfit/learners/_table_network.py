"""A small network for tables, after RealMLP-TD-S (Holzmüller et al., "Better by default", 2024); a member of ensembles.

From the paper: robust scaling with a smooth clip, one learnt factor per input, weights in the neural tangent
parametrisation, SELU, label smoothing, Adam with a cyclic learning rate. Ours: two layers, fewer epochs, and the networks of
all folds are trained at once, by one matrix product per layer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from metricfit._typing import Floats
from metricfit.learners._learner import Learner, LeftOutError, Task, Trained
from metricfit.learners._models import MeanModel, TableNetworkModel, smooth_clip

FEWEST_EPOCHS, MOST_EPOCHS = 12, 48
MOST_STEPS = 4000  # of a fold, if the epochs are not the fewest
BATCH = 256
LEARNING_RATE = 0.04
FACTOR_RATE, BIAS_RATE = 6.0, 0.1  # times the learning rate, as in the paper
MOST_NUMBERS = 50_000_000  # in a table: it is dense
LABEL_SMOOTHING, DROPOUT, WEIGHT_DECAY = 0.1, 0.1, 0.02


@dataclass(frozen=True)
class TableNetworkLearner(Learner):
    """One network per fold; the epoch with the least held-out cross-entropy over all folds ends them all."""

    seed: int = 0
    widths: tuple[int, ...] = (64, 64)
    name: str = field(default="network", kw_only=True)
    steps = MOST_EPOCHS
    repeats = True

    def train(self, task: Task) -> Trained:
        if math.prod(task.rows.features.shape) > MOST_NUMBERS:
            raise LeftOutError("the table has too many columns for a network")
        if issparse(task.rows.features):
            task = replace(task, rows=replace(task.rows, features=task.rows.features.toarray()))
        center, scale = robust_scale(task.rows.features)
        networks = _FoldNetworks(task, center, scale, self)
        for epoch in range(networks.n_epochs):
            networks.run_epoch(epoch)
            if epoch > networks.n_epochs // 6:  # the first ones are slower
                task.check_time((epoch + 1) / networks.n_epochs)
            task.progress.step(self.name, networks.least)
        folds = networks.models()
        return Trained(self, MeanModel.of(folds), folds, task.held_out_logits(folds))

    def count_steps(self, task: Task) -> int:
        return MOST_EPOCHS


def robust_scale(features: Floats) -> tuple[Floats, Floats]:
    """Medians, and the inverse distance of the quartiles; of columns without one, half the inverse range.

    >>> robust_scale(np.array([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0], [3.0, 7.0], [4.0, 9.0]]))
    (array([2., 7.]), array([0.5, 1. ]))
    """
    low, center, high = np.quantile(features, [0.25, 0.5, 0.75], axis=0)
    spread = np.where(high > low, high - low, 0.5 * (features.max(0) - features.min(0)))
    return center, np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0.0)


def cyclic_rate(progress: float) -> float:
    """The factor of the learning rate at a share of the training: four cycles, each twice as long as the one before.

    >>> [round(cyclic_rate(share), 6) for share in (0.0, 1 / 15, (2**0.5 - 1) / 15)]
    [0.0, 0.0, 1.0]
    """
    return 0.5 - 0.5 * math.cos(2.0 * math.pi * math.log2(1.0 + 15.0 * progress))


class _FoldNetworks:
    """The networks of all folds: weights (folds, inputs, outputs)."""

    def __init__(self, task: Task, center: Floats, scale: Floats, learner: TableNetworkLearner) -> None:
        rows = task.rows
        self.center, self.scale = center, scale
        self.features = torch.from_numpy(smooth_clip((rows.features - center) * scale)).float()
        self.labels, self.weight = torch.from_numpy(rows.labels), torch.from_numpy(rows.training_weight).float()
        self.train = [torch.from_numpy(train) for train, _ in task.splits]
        self.tests = [torch.from_numpy(test) for test in task.test_rows]
        self.generator = torch.Generator().manual_seed(learner.seed)
        sizes = (self.features.shape[1], *learner.widths, rows.n_classes)
        n_folds = len(self.train)
        self.factor = nn.Parameter(torch.ones(n_folds, 1, sizes[0]))
        drawn = [torch.randn(n_folds, a, b, generator=self.generator) for a, b in pairwise(sizes)]
        self.weights = nn.ParameterList([*drawn[:-1], torch.zeros_like(drawn[-1])])
        self.biases = nn.ParameterList([0.5 * torch.randn(n_folds, 1, b, generator=self.generator) for b in sizes[1:]])
        self.optimizer = torch.optim.AdamW(
            [
                {"params": [self.factor], "rate": FACTOR_RATE, "weight_decay": 0.0},
                {"params": list(self.weights), "rate": 1.0, "weight_decay": WEIGHT_DECAY},
                {"params": list(self.biases), "rate": BIAS_RATE, "weight_decay": 0.0},
            ],
            betas=(0.9, 0.95),
        )
        self.n_rows = min(len(train) for train in self.train)
        self.batch = min(BATCH, max(32, self.n_rows // 8))
        self.n_steps = max(1, self.n_rows // self.batch)
        self.n_epochs = min(MOST_EPOCHS, max(FEWEST_EPOCHS, MOST_STEPS // self.n_steps))
        self.least, self.best = math.inf, self._copy()

    def run_epoch(self, epoch: int) -> None:
        """One pass; then keep the weights if they have the least held-out cross-entropy."""
        order = torch.stack([rows[torch.randperm(len(rows), generator=self.generator)[: self.n_rows]] for rows in self.train])
        for step in range(self.n_steps):
            rate = LEARNING_RATE * cyclic_rate((epoch + step / self.n_steps) / self.n_epochs)
            for group in self.optimizer.param_groups:
                group["lr"] = rate * group["rate"]
            self._step(order[:, step * self.batch : (step + 1) * self.batch])
        loss = self._held_out_loss()
        if loss < self.least:
            self.least, self.best = loss, self._copy()

    def models(self) -> list[TableNetworkModel]:
        """The networks with the kept weights: factors and parametrisation go into the layers."""
        factor, weights, biases = self.best
        found = []
        for fold in range(len(self.train)):
            layers = [weight[fold] / math.sqrt(weight.shape[1]) for weight in weights]
            layers[0] = factor[fold].T * layers[0]
            arrays = tuple(layer.double().numpy() for layer in layers)
            offsets = np.zeros(arrays[-1].shape[1])
            own = tuple(bias[fold, 0].double().numpy() for bias in biases)
            found.append(TableNetworkModel(self.center, self.scale, arrays, own, offsets))
        return found

    def _step(self, index: Tensor) -> None:
        scores = self._forward(self.features[index])
        losses = cross_entropy(
            scores.flatten(0, 1), self.labels[index].flatten(), label_smoothing=LABEL_SMOOTHING, reduction="none"
        )
        weight = self.weight[index]
        loss = (losses.view_as(weight) * weight).sum(1) / weight.sum(1).clamp_min(1e-12)
        self.optimizer.zero_grad()
        loss.sum().backward()  # the folds share nothing, so each gets the gradient of its own loss
        self.optimizer.step()

    def _forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden * self.factor
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if index:
                kept = torch.rand(hidden.shape, generator=self.generator) >= DROPOUT
                hidden = torch.selu(hidden) * kept / (1.0 - DROPOUT)
            hidden = torch.baddbmm(bias, hidden, weight, alpha=1.0 / math.sqrt(weight.shape[1]))
        return hidden

    def _held_out_loss(self) -> float:
        """The mean over all held-out rows, each by the network that has not seen it."""
        total, whole = 0.0, 0.0
        with torch.no_grad():
            for fold, rows in enumerate(self.tests):
                hidden = self.features[rows] * self.factor[fold]
                for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
                    hidden = torch.selu(hidden) if index else hidden
                    hidden = torch.addmm(bias[fold], hidden, weight[fold], alpha=1.0 / math.sqrt(weight.shape[1]))
                losses = cross_entropy(hidden, self.labels[rows], reduction="none") * self.weight[rows]
                total, whole = total + float(losses.sum()), whole + float(self.weight[rows].sum())
        return total / whole

    def _copy(self) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        copied = [[one.detach().clone() for one in many] for many in ([self.factor], self.weights, self.biases)]
        return copied[0][0], copied[1], copied[2]
