"""The same training for all losses: Adam, a fixed number of epochs, learning rate and epoch chosen by held-out accuracy.

The critic describes no protocol. The number of epochs is fixed, since EXACT's scale has to come down, and the learning rate
goes down as in the EXACT paper's Section 5.4: at a constant rate of 0.03 the test accuracy of cross-entropy jumped by eight
points between epochs. The weights are those of the epoch with the best held-out accuracy. EXACT alone has a second number to
choose, its margin.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

import metricfit as mf
from metricfit.training import Batches, Trainer
from reproductions._experiment import Numbers
from reproductions._training import accuracy, cpu_fabric
from reproductions.critique_2022._methods import EXACT, MARGINS, PLAIN, SCALE, Loss
from reproductions.critique_2022._text import Questions, model_of

BATCH, EPOCHS = 256, 30
RATES, LAST_RATE = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0), 1e-4
GOAL = 0.8  # of held-out accuracy, whose first epoch is noted
FIRST = 3  # epochs over which the share of live gradients is averaged


def choose_run(data: Questions, model: str, method: str, seed: int, *, rates: tuple[float, ...], epochs: int) -> Numbers:
    """Accuracies in percent of the candidate that is best on the held-out rows."""
    runs = [_train(data, model, loss, rate, seed, epochs) for loss in _losses(method) for rate in rates]
    return max(runs, key=lambda run: run["held_out"])


def _losses(method: str) -> Iterator[Loss]:
    if method == EXACT:
        yield from (mf.ExactLoss(margin=margin) for margin in MARGINS)
    else:
        yield PLAIN[method]


def _train(data: Questions, model: str, loss: Loss, rate: float, seed: int, epochs: int) -> Numbers:
    torch.manual_seed(seed)
    module = model_of(model, data.n_places, data.n_classes)
    batches = Batches(*data.train, size=BATCH, seed=seed)
    steps, is_exact = epochs * len(batches), isinstance(loss, mf.ExactLoss)
    trainer = Trainer(
        module,
        loss,
        torch.optim.Adam(module.parameters(), lr=rate, fused=True),
        lr=mf.schedules.geometric(rate, LAST_RATE, steps),
        scale=mf.schedules.geometric(*SCALE[model], steps) if is_exact else None,
        normalizer=mf.GradientNormalizer() if is_exact else None,
        fabric=cpu_fabric(),
    )
    history = trainer.fit(batches, data.held_out, epochs=epochs, patience=epochs)
    accuracies = [row["metric"] for row in history]
    found = {
        name: accuracy(trainer, rows)
        for name, rows in (("test", data.test), ("held_out", data.held_out), ("train", data.train))
    }
    found |= {
        "rate": rate,
        "epoch": float(trainer.best_epoch),
        "live": np.mean([row["live"] for row in history[:FIRST]]).item(),
    }
    if isinstance(loss, mf.ExactLoss) and loss.margin is not None:
        found["margin"] = loss.margin
    if max(accuracies) >= GOAL:
        found["goal"] = 1.0 + next(index for index, accuracy in enumerate(accuracies) if accuracy >= GOAL)
    return found
