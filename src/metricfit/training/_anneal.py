r"""EAST's annealing: at :math:`T_k = T_0 r^k` until nothing is gained, then at :math:`T_{k+1}`, until several bring nothing.

Li et al. 2024, arXiv 2405.20954.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor

from metricfit import schedules
from metricfit._checks import check_number
from metricfit.training._trainer import Row, Trainer


def anneal(
    trainer: Trainer,
    batches: Iterable[Any],
    held_out: tuple[Tensor, Tensor],
    *,
    start: float = 0.2,
    rate: float = 0.8,
    patience: int = 10,
    give_up_after: int = 3,
    epochs: int = 1000,
) -> list[Row]:
    """Train at ever lower temperatures; the module ends with the weights that were best of all.

    Args:
        trainer: its loss takes ``scale=``, which is the temperature here; its own schedule is not used.
        start, rate: the temperatures are start, start * rate, start * rate**2, ...
        patience: epochs without gain after which a temperature is done.
        give_up_after: temperatures in a row without gain after which all is done.
        epochs: the most there may be in all.
    """
    check_number(start, "start", 0.0, open_low=True)
    check_number(rate, "rate", 0.0, 1.0, open_low=True)
    temperature, without_gain = start, 0
    while without_gain < give_up_after and trainer.epoch < epochs:
        before = trainer.best_value
        trainer.scale, trainer.since_best = schedules.constant(temperature), 0
        trainer.fit(batches, held_out, epochs=epochs, patience=patience)  # ends at the best so far, where the next one starts
        without_gain = 0 if trainer.best_value > before else without_gain + 1
        temperature *= rate
    return trainer.history
