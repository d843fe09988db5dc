"""The hyper-parameters of the scaled networks: of random draws, the best on images that are not trained on.

The paper tunes in the same way, with 50 draws and 20 % of the training images held out. Here every loss has the same draws:
under SGD of the learning rate, the margin (hinge and EXACT) and the last sigma (EXACT). Under
Adam only the rate is drawn, and margin and sigma are the best ones under SGD. ASAM takes those of SGD. A run is an epoch
instead of several, and has one seed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats.qmc import LatinHypercube

from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions._markdown import table
from reproductions._results import distinct_values, matching
from reproductions._training import accuracy, in_batches
from reproductions.exact_2022 import published
from reproductions.exact_2022._networks import (
    QUICK,
    SCALED,
    Hyperparameters,
    Setting,
    Size,
    fabric_of,
    load_images,
    train_network,
    tuned,
)

SETS = ("cifar10", "mnist")
RATES = {"SGD": ((0.005, 1.0), 6), "Adam": ((0.0005, 0.02), 4)}  # range of the learning rate, and number of draws
MARGINS, SIGMAS = (0.1, 10.0), (0.2, 2.0)  # the margins of Table 7 are from 0.1 to 10; its sigma is 1
N_TRAIN = {"cifar10": 30_000, "mnist": 12_000}  # one epoch of so many
N_HELD_OUT = 5000


def draws(optimizer: str) -> list[Hyperparameters]:
    """Learning rate, margin and sigma, each of them logarithmically even: one in each of as many equal intervals.

    >>> [round(one.rate, 4) for one in draws("Adam")]
    [0.0084, 0.0028, 0.0012, 0.0043]
    """
    rates, number = RATES[optimizer]
    shares = LatinHypercube(3, rng=0).random(number)
    low, high = np.log(np.array([rates, MARGINS, SIGMAS])).T
    return [Hyperparameters(*map(float, row)) for row in np.exp(low + shares * (high - low))]


def cells(scope: Scope) -> list[Cell]:
    return [
        {"set": name, "optimizer": optimizer, "loss": loss, "draw": number}
        for optimizer in RATES
        for name in scope.datasets or SETS
        for number in range(1 if scope.quick else len(draws(optimizer)))
        for loss in published.LOSSES
    ]


def run(cell: Cell, scope: Scope) -> Numbers:
    """The drawn numbers, as far as the loss has them, and the accuracy on held-out images in percent."""
    name, optimizer, loss = (str(cell[key]) for key in ("set", "optimizer", "loss"))
    drawn = draws(optimizer)[int(cell["draw"])]
    if optimizer == "Adam":
        drawn = replace(tuned(name, "SGD", loss), rate=drawn.rate)
    numbers = {"rate": drawn.rate}
    if loss != "Cross-entropy":
        numbers["margin"] = float(drawn.margin or 0.0)
    if loss == "EXACT":
        numbers["sigma"] = drawn.sigma
    size = _size(name, scope)
    (images, labels), _ = load_images(name, scope.data, size)
    n_held_out = min(N_HELD_OUT, len(labels) // 2)
    train, held_out = (images[:-n_held_out], labels[:-n_held_out]), (images[-n_held_out:], labels[-n_held_out:])
    setting = Setting(name, optimizer, loss, drawn.rate, numbers.get("margin"), drawn.sigma)
    trainer = train_network(setting, size, train, in_batches(held_out), 0, fabric_of(scope))
    return numbers | {"held_out": accuracy(trainer, in_batches(held_out))}


def _size(name: str, scope: Scope) -> Size:
    if scope.quick:
        return QUICK[name]
    return replace(SCALED[name], epochs=1, n_train=N_TRAIN[name] + N_HELD_OUT, n_test=1, points=1, mirror=False)


def summary(found: Results) -> str:
    """A table per optimizer; the best of each set and loss is bold."""
    parts = []
    for optimizer in distinct_values(found, "optimizer"):
        rows = []
        for name in distinct_values(found, "set"):
            for loss in published.LOSSES:
                own = [numbers for _, numbers in matching(found, set=name, optimizer=optimizer, loss=loss)]
                best = max((numbers["held_out"] for numbers in own), default=0.0)
                rows += [_row(name, loss, numbers, best) for numbers in sorted(own, key=lambda one: one["rate"])]
        parts.append(f"## {optimizer}\n\n{table(['set', 'loss', 'rate', 'margin', 'last sigma', 'held out, %'], rows)}")
    return "\n\n".join(parts)


def _row(name: str, loss: str, numbers: Numbers, best: float) -> list[str]:
    values = [f"{numbers[key]:.3g}" if key in numbers else "" for key in ("rate", "margin", "sigma")]
    found = f"{numbers['held_out']:.2f}"
    return [name, loss, *values, f"**{found}**" if numbers["held_out"] == best else found]


EXPERIMENT = Experiment(
    name="exact-vision-search",
    title="Hyper-parameters of the scaled networks of `exact-vision`",
    datasets=SETS,
    cells=cells,
    run=run,
    summary=summary,
    partial=True,
    version=2,
)
