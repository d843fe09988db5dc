"""How a network is fitted: minibatches, early stopping on the metric of held-out rows, candidates behind the same guard."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from sklearn.model_selection import ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from torch import Tensor, nn

from metricfit import schedules
from metricfit._progress import Progress
from metricfit.estimators._guard import Judge
from metricfit.estimators._linear import Rows
from metricfit.estimators._network import Network, as_tensor, made
from metricfit.estimators._offsets import best_offsets
from metricfit.estimators._recipe import Fitted
from metricfit.estimators._surrogates import best_temperature
from metricfit.gradients import GradientNormalizer
from metricfit.metrics import Metric
from metricfit.objectives import HingeLoss, MetricLoss
from metricfit.smoothing import Normal, Softmax, SoftSet
from metricfit.training import Batches, Trainer

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Loss = Callable[..., Tensor]  # of scores, labels and weights

HELD_OUT = 0.2  # share of rows that early stopping looks at
ALPHA = 0.1  # how closely cross-entropy holds training for the metric
TEMPERATURE = 0.3  # of the smoothed metric, in logit units
GUARD_FOLDS = 5


@dataclass(frozen=True)
class NetworkOptions:
    """What is to be trained, and how."""

    model: Any
    max_epochs: int
    batch_size: int
    learning_rate: float
    patience: int
    hidden: tuple[int, ...]
    seed: int
    start: Any = None


def fit_network(rows: Rows, metric: Metric, strategy: str, options: NetworkOptions, progress: Progress) -> Fitted:
    """Cross-entropy with early stopping, offsets, and training for the metric, by one strategy or under guard."""
    train, test = _split(rows, options.seed)
    fit = _NetworkFit(rows.take(train), rows.take(test), metric, options, progress)
    progress.start(options.max_epochs * (2 if strategy == "auto" else 1))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        return fit.run(strategy)


class _NetworkFit:
    def __init__(self, train: Rows, test: Rows, metric: Metric, options: NetworkOptions, progress: Progress) -> None:
        self.train, self.test, self.metric, self.options, self.progress = train, test, metric, options, progress
        self.judge = Judge(test.labels, test.weight, test.n_classes, metric)
        self.history: list[dict[str, Any]] = []
        self.zero = np.zeros(train.n_classes)

    def run(self, strategy: str) -> Fitted:
        reused = isinstance(self.options.start, Network)
        n_features = self.train.features.shape[1]
        module = made(self.options.model, n_features, self.train.n_classes, self.options.hidden)
        if reused:
            before = self.options.start.module.state_dict()
            if _shapes(before) == _shapes(module.state_dict()):
                module.load_state_dict(before)
        if strategy in ("hinge", "expected", "direct", "anneal"):
            model = self._descend(module, self._alone(strategy), strategy, self.zero)
            return self._finished(model, strategy, [])
        tuned = strategy in ("auto", "offset", "leaky")
        base = self._descend(module, _cross_entropy, "cross_entropy", None if tuned else self.zero)
        if strategy == "cross_entropy":
            return self._finished(Network(base.module, self.zero), strategy, [])
        if strategy == "offset":
            return self._finished(base, strategy, [])
        leaky = self._descend(copy.deepcopy(base.module), self._leaky(base.offsets), "leaky", base.offsets)
        if strategy == "leaky":
            return self._finished(leaky, strategy, [])
        logits = base.logits(self.test.features)
        predictions = {
            "cross_entropy": logits.argmax(1),
            "offset": self._cross_fitted(logits),
            "leaky": self._cross_fitted(leaky.logits(self.test.features)),
        }
        chosen, reasons = self.judge.choose(predictions)
        table = self.judge.table(predictions, reasons)
        models = {"cross_entropy": Network(base.module, self.zero), "offset": base, "leaky": leaky}
        return self._finished(models[chosen], chosen, table)

    def _descend(self, module: nn.Module, loss: Loss, stage: str, offsets: Floats | None) -> Network:
        """Adam until the metric of held-out rows stops rising; without offsets, they are tuned after every epoch."""
        options, test = self.options, self.test

        def offsets_for(logits: Floats) -> Floats:
            return best_offsets(logits, test.labels, self.metric, test.weight) if offsets is None else offsets

        def judge(scores: Tensor, labels: Tensor) -> float:
            logits = scores.double().numpy()
            return self.judge.value((logits + offsets_for(logits)).argmax(1))

        batches = _Batches(self.train, options.batch_size, options.seed)
        trainer = Trainer(
            module,
            loss,
            torch.optim.AdamW(module.parameters(), lr=options.learning_rate),
            judge=judge,
            scale=_widths(stage, options.max_epochs * len(batches)),
            normalizer=GradientNormalizer() if stage == "direct" else None,
            fabric=Fabric(accelerator="cpu", devices=1),
            progress=self.progress,
            name=stage,
        )
        held_out = as_tensor(test.features), torch.from_numpy(test.labels)
        for row in trainer.fit(batches, held_out, epochs=options.max_epochs, patience=options.patience):
            own = {"step": len(self.history) + 1, "stage": stage, "surrogate": row["surrogate"], "metric": row["metric"]}
            width = {} if np.isnan(row["scale"]) else {"width": row["scale"]}
            self.history.append({**own, **width, "gradient_norm": row["gradient_norm"]})
        best = Network(copy.deepcopy(module), self.zero)
        return Network(best.module, offsets_for(best.logits(test.features)))

    def _leaky(self, offsets: Floats) -> Loss:
        soft_metric, shift = MetricLoss(self.metric, Softmax(TEMPERATURE)), torch.from_numpy(offsets).float()

        def loss(scores: Tensor, labels: Tensor, weight: Tensor | None = None) -> Tensor:
            return soft_metric(scores + shift, labels, weight) + ALPHA * _cross_entropy(scores, labels, weight)

        return loss

    def _alone(self, strategy: str) -> Loss:
        """EXACT (arXiv 2205.09615), EAST (arXiv 2405.20954), the metric under the softmax, or the hinge."""
        if strategy == "hinge":
            return HingeLoss()
        if strategy == "direct":
            return MetricLoss(self.metric, Normal(), normalize_scores=True)
        return MetricLoss(self.metric, Softmax() if strategy == "expected" else SoftSet())

    def _cross_fitted(self, logits: Floats) -> Ints:
        """Held-out rows, each decided with offsets that other held-out rows ask for."""
        labels, weight = self.test.labels, self.test.weight
        n_folds = min(GUARD_FOLDS, int(np.sort(np.bincount(labels, minlength=2))[-2]))
        if n_folds < 2:
            return logits.argmax(1)
        predicted = np.empty(len(labels), np.int64)
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=self.options.seed)
        for others, mine in folds.split(np.empty((len(labels), 1)), labels):
            offsets = best_offsets(logits[others], labels[others], self.metric, weight[others])
            predicted[mine] = (logits[mine] + offsets).argmax(1)
        return predicted

    def _finished(self, model: Network, chosen: str, table: list[dict[str, Any]]) -> Fitted:
        logits, target = model.logits(self.test.features), self.test.target(self.metric)
        model.module.eval()
        return Fitted(model, chosen, float("nan"), best_temperature(target, logits), table, self.history)


def _shapes(state: dict[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in state.items()}


def _cross_entropy(scores: Tensor, labels: Tensor, weight: Tensor | None = None) -> Tensor:
    losses = nn.functional.cross_entropy(scores, labels, reduction="none")
    return losses.mean() if weight is None else (losses * weight).sum() / weight.sum()


def _widths(stage: str, steps: int) -> schedules.Schedule | None:
    """How scale or temperature go down, for the losses whose papers have them go down."""
    return {"direct": schedules.geometric(3.0, 0.1, steps), "anneal": schedules.geometric(0.2, 0.02, steps)}.get(stage)


class _Batches:
    """All rows in random order, a batch at a time; sparse features become dense one batch at a time."""

    def __init__(self, rows: Rows, size: int, seed: int) -> None:
        labels, weight = torch.from_numpy(rows.labels), torch.from_numpy(rows.training_weight).float()
        self.features, self.batches = rows.features, Batches(torch.arange(len(labels)), labels, weight, size=size, seed=seed)

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        for index, labels, weight in self.batches:
            yield as_tensor(self.features[index.numpy()]), labels, weight


def _split(rows: Rows, seed: int) -> tuple[Ints, Ints]:
    """Training and held-out rows; by class where every class has two."""
    stratified = (
        np.bincount(rows.labels, minlength=rows.n_classes).min() >= 2 and len(rows.labels) * HELD_OUT >= rows.n_classes
    )
    splitter = StratifiedShuffleSplit if stratified else ShuffleSplit
    return next(splitter(1, test_size=HELD_OUT, random_state=seed).split(np.empty((len(rows.labels), 1)), rows.labels))
