"""A training loop for any module and any loss."""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sized
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from metricfit import metrics
from metricfit._checks import check_number
from metricfit._progress import Progress
from metricfit.gradients import GradientNormalizer
from metricfit.schedules import Schedule
from metricfit.scores import binary_scores
from metricfit.training._fabric import Fabric
from metricfit.training._held_out import (
    IGNORED,
    HeldOut,
    Score,
    collect_rows,
    count_rows,
    held_out_batches,
    score_function,
    used_rows,
)
from metricfit.training._resume import load_trainer, save_trainer

Row = dict[str, Any]

LIVE = 0.01  # a gradient is live if it exceeds this fraction of the largest in its batch


class Trainer:
    """Trains a module on a surrogate loss and keeps the weights with the best metric.

    Runs on Lightning Fabric: for several devices or processes, or another precision, pass such a ``fabric``.

    Args:
        module: maps the first item of a batch to scores (n, k) or (n, k, d1, ...), or (n, 1) for two classes.
        loss: called with scores and labels, the weights if batches have them, and ``scale=`` if it has a schedule.
        optimizer: of the module's parameters.
        metric: computed on held-out rows after every epoch; or ``score``, any function of their scores (n, k) and labels (n,).
            Rows with the label ``loss.ignore_index`` (-100 if the loss has none), such as padding, do not count.
        lr: schedule of the learning rate, by step.
        scale: schedule of the loss's scale or temperature, by step.
        normalizer: divides gradients by their running norm.
        clip: maximum norm of the gradient.
        fabric: by default one device, the best available.
        progress, name: progress reporter, and the label of this run in it.

    >>> from metricfit.training import Batches
    >>> x = torch.tensor([[-2.0], [-1.0], [1.0], [2.0]])
    >>> y = torch.tensor([0, 0, 1, 1])
    >>> module = nn.Linear(1, 2)
    >>> trainer = Trainer(module, nn.CrossEntropyLoss(), torch.optim.SGD(module.parameters(), lr=1.0))
    >>> history = trainer.fit(Batches(x, y, size=4), (x, y), epochs=20)
    >>> history[-1]["metric"]
    1.0
    """

    def __init__(
        self,
        module: nn.Module,
        loss: Callable[..., Tensor],
        optimizer: Optimizer,
        *,
        metric: metrics.MetricLike = "accuracy",
        score: Score | None = None,
        lr: Schedule | None = None,
        scale: Schedule | None = None,
        normalizer: GradientNormalizer | None = None,
        clip: float | None = None,
        fabric: Fabric | None = None,
        progress: Progress | None = None,
        name: str = "training",
    ) -> None:
        self.fabric = fabric or Fabric(devices=1)
        self.loss = self.fabric.to_device(loss) if isinstance(loss, nn.Module) else loss
        self.module, self.optimizer = self.fabric.setup(module, optimizer)
        self.score = score or score_function(metrics.get(metric))
        self.lr, self.scale, self.normalizer = lr, scale, normalizer
        self.clip = None if clip is None else check_number(clip, "clip", 0.0, open_low=True)
        self.progress, self.name = progress or Progress(), name
        self.step, self.epoch, self.since_best = 0, 0, 0
        self.history: list[Row] = []
        self.best: dict[str, Tensor] | None = None
        self.best_value = (-math.inf, -math.inf)

    def fit(
        self,
        batches: Iterable[Any],
        held_out: HeldOut,
        *,
        epochs: int,
        patience: int | None = None,
        least_epochs: int = 0,
    ) -> list[Row]:
        """Train for ``epochs`` in total, or until ``patience`` epochs bring no gain, but for at least ``least_epochs``.

        With ``patience`` the module ends with the weights that have the best metric of the ``held_out`` rows (in a tie, the
        lowest surrogate), else with the last weights. Call it again with more epochs to continue. ``held_out`` is a pair of
        features and labels, or batches of them, such as a ``DataLoader``: then one batch is in memory at a time.

        Returns one row per epoch: ``surrogate`` and ``gradient_norm`` in training, ``metric`` of the held-out rows, ``gap``
        (their surrogate minus their 1 - metric), ``scale``, ``lr``, ``live`` (share of the last batch with a live gradient).
        """
        judged = held_out_batches(held_out)
        while self.epoch < epochs and not (self.since_best >= (patience or math.inf) and self.epoch >= least_epochs):
            row = self._train_epoch(batches)
            row |= self._evaluate(judged, row["scale"])
            self.history.append(row)
            self.epoch += 1
            self.since_best += 1
            value = row["metric"], -row["surrogate"]
            if value > self.best_value:
                self.best_value, self.since_best = value, 0
                if patience is not None:
                    self.best = copy.deepcopy(self.module.state_dict())
            self.progress.step(f"{self.name}, epoch {self.epoch}", max(self.best_value[0], row["metric"]))
        if self.best is not None:
            self.module.load_state_dict(self.best)
        return self.history

    def scores(self, features: Any) -> Tensor:
        """The scores of features, without gradients, in evaluation mode."""
        self.module.eval()
        with torch.no_grad():
            return _expand_binary(self.module(self._to_device(features)))

    def scores_and_labels(self, held_out: HeldOut) -> tuple[Tensor, Tensor]:
        """The scores (n, k) and labels (n,) of a pair, or of all batches of a loader, without rows that the loss ignores."""
        return collect_rows(map(self._to_device, held_out_batches(held_out)), self.scores, self._ignore_index)

    def save(self, file: str | Path, batches: Any = None) -> None:
        """Save what is needed to continue: weights, optimiser, loss, random state, history, and the state of the batches.

        The file has a checksum and no code. With several processes all of them call this, and the first one writes.
        """
        save_trainer(self, Path(file), batches)

    def load(self, file: str | Path, batches: Any = None) -> None:
        """Restore what :meth:`save` wrote; the file cannot execute code.

        A ValueError says why a file cannot be loaded: it is damaged, or its names, shapes, dtypes or numbers are not those of
        this trainer. Then the trainer, the batches and torch's random state are as before, in all processes.
        """
        load_trainer(self, Path(file), batches)

    def _train_epoch(self, batches: Iterable[Any]) -> Row:
        self.module.train()
        last = len(batches) - 1 if isinstance(batches, Sized) else -1
        total, live, norm, scale = torch.zeros((), device=self.fabric.device), math.nan, math.nan, math.nan
        n_rows: Tensor | int = 0
        for place, batch in enumerate(batches):
            if self.lr is not None:
                for group in self.optimizer.param_groups:
                    group["lr"] = self.lr(self.step)
            features, labels, *weight = self._to_device(batch)
            self.optimizer.zero_grad()
            scores = _expand_binary(self.module(features))
            if place == last:
                scores.retain_grad()
            if self.scale is None:
                loss = self.loss(scores, labels, *weight)
            else:
                scale = self.scale(self.step)
                loss = self.loss(scores, labels, *weight, scale=scale)
            self.fabric.backward(loss)
            if place == last:
                live, norm = _live_share(scores.grad, labels, self._ignore_index), _gradient_norm(self.module)
            if self.clip is not None:
                torch.nn.utils.clip_grad_norm_(self.module.parameters(), self.clip)
            if self.normalizer is not None:
                self.normalizer(self.module)
            self.optimizer.step()
            n_used = count_rows(labels, self._ignore_index)
            total += loss.detach() * n_used
            n_rows += n_used
            self.step += 1
        return {
            "step": self.step,
            "surrogate": float(total) / max(int(n_rows), 1),
            "scale": scale,
            "lr": self.optimizer.param_groups[0]["lr"],
            "gradient_norm": norm,
            "live": live,
        }

    def _evaluate(self, held_out: HeldOut, scale: float) -> Row:
        scores, labels = self.scores_and_labels(held_out)
        with torch.no_grad(), _without_memory(self.loss):
            metric = float(self.score(scores, labels))
            surrogate = float(self.loss(scores, labels) if math.isnan(scale) else self.loss(scores, labels, scale=scale))
        return {"metric": metric, "gap": surrogate - (1.0 - metric)}

    @property
    def _ignore_index(self) -> int:
        return getattr(self.loss, "ignore_index", IGNORED)

    def _to_device(self, data: Any) -> Any:
        """What a module takes, on its device; on a CPU it is there already, and the search for tensors takes time."""
        return data if self.fabric.device.type == "cpu" else self.fabric.to_device(data)


@contextlib.contextmanager
def _without_memory(loss: Callable[..., Tensor]) -> Iterator[None]:
    """Keep held-out rows out of the loss's memory, and the memory out of their loss; processes are still combined."""
    memory = getattr(loss, "memory", None)
    if memory is None:
        yield
        return
    loss.memory = None  # type: ignore[attr-defined]
    try:
        yield
    finally:
        loss.memory = memory  # type: ignore[attr-defined]


def _expand_binary(scores: Tensor) -> Tensor:
    return binary_scores(scores) if scores.ndim == 2 and scores.shape[1] == 1 else scores


def _live_share(gradient: Tensor | None, labels: Tensor, ignore_index: int) -> float:
    """Share of the rows whose gradient is more than ``LIVE`` of the largest."""
    rows = None if gradient is None else used_rows(gradient, labels, ignore_index)[0]
    if rows is None or not len(rows):
        return math.nan
    sizes = rows.flatten(1).abs().amax(1)
    return float((sizes > LIVE * sizes.max()).double().mean())


def _gradient_norm(module: nn.Module) -> float:
    gradients = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
    return float(torch.nn.utils.get_total_norm(gradients)) if gradients else math.nan
