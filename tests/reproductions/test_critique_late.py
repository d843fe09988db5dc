"""Is cross-entropy expected error late in training? Gradients by hand, and the three ways to train."""

import numpy as np
import pytest
import torch
from torch import nn

from reproductions.critique_2022 import late
from reproductions.critique_2022._late_gradients import compare_gradients
from reproductions.critique_2022._late_sets import Setting


def model_with(scores):
    """A model of one-hot rows whose scores are these."""
    module = nn.Linear(len(scores), len(scores[0]), bias=False)
    module.weight.data = torch.tensor(scores).T.contiguous()
    return module, torch.eye(len(scores))


def test_two_rows_by_hand():
    """p = 19/20 and 1/4. Gradients by the scores are (1 - p) (-1, 1), for 1 - p times p, and rows share no parameter."""
    module, features = model_with([[np.log(19.0), 0.0], [0.0, np.log(3.0)]])
    found = compare_gradients(module.float(), (features, torch.tensor([0, 0])))
    log, linear = np.array([1 / 20, 3 / 4]), np.array([19 / 400, 3 / 16])
    assert found["sure"] == found["wrong"] == 50.0
    assert found["loss_log"] == pytest.approx(-np.log([19 / 20, 1 / 4]).mean(), rel=1e-5)
    assert found["loss_linear"] == pytest.approx(np.mean([1 / 20, 3 / 4]), rel=1e-5)
    assert found["cosine"] == pytest.approx(log @ linear / np.linalg.norm(log) / np.linalg.norm(linear), rel=1e-5)
    assert found["ratio"] == pytest.approx(np.linalg.norm(linear) / np.linalg.norm(log), rel=1e-5)
    assert found["wrong_log"] == pytest.approx(100 * log[1] / log.sum(), rel=1e-5)
    assert found["wrong_linear"] == pytest.approx(100 * linear[1] / linear.sum(), rel=1e-5)


def test_trainings_of_a_seed_differ_by_the_loss_alone():
    torch.manual_seed(0)
    rows = torch.randn(40, 3), torch.arange(40) % 2
    setting = Setting(rows, rows, lambda: nn.Linear(3, 2), rate=0.1, batch=10)
    whole, parts, switched = (late.Training(setting, 3) for _ in range(3))
    whole.go_on(4, late.LOG)
    for epoch in (0, 1, 3, 4):
        parts.go_on(epoch, late.LOG)
    torch.testing.assert_close(whole.module.weight, parts.module.weight, rtol=0, atol=0)
    switched.go_on(3, late.LOG)
    before = switched.module.weight.detach().clone()
    switched.go_on(4, late.LINEAR)
    assert not torch.equal(switched.module.weight, whole.module.weight)
    assert not torch.equal(switched.module.weight, before)
    assert len(switched.trainer.history) == 4
