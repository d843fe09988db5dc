"""Networks: minibatches, early stopping on the true metric of held-out rows, training for the metric behind the same guard."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.model_selection import ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from torch import Tensor, nn

from metricfit import schedules
from metricfit._checks import check_option
from metricfit.estimators._guard import Judge
from metricfit.estimators._linear import Rows, spread
from metricfit.estimators._offsets import best_offsets
from metricfit.estimators._progress import Progress
from metricfit.estimators._recipe import Fitted
from metricfit.estimators._surrogates import best_temperature
from metricfit.gradients import GradientNormalizer
from metricfit.metrics import Metric
from metricfit.objectives import HingeLoss, MetricLoss
from metricfit.scores import binary_scores
from metricfit.smoothing import Normal, Softmax, SoftSet

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Loss = Callable[[Tensor, Tensor, Tensor, int], Tensor]  # scores, labels, weights, epoch

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


@dataclass(frozen=True)
class Network:
    """A module, and one offset per class for the decision."""

    module: nn.Module
    offsets: Floats

    def logits(self, features: Any) -> Floats:
        """Scores (n, k) in evaluation mode, by blocks of rows."""
        self.module.eval()
        with torch.no_grad():
            blocks = [spread(self.module(block).double().numpy()) for block in _blocks(features)]
        return np.concatenate(blocks)


def fit_network(rows: Rows, metric: Metric, strategy: str, options: NetworkOptions, progress: Progress) -> Fitted:
    """Cross-entropy with early stopping, offsets, and training for the metric, by one strategy or under guard."""
    train, test = _split(rows, options.seed)
    fit = _NetworkFit(rows.take(train), rows.take(test), metric, options, progress)
    progress.start(options.max_epochs * (2 if strategy == "auto" else 1))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        return fit.run(strategy)


def multilayer(n_features: int, n_classes: int, hidden: tuple[int, ...]) -> nn.Sequential:
    """Linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(n_features, width), nn.ReLU()]
        n_features = width
    return nn.Sequential(*layers, nn.Linear(n_features, n_classes))


def made(model: Any, n_features: int, n_classes: int, hidden: tuple[int, ...]) -> nn.Module:
    """A fresh module from its name, a module to copy, or a function."""
    if isinstance(model, str):
        check_option(model, "model", ("linear", "mlp"))
        return multilayer(n_features, n_classes, hidden)
    if isinstance(model, nn.Module):
        return copy.deepcopy(model)
    module = model(n_features, n_classes) if callable(model) else model
    if not isinstance(module, nn.Module):
        raise TypeError(f"`model` should be 'linear', 'mlp', an nn.Module or a function that returns one, got {module!r}.")
    return module


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
        """Adam until the metric of held-out rows stops rising; without offsets, they are tuned after every epoch.

        Of equal metrics the one with the lower surrogate is better: at first a network may give all rows to one class.
        """
        options, train = self.options, self.train
        generator = torch.Generator().manual_seed(options.seed)
        optimizer = torch.optim.AdamW(module.parameters(), lr=options.learning_rate)
        labels, weight = torch.from_numpy(train.labels), torch.from_numpy(train.training_weight).float()
        normalize = GradientNormalizer() if stage == "direct" else None
        best, best_value, since = Network(copy.deepcopy(module), self.zero), (-np.inf, -np.inf), 0
        for epoch in range(options.max_epochs):
            module.train()
            total = 0.0
            for index in _batches(len(labels), options.batch_size, generator):
                optimizer.zero_grad()
                scores = module(_tensor(train.features[index.numpy()]))
                value = loss(binary_scores(scores) if scores.shape[1] == 1 else scores, labels[index], weight[index], epoch)
                value.backward()
                if normalize is not None:
                    normalize(module)
                optimizer.step()
                total += float(value.detach()) * len(index)
            logits = Network(module, self.zero).logits(self.test.features)
            used = best_offsets(logits, self.test.labels, self.metric, self.test.weight) if offsets is None else offsets
            metric = self.judge.value((logits + used).argmax(1))
            surrogate = total / len(labels)
            self.history.append({"step": len(self.history) + 1, "stage": stage, "surrogate": surrogate, "metric": metric})
            self.progress.step(stage, max(metric, best_value[0]))
            since += 1
            if (metric, -surrogate) > best_value:
                best, best_value, since = Network(copy.deepcopy(module), used), (metric, -surrogate), 0
            if since >= options.patience:
                break
        return best

    def _leaky(self, offsets: Floats) -> Loss:
        soft_metric, shift = MetricLoss(self.metric, Softmax(TEMPERATURE)), torch.from_numpy(offsets).float()

        def loss(scores: Tensor, labels: Tensor, weight: Tensor, epoch: int) -> Tensor:
            return soft_metric(scores + shift, labels, weight) + ALPHA * _cross_entropy(scores, labels, weight, epoch)

        return loss

    def _alone(self, strategy: str) -> Loss:
        """EXACT with its scale going down (arXiv 2205.09615), EAST with its temperature going down (arXiv 2405.20954), ..."""
        if strategy == "hinge":
            hinge = HingeLoss()
            return lambda scores, labels, weight, epoch: hinge(scores, labels, weight)
        if strategy == "expected":
            expected = MetricLoss(self.metric, Softmax())
            return lambda scores, labels, weight, epoch: expected(scores, labels, weight)
        if strategy == "direct":
            soft_metric = MetricLoss(self.metric, Normal(), normalize_scores=True)
            scale = schedules.geometric(3.0, 0.1, self.options.max_epochs)
        else:
            soft_metric, scale = MetricLoss(self.metric, SoftSet()), schedules.geometric(0.2, 0.02, self.options.max_epochs)
        return lambda scores, labels, weight, epoch: soft_metric(scores, labels, weight, scale=scale(epoch))

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


def _cross_entropy(scores: Tensor, labels: Tensor, weight: Tensor, epoch: int) -> Tensor:
    losses = nn.functional.cross_entropy(scores, labels, reduction="none")
    return (losses * weight).sum() / weight.sum()


def _split(rows: Rows, seed: int) -> tuple[Ints, Ints]:
    """Training and held-out rows; by class where every class has two."""
    stratified = (
        np.bincount(rows.labels, minlength=rows.n_classes).min() >= 2 and len(rows.labels) * HELD_OUT >= rows.n_classes
    )
    splitter = StratifiedShuffleSplit if stratified else ShuffleSplit
    return next(splitter(1, test_size=HELD_OUT, random_state=seed).split(np.empty((len(rows.labels), 1)), rows.labels))


def _batches(n_rows: int, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """All rows in random order; a last batch of less than half the size joins the one before."""
    order = torch.randperm(n_rows, generator=generator)
    n_batches = max(1, round(n_rows / size))
    yield from order.chunk(n_batches)


def _blocks(features: Any, size: int = 4096) -> Iterator[Tensor]:
    for start in range(0, features.shape[0], size):
        yield _tensor(features[start : start + size])


def _tensor(features: Any) -> Tensor:
    return torch.from_numpy(np.asarray(features.toarray() if issparse(features) else features, np.float32))
