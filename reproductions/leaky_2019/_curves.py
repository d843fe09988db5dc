r"""Figures 2 to 4: logistic regression on MNIST, epoch by epoch.

Figure 4 shows "average norms of gradients" with respect to the pre-activations :math:`a`. Here that is, after each epoch, the
mean over all training images of :math:`\lVert \partial \ell_i / \partial a_i \rVert_2`, where :math:`\ell_i` is the loss of
one image alone, not divided by the size of a batch. For cross-entropy that gradient is :math:`p - e_y`, for the expected error
:math:`p_y (p - e_y)`: smaller by the probability of the label.

The paper does not say how it scales pixels, and much hangs on it: from 0 to 1, the two losses' gradients differ by a factor
of about ten at first, then less; as bytes, from 0 to 255, softmax is saturated before training and the factor is the paper's
hundred and more. So both are run.

Adam's learning rate of 1e-4 is the paper's. It gives no size of a batch (``BATCH`` here) and trains for 200 epochs (``EPOCHS``
here, for time). Nothing is chosen on development images: the test images are looked at after every epoch, as in its figures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from metricfit.training import Batches, Trainer
from reproductions._experiment import Numbers, Results
from reproductions._figure import empty_figure
from reproductions._markdown import mean_and_std, table
from reproductions._results import matching
from reproductions._training import Rows
from reproductions.leaky_2019 import published
from reproductions.leaky_2019._digits import N_CLASSES
from reproductions.leaky_2019._protocol import adam, by_xavier, error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RATE, BATCH = 1e-4, 100
EPOCHS = {"logistic": 100, "logistic-bytes": 30}
BYTES = 255.0
HEADS = {"logistic": "pixels from 0 to 1", "logistic-bytes": "pixels from 0 to 255"}
SHOWN = (0, 1, 2, 5, 10, 20, 30, 50, 100)  # epochs in the tables
STUCK = 2.0  # points behind cross-entropy at the end
COLOURS = {"NegLog": "#555555", "EErr": "#c0392b", "LEErr": "#2471a3"}


def curve(train: Rows, test: Rows, method: str, seed: int, epochs: int) -> list[Numbers]:
    """A row per epoch; the first is before training."""
    torch.manual_seed(seed)
    trainer = adam(by_xavier(nn.Linear(train[0].shape[1], N_CLASSES)), method, RATE)
    batches = Batches(*train, size=BATCH, seed=seed)
    rows = []
    for epoch in range(epochs + 1):
        trainer.fit(batches, test, epochs=epoch)
        rows.append(
            {
                "epoch": epoch,
                "train_error": error(trainer, train),
                "test_error": error(trainer, test),
                "gradient": mean_gradient(trainer, train),
            }
        )
    return rows


def mean_gradient(trainer: Trainer, rows: Rows) -> float:
    """Mean over samples of the norm of the gradient of a sample's own loss with respect to its scores."""
    features, labels = rows
    scores = trainer.scores(features).requires_grad_()
    (gradient,) = torch.autograd.grad(trainer.loss(scores, labels), scores)
    return len(labels) * gradient.norm(dim=1).mean().item()


def as_bytes(rows: Rows) -> Rows:
    """The same with pixels from 0 to 255."""
    return BYTES * rows[0], rows[1]


def summary(found: Results) -> str:
    """Errors and gradients by epoch, and what the three figures are said to show."""
    text = []
    for name, head in (("train_error", "Error on train, %"), ("test_error", "Error on test, %")):
        text.append(f"### {head}\n\n{_by_epoch(found, name)}")
    text.append(f"### Mean norm of the gradient with respect to the pre-activations\n\n{_gradients(found)}")
    text.append(_reported(found))
    return "\n\n".join(text)


def _by_epoch(found: Results, name: str) -> str:
    rows = [
        [str(epoch), *(mean_and_std(_at(found, method, name)[:, epoch].tolist()) for method in published.METHODS)]
        for epoch in _format(found)
    ]
    return table(["epoch", *published.METHODS], rows)


def _gradients(found: Results) -> str:
    rows = []
    for epoch in _format(found):
        means = {method: _at(found, method, "gradient")[:, epoch].mean() for method in published.METHODS}
        ratio = means["NegLog"] / means["EErr"]
        rows.append([str(epoch), *(f"{means[method]:.4f}" for method in published.METHODS), f"{ratio:.1f}"])
    return table(["epoch", *published.METHODS, "NegLog / EErr"], rows)


def _reported(found: Results) -> str:
    errors = {method: _at(found, method, "test_error") for method in published.METHODS}
    ratio = (_at(found, "NegLog", "gradient") / _at(found, "EErr", "gradient"))[:, 1:]
    behind = [int((plain[1:] > log[1:]).sum()) for plain, log in zip(errors["EErr"], errors["NegLog"], strict=True)]
    stuck = int((errors["EErr"][:, -1] > errors["NegLog"][:, -1] + STUCK).sum())
    return (
        f"EErr is behind NegLog on test in {', '.join(map(str, behind))} of {errors['EErr'].shape[1] - 1} epochs (a number "
        f"per fold), and ends more than {STUCK:g} points behind, as one of the paper's ten folds does, in {stuck} of "
        f"{len(behind)} folds. NegLog's gradients are {ratio.min():.1f} to {ratio.max():.1f} times as large as EErr's from "
        "the first epoch on; the paper reads two orders of magnitude off its Figure 4."
    )


def last_gains(found: Results) -> list[float]:
    """By how many points EErr's error on test is below NegLog's after the last epoch, per fold."""
    return (_at(found, "NegLog", "test_error") - _at(found, "EErr", "test_error"))[:, -1].tolist()


def _format(found: Results) -> list[int]:
    n_epochs = _at(found, "NegLog", "epoch").shape[1]
    return [epoch for epoch in SHOWN if epoch < n_epochs]


def _at(found: Results, method: str, name: str) -> np.ndarray:
    """Of one method: a row per fold, a column per epoch."""
    folds: dict[int, list[float]] = {}
    for cell, numbers in matching(found, method=method):
        folds.setdefault(int(cell["seed"]), []).append(numbers[name])
    return np.array(list(folds.values()))


def figure(found: Results) -> Figure:
    """A line per fold; above with pixels from 0 to 1, below from 0 to 255."""
    drawn = empty_figure(10.0, 6.0)
    panels = (("train_error", "error on train, %"), ("test_error", "error on test, %"), ("gradient", "norm of gradient"))
    for line_of_axes, (model, head) in zip(drawn.subplots(2, 3), HEADS.items(), strict=True):
        for axes, (name, label) in zip(line_of_axes, panels, strict=True):
            _draw(axes, matching(found, model=model), name)
            axes.set_title(f"{label}; {head}", fontsize=8)
    line_of_axes[-1].legend(frameon=False, fontsize=8)
    return drawn


def _draw(axes: Axes, found: Results, name: str) -> None:
    for method in published.METHODS:
        for index, line in enumerate(_at(found, method, name)):
            axes.plot(line, color=COLOURS[method], linewidth=1.0, label=method if index == 0 else None)
    axes.set_yscale("log")
    axes.set_xlabel("epoch")
