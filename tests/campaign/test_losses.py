import re

import numpy as np
import pytest
import torch

import metricfit as mf
from campaign import losses
from campaign._tally import FINE, Outcome


def outcomes(tmp_path, n_cases=60):
    return losses.run(np.random.default_rng(0), n_cases, tmp_path)


def test_a_few_cases_are_fine_and_the_same_seed_draws_them_again(tmp_path):
    tally = outcomes(tmp_path, 200)
    assert tally.failures == []
    assert set(tally.counts) == set(FINE)
    assert tally.n_tried == 200
    assert outcomes(tmp_path, 200).counts == tally.counts


@pytest.mark.parametrize("number", ["nan", "-1000000.0"])
def test_a_wrong_loss_is_seen(tmp_path, monkeypatch, number):
    right = mf.MetricLoss.forward
    monkeypatch.setattr(mf.MetricLoss, "forward", lambda *args: right(*args) * 0.0 + float(number))
    tally = outcomes(tmp_path)
    assert tally.counts[Outcome.WRONG] > 0
    assert re.match(rf"losses: wrong: check_case\(\d+\): the loss is {number}", tally.failures[0])


def test_a_gradient_of_nan_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.autograd, "grad", lambda value, scores: (torch.full_like(scores, np.nan),))
    assert any("the gradient is NaN" in failure for failure in outcomes(tmp_path).failures)


def test_a_dependence_on_the_order_of_rows_is_seen(tmp_path, monkeypatch):
    right = mf.MetricLoss.forward

    def ordered(self, scores, *args):
        return right(self, scores, *args) * (0.5 if scores[0, 0].sum() < scores[-1, 0].sum() else 1.0)

    monkeypatch.setattr(mf.MetricLoss, "forward", ordered)
    monkeypatch.setattr(losses, "PROPERTIES", (losses._permuted,))
    assert any("the loss differs" in failure for failure in outcomes(tmp_path).failures)


def test_bad_input_that_is_answered_is_wrong(tmp_path, monkeypatch):
    monkeypatch.setattr(losses, "BAD_SHARE", 1.0)
    assert outcomes(tmp_path).counts == {Outcome.REFUSED: 60}
    monkeypatch.setattr(losses, "_bad_inputs", lambda random, case: [lambda: case])
    assert any("bad input gave" in failure for failure in outcomes(tmp_path).failures)
