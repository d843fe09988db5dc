import numpy as np
import pytest
import torch

import metricfit as mf
from campaign import losses
from campaign.__main__ import PARTS
from campaign._tally import FINE, Outcome


def outcomes(tmp_path, n_cases=60):
    return losses.run(np.random.default_rng(0), n_cases, tmp_path)


def test_a_few_cases_are_fine(tmp_path):
    tally = outcomes(tmp_path, 200)
    assert tally.failures == []
    assert set(tally.counts) == set(FINE)
    assert tally.n_tried == 200
    assert next(iter(PARTS)) == "losses"


def test_the_same_seed_is_the_same_case(tmp_path):
    assert outcomes(tmp_path).counts == outcomes(tmp_path).counts


@pytest.mark.parametrize("number", [np.nan, -1e6])
def test_a_wrong_loss_is_seen(tmp_path, monkeypatch, number):
    right = mf.MetricLoss.forward
    monkeypatch.setattr(mf.MetricLoss, "forward", lambda self, scores, *args: right(self, scores, *args) * 0.0 + number)
    tally = outcomes(tmp_path)
    assert tally.counts[Outcome.WRONG] > 0
    assert "losses: wrong: check_case(" in tally.failures[0]
    assert f"the loss is {'nan' if np.isnan(number) else number}" in tally.failures[0]


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


def test_another_error_is_a_traceback(tmp_path, monkeypatch):
    def broken(*args):
        raise TypeError("`None` has no length")

    monkeypatch.setattr(mf.MetricLoss, "forward", broken)
    assert outcomes(tmp_path).counts[Outcome.TRACEBACK] > 0


def test_bad_input_that_is_answered_is_wrong(tmp_path, monkeypatch):
    monkeypatch.setattr(losses, "BAD_SHARE", 1.0)
    assert outcomes(tmp_path).counts == {Outcome.REFUSED: 60}
    monkeypatch.setattr(losses, "_bad_inputs", lambda random, case: [lambda: case])
    assert any("bad input gave" in failure for failure in outcomes(tmp_path).failures)
