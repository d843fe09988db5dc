"""The protocol of Sections 4.3 and E: parts of a set, training with early stopping on validation rows, annealing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

import metricfit as mf
from metricfit.training import Batches, Trainer, anneal
from reproductions._experiment import Numbers, Results
from reproductions._training import Rows, cpu_fabric, in_batches

FIRST_TEMPERATURE = 0.2
AIMS = {"F1*": "f1", "Acc*": "accuracy", "MCC*": "mcc"}  # the score that a loss is for
GAINS = (*((method, "CE", score) for method, score in AIMS.items()), ("F1*", "Dice", "f1"))  # of which over which, in what

Grid = dict[str, tuple[float, ...]]  # the choices for each of the options

# E.4, with the batch sizes for tables
GRID: Grid = {
    "batch": (128, 256, 512, 1024, 2048),
    "rate": (0.01, 0.001, 0.0001),
    "dropout": (0.25, 0.5),
    "decay": (0.8, 0.9),
}


@dataclass(frozen=True)
class Parts:
    """Rows to train on, to stop by, and to report."""

    train: Rows
    validation: Rows
    test: Rows


@dataclass(frozen=True)
class Options:
    """What the paper searches for; ``decay`` is the annealing's r and is of no use to losses without a temperature."""

    batch: int = 1024
    rate: float = 0.001
    dropout: float = 0.25
    decay: float = 0.8


@dataclass(frozen=True)
class Effort:
    """Epochs in all, those without gain that end a temperature, and temperatures without gain that end it all.

    A loss without a temperature ends after ``plain_patience`` epochs without gain. By default it may go as long without gain
    as all of these temperatures together, so that it is not beaten by the epochs alone.
    """

    epochs: int
    patience: int
    give_up_after: int = 3
    plain_patience: int | None = None


def train_network(
    module: nn.Module,
    loss: Callable[..., Tensor],
    parts: Parts,
    options: Options,
    effort: Effort,
    seed: int,
    start: float = FIRST_TEMPERATURE,
    *,
    fabric: Fabric | None = None,
    at_once: int | None = None,
) -> Trainer:
    """AdamW; stops by, and goes back to, the least validation loss, at its own temperature where there is one.

    A loss for a metric is annealed from ``start``. Validation rows are scored ``at_once`` so many, or all; on the CPU if there
    is no ``fabric``.

    The paper stops by the validation loss (E.1), so this does too, not by the metric: of mammography's validation rows 42 are
    positive, and a metric of so few jumps.
    """
    optimizer = torch.optim.AdamW(module.parameters(), lr=options.rate, fused=True)
    trainer = Trainer(module, loss, optimizer, fabric=fabric or cpu_fabric())
    batches = Batches(*parts.train, size=options.batch, seed=seed)
    held_out = parts.validation if at_once is None else in_batches(parts.validation, at_once)
    if isinstance(loss, mf.MetricLoss):
        anneal(
            trainer,
            batches,
            held_out,
            start=start,
            rate=options.decay,
            patience=effort.patience,
            stop_by="loss",
            give_up_after=effort.give_up_after,
            epochs=effort.epochs,
        )
    else:
        patience = effort.plain_patience or effort.patience * effort.give_up_after
        trainer.fit(batches, held_out, epochs=effort.epochs, patience=patience, stop_by="loss")
    return trainer


def search_options(grid: Grid, n_draws: int, validation_loss: Callable[[Options], float], seed: int = 0) -> Options:
    """The options with the least validation loss, of so many random points of the grid."""
    random = np.random.default_rng(seed)
    best, least = Options(), np.inf
    for _ in range(n_draws):
        drawn = {option: choices[random.integers(len(choices))] for option, choices in grid.items()}
        options = Options(int(drawn["batch"]), drawn["rate"], drawn["dropout"], drawn["decay"])
        loss = validation_loss(options)
        if loss < least:
            best, least = options, loss
    return best


def course(trainer: Trainer, effort: Effort) -> Numbers:
    """How training went: its epochs, whether they were all that there were, and the temperature of the weights it kept."""
    numbers = {"epochs": float(trainer.epoch), "capped": float(trainer.epoch >= effort.epochs)}
    if trainer.scale is not None:
        numbers["temperature"] = trainer.history[trainer.best_epoch - 1]["scale"]
    return numbers


def courses(found: Results) -> str:
    """How many runs had not ended by themselves, and how far annealing came."""
    runs = [numbers for _, numbers in found if "capped" in numbers]
    capped = sum(numbers["capped"] > 0.0 for numbers in runs)
    text = f"{capped} of {len(runs)} networks were ended by the number of epochs rather than by patience."
    if temperatures := [numbers["temperature"] for numbers in runs if "temperature" in numbers]:
        text += (
            f" The weights that were kept have a temperature or scale from {max(temperatures):.3f} down to "
            f"{min(temperatures):.3f}, {np.median(temperatures):.3f} in the median."
        )
    return text
