"""Rates: regressions that are trained together are those that are trained alone, and what their table counts."""

import pytest
import torch
from torch import nn

from reproductions.leaky_2019 import published, rates, tabular
from reproductions.leaky_2019._protocol import adam, by_xavier, error
from reproductions.leaky_2019._stack import Best, Course, label_log_probability, train_stack


@pytest.mark.parametrize("method", published.METHODS)
def test_a_stack_is_one_trainer_per_rate(data, method):
    """The trainer of the other experiments, with its own optimizer, loss, early stopping and choice of the epoch."""
    parts, course = tabular.parts("pima", data, 0, 1), Course(batch=20, most_epochs=20, patience=3, least_epochs=6)
    some, stopped = (0.01, 0.3), set()
    for rate, found in zip(some, train_stack(parts, method, some, 5, course), strict=True):
        torch.manual_seed(5)
        alone = adam(by_xavier(nn.Linear(8, 1)), method, rate)
        batches = tabular.Batches(*parts[0], size=20, seed=5)
        alone.fit(batches, parts[1], epochs=20, patience=3, least_epochs=6)
        assert (found.last_epoch, found.test_error) == (alone.epoch, pytest.approx(error(alone, parts[2])))
        assert found.value == pytest.approx(alone.best_value, rel=1e-4)
        torch.testing.assert_close(found.start[0], alone.module.weight.detach(), rtol=1e-4, atol=1e-5)
        stopped.add(found.last_epoch)
    assert min(stopped) < 20  # so that early stopping is compared too


def test_probabilities_of_many_classes():
    scores, labels = torch.randn(5, 2, 3), torch.tensor([0, 1, 2, 0, 1])
    expected = torch.stack([-nn.functional.cross_entropy(scores[:, one], labels, reduction="none") for one in range(2)], 1)
    torch.testing.assert_close(label_log_probability(scores, labels), expected)


def test_a_start_is_where_training_begins(data):
    """At a rate of nearly nothing it also ends there."""
    parts, course = tabular.parts("pima", data, 0, 0), Course(batch=20, most_epochs=1, patience=1)
    start = torch.randn(1, 8), torch.randn(1)
    (found,) = train_stack(parts, "EErr", (1e-9,), 0, course, start=start)
    torch.testing.assert_close(found.start, start)


def test_the_best_rate_is_the_best_on_development():
    found = [Best(value=(0.8, -0.1)), Best(value=(0.9, -2.0)), Best(value=(0.9, -1.0))]
    assert rates.best_of(found) is found[2]
