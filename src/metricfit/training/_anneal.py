r"""EAST's annealing: train at :math:`T_k = T_0 r^k` until early stopping, then at :math:`T_{k+1}`, and so on.

Li et al. 2024, arXiv 2405.20954, sections 4.3 and E.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from metricfit import schedules
from metricfit._checks import check_number
from metricfit.training._data import HeldOut
from metricfit.training._trainer import Row, Trainer


def anneal(
    trainer: Trainer,
    batches: Iterable[Any],
    held_out: HeldOut,
    *,
    start: float = 0.2,
    rate: float = 0.8,
    patience: int = 50,
    stop_by: str = "loss",
    give_up_after: int = 3,
    epochs: int = 1000,
    checkpoint: str | Path | None = None,
    checkpoint_every: int | None = None,
) -> list[Row]:
    """Train at decreasing temperatures, as EAST does; the module ends with the best weights of all temperatures.

    The defaults are the paper's: the loss of the held-out rows at the current temperature stops and chooses, with a patience
    of 50 epochs. The paper searches ``rate`` over 0.8 and 0.9, and gives no number for ``give_up_after``.

    Parameters
    ----------
    trainer : Trainer
        Its loss takes ``scale=``, here the temperature. Its schedule of the scale is replaced.
    batches : iterable
        Batches of features, labels and optional weights.
    held_out : tuple of (features, labels) or iterable of batches
        The held-out rows.
    start : float, default=0.2
        The first temperature.
    rate : float, default=0.8
        The temperatures are start, start * rate, start * rate**2, ...
    patience : int, default=50
        Number of epochs without gain after which a temperature ends.
    stop_by : {"loss", "metric"}, default="loss"
        Of the held-out rows. The metric jumps where a class has few rows.
    give_up_after : int, default=3
        Number of successive temperatures without gain after which the training ends.
    epochs : int, default=1000
        Maximum number of epochs in total.
    checkpoint : str or Path, default=None
        As in :meth:`Trainer.fit`. After :meth:`Trainer.load` the same call resumes.
    checkpoint_every : int, default=None
        As in :meth:`Trainer.fit`.

    Returns
    -------
    list of dict
        One row per epoch, as from :meth:`Trainer.fit`.

    References
    ----------
    Li et al., "EAST", arXiv 2405.20954, sections 4.3 and E.1.

    Examples
    --------
    >>> import torch
    >>> from metricfit import EastLoss
    >>> from metricfit.training import Batches, Trainer, anneal
    >>> x, y = torch.tensor([[-2.0], [-1.0], [1.0], [2.0]]), torch.tensor([0, 0, 1, 1])
    >>> module = torch.nn.Linear(1, 2)
    >>> trainer = Trainer(module, EastLoss("f1_macro"), torch.optim.SGD(module.parameters(), lr=1.0))
    >>> history = anneal(trainer, Batches(x, y, size=4), (x, y), patience=5, epochs=20)
    >>> history[0]["scale"], history[-1]["metric"]
    (0.2, 1.0)
    """
    check_number(start, "start", 0.0, open_low=True)
    check_number(rate, "rate", 0.0, 1.0, open_low=True)
    temperature, without_gain = start, 0
    current = trainer.annealing  # of a checkpoint: its temperature continues
    try:
        while current is not None or (without_gain < give_up_after and trainer.epoch < epochs):
            if current is None:
                current = {"temperature": temperature, "without_gain": without_gain, "best_before": trainer.best_value}
                trainer.since_best = 0
            trainer.annealing, trainer.scale = current, schedules.constant(current["temperature"])
            trainer.fit(  # ends with the best weights so far
                batches,
                held_out,
                epochs=epochs,
                patience=patience,
                stop_by=stop_by,
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
            )
            without_gain = 0 if trainer.best_value > current["best_before"] else current["without_gain"] + 1
            temperature, current = current["temperature"] * rate, None
    finally:
        trainer.annealing = None
    return trainer.history
