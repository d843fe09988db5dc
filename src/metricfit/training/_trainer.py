"""A training loop for any module and any loss."""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from metricfit import metrics
from metricfit._checks import check_number, check_option
from metricfit._progress import Progress
from metricfit.gradients import GradientNormalizer
from metricfit.schedules import Schedule
from metricfit.smoothing import Smoothing
from metricfit.training._checkpoint import load_trainer, save_trainer
from metricfit.training._data import (
    IGNORED,
    HeldOut,
    Score,
    collect_rows,
    count_batches,
    count_rows,
    held_out_batches,
    score_function,
)
from metricfit.training._distributed import Fabric, check_same_call, in_step, sums_over_processes
from metricfit.training._epoch import Epoch
from metricfit.training._step import join_outputs, split_outputs, take_step

RULES = ("metric", "loss")  # of the held-out rows, by which the best weights are found and training stops

Row = dict[str, Any]


class Trainer:
    """Train a module on a surrogate loss and keep the weights with the best metric.

    It runs on Lightning Fabric.

    Parameters
    ----------
    module : nn.Module
        Maps the first item of a batch to scores (n, k) or (n, k, d1, ...), or (n, 1) for two classes. It may return scores and
        the standard deviation of the noise on them, (n,).
    loss : callable
        Called with scores and labels, with weights if batches have them, and with ``scale=`` if there is a schedule or the
        module returns a standard deviation.
    optimizer : Optimizer
        Optimizer of the module's parameters. SAM and ASAM of ``pytorch_optimizer`` get both of their gradients.
    metric : str, Metric or callable, default="accuracy"
        Computed on held-out rows after every epoch.
    score : callable, default=None
        A function of the scores (n, k) and labels (n,) of held-out rows, instead of ``metric``; larger is better. Rows with
        the label ``loss.ignore_index`` (-100 if the loss has none), such as padding, do not count. While it runs, the loss has
        the scale of the epoch, so a score may call it.
    lr : Schedule or LRScheduler, default=None
        Schedule of the learning rate, by step.
    scale : Schedule, default=None
        Schedule of the loss's scale or temperature, by step.
    normalizer : GradientNormalizer, default=None
        Divides gradients by their running norm.
    clip : float, default=None
        Maximum norm of the gradient.
    accumulate : int, default=1
        Number of batches per step. The gradient is that of their joint batch, see :func:`metricfit.accumulate_gradients`.
    fabric : Fabric, default=None
        For several devices or processes, or another precision. By default one device, the best available.
    progress : Progress, default=None
        Progress reporter.
    name : str, default="training"
        What the reporter calls this training.

    Examples
    --------
    >>> import torch
    >>> from metricfit.training import Batches, Trainer
    >>> x = torch.tensor([[-2.0], [-1.0], [1.0], [2.0]])
    >>> y = torch.tensor([0, 0, 1, 1])
    >>> module = torch.nn.Linear(1, 2)
    >>> trainer = Trainer(module, torch.nn.CrossEntropyLoss(), torch.optim.SGD(module.parameters(), lr=1.0))
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
        lr: Schedule | LRScheduler | None = None,
        scale: Schedule | None = None,
        normalizer: GradientNormalizer | None = None,
        clip: float | None = None,
        accumulate: int = 1,
        fabric: Fabric | None = None,
        progress: Progress | None = None,
        name: str = "training",
    ) -> None:
        _check_schedule(lr, optimizer)
        self.accumulate = int(check_number(accumulate, "accumulate", 1))
        self.takes_two_steps = hasattr(optimizer, "first_step") and hasattr(optimizer, "second_step")  # as SAM does
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
        self.stop_by: str | None = None  # of the first fit
        self.predicts_sigma = False
        self.unfinished: Epoch | None = None
        self.annealing: dict[str, Any] | None = None  # progress of :func:`anneal` at the current temperature

    def fit(
        self,
        batches: Iterable[Any],
        held_out: HeldOut,
        *,
        epochs: int,
        patience: int | None = None,
        stop_by: str = "metric",
        least_epochs: int = 0,
        checkpoint: str | Path | None = None,
        checkpoint_every: int | None = None,
    ) -> list[Row]:
        """Train the module.

        With ``patience`` the module ends with the weights of the best epoch, without it with the last ones. Call it again with
        more epochs to continue.

        Parameters
        ----------
        batches : iterable
            Batches of features, labels and optional weights.
        held_out : tuple of (features, labels) or iterable of batches
            The held-out rows. Of batches, such as a ``DataLoader``, one is in memory at a time.
        epochs : int
            Number of epochs in total.
        patience : int, default=None
            Stop after this many epochs without gain.
        stop_by : {"metric", "loss"}, default="metric"
            The best epoch has the best held-out metric (the lowest surrogate in a tie), or the lowest held-out loss at the
            scale of the epoch.
        least_epochs : int, default=0
            Train for at least this many epochs.
        checkpoint : str or Path, default=None
            File to save to after every epoch and at the end. To resume, :meth:`load` it with the same batches and make the
            same call.
        checkpoint_every : int, default=None
            Also save after this many steps.

        Returns
        -------
        list of dict
            One row per epoch: ``surrogate`` and ``gradient_norm`` in training, ``metric`` and ``held_out_loss`` of the
            held-out rows, ``scale``, ``lr``, and ``live``, the share of the last batch with a live gradient.
        """
        self._check_rule(check_option(stop_by, "stop_by", RULES))
        check_same_call(self.fabric, f"`fit` from step {self.step}")
        held_out = held_out_batches(held_out)
        if isinstance(batches, Iterator):
            raise TypeError("`batches` should be iterable more than once, got an iterator. Try `list(batches)`.")
        if checkpoint_every is not None:
            check_number(checkpoint_every, "checkpoint_every", 1)
            if checkpoint is None:
                raise ValueError("`checkpoint` should be a file with `checkpoint_every`, got None.")

        def save_if(due: bool) -> None:
            if checkpoint is not None and due:
                self.save(checkpoint, batches)

        def after_step() -> None:
            save_if(checkpoint_every is not None and self.step % checkpoint_every == 0)

        while self.epoch < epochs and not (self.since_best >= (patience or math.inf) and self.epoch >= least_epochs):
            row = self._train_epoch(batches, after_step)
            row |= self._evaluate(held_out, row["scale"])
            self.history.append(row)
            self.epoch += 1
            self.since_best += 1
            value = _value_of(row, stop_by)
            if value > self.best_value:
                self.best_value, self.since_best = value, 0
                if patience is not None:
                    self.best = copy.deepcopy(self.module.state_dict())
            best = row["metric"] if stop_by == "loss" else max(self.best_value[0], row["metric"])
            self.progress.step(f"{self.name}, epoch {self.epoch}", best)
            save_if(checkpoint_every is None)
        if self.best is not None:
            self.module.load_state_dict(self.best)
        save_if(True)
        return self.history

    def scores(self, features: Any) -> Tensor:
        """Scores of features, without gradients, in evaluation mode.

        Parameters
        ----------
        features : Tensor or any input of the module
            The features.

        Returns
        -------
        Tensor of shape (n, k) or (n, k, d1, ...)
            The scores.
        """
        return split_outputs(self._eval_outputs(features), self.predicts_sigma)[0]

    def scores_and_labels(self, held_out: HeldOut) -> tuple[Tensor, Tensor]:
        """Scores and labels without the rows that the loss ignores.

        Parameters
        ----------
        held_out : tuple of (features, labels) or iterable of batches
            The rows.

        Returns
        -------
        scores : Tensor of shape (n, k)
            The scores of all batches.
        labels : Tensor of shape (n,)
            Their labels.
        """
        outputs, labels = self._outputs_and_labels(held_out)
        return split_outputs(outputs, self.predicts_sigma)[0], labels

    def outputs(self, features: Any) -> Tensor:
        """Output of the module as one tensor.

        Parameters
        ----------
        features : Tensor or any input of the module
            The features.

        Returns
        -------
        Tensor
            The scores, with sigma as a last column if the module predicts one.
        """
        found, self.predicts_sigma = join_outputs(self.module(features))
        return found

    def loss_of(self, outputs: Tensor, labels: Tensor, *weight: Tensor, scale: float | None) -> Tensor:
        """Loss of :meth:`outputs`, at the schedule's scale or at the sigma that the module predicts.

        Parameters
        ----------
        outputs : Tensor
            The outputs.
        labels : Tensor
            The labels.
        *weight : Tensor
            Weights of the rows, if there are any.
        scale : float or None
            The scale.

        Returns
        -------
        Tensor of shape ()
            The loss.
        """
        scores, sigma = split_outputs(outputs, self.predicts_sigma)
        if sigma is None:
            return self.loss(scores, labels, *weight, **({} if scale is None else {"scale": scale}))
        if scale is not None:
            raise ValueError(f"`scale` should be None for a module that returns its own sigma, got a schedule at {scale:g}.")
        return self.loss(scores, labels, *weight, scale=sigma)

    @property
    def best_epoch(self) -> int:
        """The number of the best epoch so far, from 1; with ``patience``, the one whose weights a fit ends with."""
        values = [_value_of(row, self.stop_by) for row in self.history]
        if self.best_value not in values:
            raise ValueError(f"No epoch is the best: the metric is NaN in all {len(values)} epochs.")
        return 1 + values.index(self.best_value)

    def save(self, file: str | Path, batches: Any = None) -> None:
        """Save everything that a training needs to continue, also in the middle of an epoch or an annealing.

        The file has weights, optimizer, loss, schedule, random state, history, and the state of the batches. Call it in all
        processes; the first one writes. The file has a temporary name until it is complete.

        Parameters
        ----------
        file : str or Path
            The file.
        batches : Batches or loader, default=None
            Batches whose state is saved too.
        """
        save_trainer(self, Path(file), batches)

    def load(self, file: str | Path, batches: Any = None) -> None:
        """Restore a training that :meth:`save` wrote.

        The file cannot execute code (``weights_only=True`` of torch).

        Parameters
        ----------
        file : str or Path
            The file.
        batches : Batches or loader, default=None
            Batches whose state is restored too.

        Raises
        ------
        ValueError
            If the file is damaged, or belongs to another module, optimizer or loss. Make a new trainer then, because some
            parts may already be loaded.
        """
        load_trainer(self, Path(file), batches)

    def _train_epoch(self, batches: Iterable[Any], after_step: Callable[[], None]) -> Row:
        """One epoch, or the rest of one that a checkpoint left unfinished."""
        self.module.train()
        epoch = self.unfinished or Epoch.begin(batches, self.fabric.device)
        n_batches = count_batches(batches)
        n_steps = None if n_batches is None else math.ceil(n_batches / self.accumulate)
        groups = in_step(self.fabric, _in_groups(epoch.remaining(batches), self.accumulate), n_steps)
        self.unfinished = epoch
        try:
            for group in map(self._to_device, groups):
                self._set_rate()
                scale = None if self.scale is None else float(self.scale(self.step))
                epoch.n_batches += len(group)
                step = take_step(self, group, scale, measure=epoch.n_batches == n_batches)
                epoch.add(step, sum(count_rows(labels, self.ignore_index) for _, labels, *_ in group), scale, self._rate())
                self.step += 1
                if isinstance(self.lr, LRScheduler):
                    self.lr.step()
                after_step()
        finally:
            self.unfinished = None
        if not epoch.n_batches:
            raise ValueError("`batches` should have at least one batch per epoch, got none.")
        return {"step": self.step, **epoch.row(self.fabric)}

    def _set_rate(self) -> None:
        if self.lr is not None and not isinstance(self.lr, LRScheduler):
            for group in self.optimizer.param_groups:
                group["lr"] = float(self.lr(self.step))

    def _rate(self) -> float:
        return float(self.optimizer.param_groups[0]["lr"])

    def _evaluate(self, held_out: HeldOut, scale: float) -> Row:
        outputs, labels = self._outputs_and_labels(held_out)
        if not len(labels) and self.fabric.world_size == 1:
            raise ValueError("`held_out` should have rows that the loss does not ignore, got none.")
        scores, own_scale = split_outputs(outputs, self.predicts_sigma)[0], None if math.isnan(scale) else scale
        with torch.no_grad(), _over_processes(self.loss):
            loss = float(self.loss_of(outputs, labels, scale=own_scale))
            with _at_scale(self.loss, own_scale):
                score = float(self.score(scores, labels))
        # a custom score may differ between processes, which have to stop at the same epoch
        score, loss = (total / self.fabric.world_size for total in sums_over_processes(self.fabric, score, loss))
        return {"metric": score, "held_out_loss": loss}

    def _eval_outputs(self, features: Any) -> Tensor:
        self.module.eval()
        with torch.no_grad():
            return self.outputs(self._to_device(features))

    def _outputs_and_labels(self, held_out: HeldOut) -> tuple[Tensor, Tensor]:
        return collect_rows(map(self._to_device, held_out_batches(held_out)), self._eval_outputs, self.ignore_index)

    def _check_rule(self, stop_by: str) -> None:
        """Raise a ValueError for another rule than that of the last fit, whose best value it would be compared with."""
        if self.stop_by not in (None, stop_by):
            raise ValueError(f"`stop_by` should be {self.stop_by!r} as in the last fit, got {stop_by!r}. Try a new `Trainer`.")
        self.stop_by = stop_by

    @property
    def ignore_index(self) -> int:
        """The label of rows that do not count."""
        return getattr(self.loss, "ignore_index", IGNORED)

    def _to_device(self, data: Any) -> Any:
        """Move a batch to the device of the module. On a CPU this is skipped: the search for tensors takes time."""
        return data if self.fabric.device.type == "cpu" else self.fabric.to_device(data)


def _value_of(row: Row, rule: str | None) -> tuple[float, float]:
    """The larger, the better the epoch: by its metric, then its surrogate; or by its held-out loss, then its metric."""
    return (-row["held_out_loss"], row["metric"]) if rule == "loss" else (row["metric"], -row["surrogate"])


def _check_schedule(lr: Schedule | LRScheduler | None, optimizer: Optimizer) -> None:
    """Raise a ValueError for a schedule that cannot be advanced after every step."""
    if isinstance(lr, ReduceLROnPlateau):
        raise ValueError("`lr` should depend on the step alone, got ReduceLROnPlateau, which needs a metric.")
    if isinstance(lr, LRScheduler) and lr.optimizer is not optimizer:
        raise ValueError("`lr` should be a schedule of this `optimizer`, got one of another optimizer.")


@contextlib.contextmanager
def _over_processes(loss: Callable[..., Tensor]) -> Iterator[None]:
    """Let the loss combine the rows of all processes, as in training; without gradients it does not by default."""
    if getattr(loss, "distributed", False) is not None:
        yield
        return
    loss.distributed = True  # type: ignore[attr-defined]
    try:
        yield
    finally:
        loss.distributed = None  # type: ignore[attr-defined]


@contextlib.contextmanager
def _at_scale(loss: Callable[..., Tensor], scale: float | None) -> Iterator[None]:
    """Set the scale of a loss to that of the epoch, for a score that calls the loss without a scale."""
    smoothing = getattr(loss, "smoothing", None)
    if scale is None or not isinstance(smoothing, Smoothing):
        yield
        return
    before = smoothing.width.detach().clone()
    smoothing.width.fill_(scale)
    try:
        yield
    finally:
        smoothing.width.copy_(before)


def _in_groups(batches: Iterator[Any], size: int) -> Iterator[list[Any]]:
    """So many batches at a time; the last group may be smaller."""
    while group := list(islice(batches, size)):
        yield group
