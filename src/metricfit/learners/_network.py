"""Networks: minibatches, early stopping on the metric of held-out rows. Needs ``metricfit[train]``."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from sklearn.model_selection import ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from torch import Tensor, nn

from metricfit import schedules
from metricfit.decisions import Guard, fit_offsets
from metricfit.gradients import GradientNormalizer
from metricfit.learners._learner import History, Learner, Split, Start, Task, add_step
from metricfit.learners._network_model import NetworkModel, as_tensor, build_module
from metricfit.learners._rows import TrainingRows
from metricfit.methods import CROSS_ENTROPY, SCRATCH, Method, get
from metricfit.training import Batches, Trainer

Floats = NDArray[np.float64]

HELD_OUT = 0.2  # share of rows for early stopping, offsets, calibration and the guard
OFFSET_FOLDS = 5  # parts of these rows, to judge offsets


@dataclass(frozen=True)
class NetworkOptions:
    """What is trained, and how; ``warm`` is a model to go on from."""

    model: Any
    max_epochs: int
    batch_size: int
    learning_rate: float
    patience: int
    hidden_layer_sizes: tuple[int, ...]
    seed: int
    warm: Any = None


class NetworkLearner(Learner):
    """Trains networks on one split. The model of that split is kept: its held-out rows were needed to stop."""

    refits, chains, shares_start = False, False, False

    def __init__(self, task: Task, options: NetworkOptions) -> None:
        super().__init__(task)
        self.options, self.steps = options, options.max_epochs
        (train, test) = task.splits[0]
        self.train, self.test = task.rows.take(train), task.rows.take(test)
        self.guard = Guard(self.test.labels, self.test.weight, self.test.n_classes, task.metric)

    def session(self) -> AbstractContextManager[Any]:
        return _seeded(self.options.seed)

    def needs_start(self, method: Method) -> bool:
        return method.loss == "cross_entropy" or method.start != SCRATCH

    def tunes_offsets(self, method: Method) -> bool:
        return method.offsets == "tuned" or bool(method.leak)

    def offset_parts(self) -> list[NDArray[np.int64]]:
        labels = self.test.labels
        n_folds = min(OFFSET_FOLDS, int(np.sort(np.bincount(labels, minlength=2))[-2]))
        if n_folds < 2:
            return []
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=self.options.seed)
        return [part for _, part in folds.split(np.empty((len(labels), 1)), labels)]

    def fit_start(self, tuned: bool, history: History) -> Start:
        method = get(CROSS_ENTROPY)
        assert isinstance(method, Method)
        model = self._train(self._fresh_module(), method, None if tuned else self._no_offsets(), history)
        return Start([model], model)

    def fit_folds(self, method: Method, start: Sequence[NetworkModel] | None, history: History) -> list[NetworkModel]:
        if not start or method.start == SCRATCH:
            return [self._train(self._fresh_module(), method, self._no_offsets(), history)]
        (before,) = start
        offsets = before.offsets if method.leak else self._no_offsets()
        return [self._train(copy.deepcopy(before.module), method, offsets, history)]

    def _no_offsets(self) -> Floats:
        return np.zeros(self.task.rows.n_classes)

    def _fresh_module(self) -> nn.Module:
        options, rows = self.options, self.task.rows
        module = build_module(options.model, rows.features.shape[1], rows.n_classes, options.hidden_layer_sizes)
        if isinstance(options.warm, NetworkModel):
            before = options.warm.module.state_dict()
            if _shapes(before) == _shapes(module.state_dict()):
                module.load_state_dict(before)
        return module

    def _train(self, module: nn.Module, method: Method, offsets: Floats | None, history: History) -> NetworkModel:
        """AdamW until the metric of held-out rows stops rising; offsets of None are tuned after every epoch."""
        options, test, rows = self.options, self.test, self.task.rows

        def offsets_for(logits: Floats) -> Floats:
            return fit_offsets(logits, test.labels, self.task.metric, test.weight) if offsets is None else offsets

        def score(scores: Tensor, labels: Tensor) -> float:
            logits = scores.double().numpy()
            return self.guard.value((logits + offsets_for(logits)).argmax(1))

        class_weight = None if (rows.class_weight == 1.0).all() else torch.from_numpy(rows.class_weight).float()
        shift = None if offsets is None or not method.leak else torch.from_numpy(offsets).float()
        batches = _RowBatches(self.train, options.batch_size, options.seed)
        trainer = Trainer(
            module,
            method.build_loss(self.task.metric, rows.n_classes, class_weight, shift),
            torch.optim.AdamW(module.parameters(), lr=options.learning_rate),
            score=score,
            scale=_width_schedule(method, options.max_epochs * len(batches)),
            normalizer=GradientNormalizer() if method.normalize_gradients else None,
            fabric=Fabric(accelerator="cpu", devices=1),
            progress=self.task.progress,
            name=method.name,
        )
        held_out = as_tensor(test.features), torch.from_numpy(test.labels)
        for row in trainer.fit(batches, held_out, epochs=options.max_epochs, patience=options.patience):
            width = None if np.isnan(row["scale"]) else row["scale"]
            add_step(history, method.name, row["surrogate"], row["metric"], row["gradient_norm"], width)
        best = NetworkModel(copy.deepcopy(module), self._no_offsets())
        best.module.eval()
        return best.with_offsets(offsets_for(best.logits(test.features)))


def hold_out(rows: TrainingRows, seed: int) -> list[Split]:
    """One split into training and held-out rows; by class where every class has two rows or more."""
    counts = np.bincount(rows.labels, minlength=rows.n_classes)
    stratified = counts.min() >= 2 and len(rows.labels) * HELD_OUT >= rows.n_classes
    splitter = StratifiedShuffleSplit if stratified else ShuffleSplit
    return list(splitter(1, test_size=HELD_OUT, random_state=seed).split(np.empty((len(rows.labels), 1)), rows.labels))


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def _width_schedule(method: Method, steps: int) -> schedules.Schedule | None:
    return schedules.geometric(method.widths[0], method.widths[-1], steps) if method.widths else None


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
