"""Networks: minibatches, early stopping on held-out rows. Needs ``metricfit[train]``.

There is one network per split. Cross-entropy stops by the cross-entropy of the held-out rows, whatever the metric is; every
other method stops by their metric. A network of one split has other random numbers than the next.

A seed gives the same network whatever other threads fit, and torch's global generator is as before after the fit. The layers
of ``"mlp"`` are drawn from a generator of their own. A user's module, and a loss that samples, draw from the global generator.
It is seeded for them, and put back after. Meanwhile other networks of this kind wait, and no other thread should draw from it.
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from metricfit import schedules
from metricfit._progress import Progress
from metricfit._threads import free_threads, single_threaded
from metricfit._typing import Floats
from metricfit.decisions import Guard, cross_entropy, fit_smooth_offsets
from metricfit.gradients import GradientNormalizer
from metricfit.learners._learner import Fold, MetricLearner
from metricfit.learners._models import MeanModel, NetworkModel, as_tensor, build_module
from metricfit.learners._rows import TrainingRows
from metricfit.methods import CROSS_ENTROPY, SCRATCH, Method, find
from metricfit.smoothing import Hard, Normal, Softmax, SoftSet
from metricfit.training import Batches, Fabric, Trainer, anneal

FLOOR = 0.01  # of the gradient normaliser, as in the code of EXACT's authors
_GLOBAL_GENERATOR = threading.RLock()


@dataclass(frozen=True)
class NetworkLearner(MetricLearner):
    """Trains networks. The mean of the splits' networks predicts: the held-out rows of each were needed to stop it."""

    model: Any
    max_epochs: int
    batch_size: int
    lr: float
    patience: int
    hidden_layer_sizes: tuple[int, ...]
    n_members: int  # where it is trained alone
    seed: int
    name: str = field(default="mlp", kw_only=True)
    refits = False
    stops_early = True

    @property
    def steps(self) -> int:  # type: ignore[override]
        return self.max_epochs

    @property
    def runs_in_parallel(self) -> bool:
        return isinstance(self.model, str)

    def session(self, index: int = 0) -> AbstractContextManager[Any]:
        return single_threaded() if isinstance(self.model, str) else _seeded(self.seed + index)

    def fit_cross_entropy(self, fold: Fold) -> list[NetworkModel]:
        method = find(CROSS_ENTROPY)
        assert method is not None
        return [self._train(fold, self._fresh_module(fold), method, by_metric=False)]

    def fit(self, fold: Fold, method: Method, start: Any = None) -> NetworkModel:
        """With a leak, the offsets are those that do best at the start; otherwise there are none: the bias is enough."""
        if start is None or method.start == SCRATCH:
            return self._train(fold, self._fresh_module(fold), method)
        test, offsets = fold.held_out, None
        assert test is not None
        if method.leak:
            offsets = fit_smooth_offsets(start.logits(test.features), test.labels, fold.metric, test.weight)
        return self._train(fold, copy.deepcopy(start.module), method, offsets)

    def _fresh_module(self, fold: Fold) -> nn.Module:
        rows = fold.rows
        with torch.device("meta") if isinstance(self.model, str) else nullcontext():
            module = build_module(self.model, rows.features.shape[1], rows.n_classes, self.hidden_layer_sizes)
        if isinstance(self.model, str):
            module = _initialized(module, self.seed + fold.index)
        warm = fold.warm.models if isinstance(fold.warm, MeanModel) else (fold.warm,)  # of an earlier fit
        if fold.index < len(warm) and isinstance(warm[fold.index], NetworkModel):
            before = warm[fold.index].module.state_dict()
            if _shapes(before) == _shapes(module.state_dict()):
                module.load_state_dict(before)
        return module

    def _train(
        self, fold: Fold, module: nn.Module, method: Method, offsets: Floats | None = None, by_metric: bool = True
    ) -> NetworkModel:
        """AdamW, by default until the held-out rows stop gaining: by the metric with these offsets, or by cross-entropy."""
        rows, test, metric = fold.rows, fold.held_out, fold.metric
        assert test is not None
        offsets = np.zeros(rows.n_classes) if offsets is None else offsets
        guard, seed, metrics = Guard(test.labels, test.weight, test.n_classes, metric), self.seed + fold.index, list[float]()

        def score(scores: Tensor, labels: Tensor) -> float:
            logits = scores.double().numpy()
            metrics.append(guard.value((logits + offsets).argmax(1)))
            return metrics[-1] if by_metric else -cross_entropy(logits, test.labels, test.training_weight)

        class_weight = None if (rows.class_weight == 1.0).all() else torch.from_numpy(rows.class_weight).float()
        shift = torch.from_numpy(offsets).float() if method.leak else None
        batches, course = _RowBatches(rows, self.batch_size, seed), method.network
        n_steps = self.max_epochs * len(batches)
        trainer = Trainer(
            module,
            method.build_loss(metric, rows.n_classes, class_weight, shift),
            torch.optim.AdamW(module.parameters(), lr=self.lr),
            score=score,
            lr=_geometric((self.lr, course.last_learning_rate), n_steps),
            scale=None if course.anneals else _geometric(course.widths or method.widths, n_steps),
            normalizer=GradientNormalizer(floor=FLOOR) if method.normalize_gradients else None,
            fabric=Fabric(accelerator="cpu", devices=1),
            progress=_MetricShown(fold.progress, metrics),
            name=f"network {fold.index + 1}, {method.name}",
        )
        held_out = as_tensor(test.features), torch.from_numpy(test.labels)
        with _seeded(seed) if isinstance(self.model, str) and _samples(method, rows.n_classes) else nullcontext():
            history = self._run(trainer, method, batches, held_out)
        for row, value in zip(history, metrics, strict=True):
            width = None if np.isnan(row["scale"]) else row["scale"]
            fold.record(method.name, row["surrogate"], value, row["gradient_norm"], width)
        sizes = self.hidden_layer_sizes if isinstance(self.model, str) else None
        best = NetworkModel(copy.deepcopy(module), offsets, sizes)
        best.module.eval()
        return best

    def _run(self, trainer: Trainer, method: Method, batches: _RowBatches, held_out: tuple[Tensor, Tensor]) -> list[Any]:
        course, options = method.network, dict[str, Any](epochs=self.max_epochs)
        if course.stop_by != "epochs":
            options |= {"stop_by": course.stop_by, "patience": self.patience}
        if course.anneals:
            first, second = method.widths[:2]
            return anneal(trainer, batches, held_out, start=first, rate=second / first, **options)
        return trainer.fit(batches, held_out, **options)


class _MetricShown(Progress):
    """Reports the metric after each epoch, also where the trainer stops by something else."""

    def __init__(self, progress: Progress, metrics: Sequence[float]) -> None:
        self.progress, self.metrics = progress, metrics

    def step(self, stage: str, value: float | None) -> None:
        self.progress.step(stage, self.metrics[-1])


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed torch's global generator for one user at a time, and put it back after."""
    with _GLOBAL_GENERATOR, torch.random.fork_rng(devices=[]):
        free_threads()
        torch.manual_seed(seed)
        yield


def _initialized(module: nn.Module, seed: int) -> nn.Module:
    """The linear layers drawn as torch draws them, but from a generator of their own."""
    generator = torch.Generator().manual_seed(seed)
    module = module.to_empty(device="cpu")
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5.0), generator=generator)
            bound = 1.0 / math.sqrt(layer.in_features) if layer.in_features else 0.0
            nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
    return module


def _samples(method: Method, n_classes: int) -> bool:
    """Whether the loss may draw random numbers: noise by sampling, or a smoothing of the user's own."""
    smoothing = method.smoothing_for(n_classes)
    if type(smoothing) is Normal:
        return method.trains_metric and smoothing.method != "quadrature"
    return method.trains_metric and type(smoothing) not in (Hard, SoftSet, Softmax)


def _geometric(ends: Sequence[float | None], n_steps: int) -> schedules.Schedule | None:
    """A schedule from the first to the last number, if both are given."""
    if not ends or ends[0] is None or ends[-1] is None:
        return None
    return schedules.geometric(ends[0], ends[-1], n_steps)


def _shapes(state: dict[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in state.items()}


class _RowBatches:
    """All rows in random order, a batch at a time; sparse features become dense one batch at a time."""

    def __init__(self, rows: TrainingRows, size: int, seed: int) -> None:
        labels, weight = torch.from_numpy(rows.labels), torch.from_numpy(rows.weight).float()
        self.features, self.batches = rows.features, Batches(torch.arange(len(labels)), labels, weight, size=size, seed=seed)

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        for index, labels, weight in self.batches:
            yield as_tensor(self.features[index.numpy()]), labels, weight
