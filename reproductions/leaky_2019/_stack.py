"""Logistic regressions that differ in their learning rate alone, trained together: one product serves all of them.

Each of them has its own Adam, early stopping and best epoch, as if it were alone. ``tests/reproductions/test_leaky_rates.py``
compares it with :class:`metricfit.training.Trainer`, which takes as long for one of them as this for seven.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from metricfit import links
from metricfit.training import Batches
from reproductions._experiment import Numbers
from reproductions._training import Rows
from reproductions.leaky_2019._protocol import ALPHA, by_xavier

LINKS = {"NegLog": links.Log(), "EErr": links.Linear(), "LEErr": links.Leaky(ALPHA)}
Start = tuple[Tensor, Tensor]  # weights (k, d) and biases (k,)


@dataclass(frozen=True)
class Course:
    """How long to train, and on how many rows at a time."""

    batch: int
    most_epochs: int
    patience: int
    least_epochs: int = 0


@dataclass
class Best:
    """The epoch with the fewest errors on development so far; of several, the one with the least training loss."""

    value: tuple[float, float] = (-torch.inf, -torch.inf)
    epoch: int = 0
    last_epoch: int = 0
    test_error: float = 100.0
    start: Start | None = None

    def goes_on(self, course: Course) -> bool:
        waited = self.last_epoch - self.epoch
        return self.last_epoch < course.most_epochs and (waited < course.patience or self.last_epoch < course.least_epochs)

    def numbers(self, rate: float) -> Numbers:
        return {
            "rate": rate,
            "test_error": self.test_error,
            "development_error": 100.0 - 100.0 * self.value[0],
            "surrogate": -self.value[1],
            "best_epoch": self.epoch,
            "epochs": self.last_epoch,
        }


def train_stack(
    parts: tuple[Rows, Rows, Rows],
    method: str,
    rates: tuple[float, ...],
    seed: int,
    course: Course,
    n_outputs: int = 1,
    start: Start | None = None,
) -> list[Best]:
    """One result per rate. All start at the same weights: Xavier's by the seed, or ``start``; two classes need one output."""
    train, development, test = parts
    weights, biases = start or xavier_start(train[0].shape[1], n_outputs, seed)
    stack = [(nn.Parameter(weights.clone()), nn.Parameter(biases.clone())) for _ in rates]
    optimizer = torch.optim.Adam([{"params": pair, "lr": rate} for pair, rate in zip(stack, rates, strict=True)], fused=True)
    batches, link, found = Batches(*train, size=course.batch, seed=seed), LINKS[method], [Best() for _ in rates]
    while any(one.goes_on(course) for one in found):
        total = torch.zeros(len(rates))
        for features, labels in batches:
            log_p = label_log_probability(_scores(stack, features), labels)
            losses = link(log_p.exp(), log_p).mean(0)
            optimizer.zero_grad()
            losses.sum().backward()
            optimizer.step()
            total += losses.detach() * len(labels)
        with torch.no_grad():
            accuracies = 1.0 - _errors(stack, development)
            values = [(a, -t / len(train[1])) for a, t in zip(accuracies.tolist(), total.tolist(), strict=True)]
            _note(found, values, stack, test, course)
    return found


def _note(found: list[Best], values: list[tuple[float, float]], stack: Sequence[Start], test: Rows, course: Course) -> None:
    """Enter this epoch for the regressions that still go on."""
    going = [index for index, one in enumerate(found) if one.goes_on(course)]
    gained = [index for index in going if values[index] > found[index].value]
    for index in going:
        found[index].last_epoch += 1
    if gained:
        errors = 100.0 * _errors([stack[index] for index in gained], test)
        for index, error in zip(gained, errors.tolist(), strict=True):
            one, (weights, biases) = found[index], stack[index]
            one.value, one.epoch, one.test_error = values[index], one.last_epoch, error
            one.start = weights.detach().clone(), biases.detach().clone()


def xavier_start(n_features: int, n_outputs: int, seed: int) -> Start:
    torch.manual_seed(seed)
    module = by_xavier(nn.Linear(n_features, n_outputs))
    assert isinstance(module, nn.Linear)
    return module.weight.detach(), module.bias.detach()


def label_log_probability(scores: Tensor, labels: Tensor) -> Tensor:
    """log p(y|x), (n, rates), of scores (n, rates, k); one score is that of class 1, and class 0 has zero.

    >>> label_log_probability(torch.tensor([[[0.0]], [[1.0986123]]]), torch.tensor([0, 1])).exp().squeeze()
    tensor([0.5000, 0.7500])
    """
    if scores.shape[2] == 1:
        return nn.functional.logsigmoid(scores.squeeze(2) * (2.0 * labels[:, None] - 1.0))
    return scores.log_softmax(2).gather(2, labels[:, None, None].expand(-1, scores.shape[1], 1)).squeeze(2)


def _scores(stack: Sequence[Start], features: Tensor) -> Tensor:
    weights, biases = (torch.stack(part) for part in zip(*stack, strict=True))  # (rates, k, d), (rates, k)
    return (features @ weights.flatten(0, 1).T).unflatten(1, biases.shape) + biases


def _errors(stack: Sequence[Start], rows: Rows) -> Tensor:
    """The share of wrong classes, (rates,)."""
    scores = _scores(stack, rows[0])
    predicted = scores.squeeze(2) > 0.0 if scores.shape[2] == 1 else scores.argmax(2)
    return (predicted.long() != rows[1][:, None]).double().mean(0)
