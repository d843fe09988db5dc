import pytest
import torch
from torch.testing import assert_close

import metricfit as mf
from metricfit.scores import normalize_scores


def test_listing_1():
    scores = torch.randn(20, 3, dtype=torch.float64)
    assert_close(normalize_scores(scores), (scores - scores.mean()) / scores.std())


def test_rows_that_do_not_count_do_not_enter():
    scores = torch.randn(6, 3, dtype=torch.float64)
    counts = torch.tensor([1.0, 2.0, 0.0, 1.0, 0.0, 1.0])
    kept = scores[counts > 0]
    assert_close(normalize_scores(scores, counts)[counts > 0], (kept - kept.mean()) / kept.std())


def test_gradient():
    assert torch.autograd.gradcheck(normalize_scores, torch.randn(4, 3, dtype=torch.float64, requires_grad=True))


@pytest.mark.parametrize("value", [0.0, 0.1, 1e4])
def test_equal_scores_are_centred_and_keep_a_gradient(value):
    scores = torch.full((7, 3), value, requires_grad=True)
    normal = normalize_scores(scores)
    assert normal.abs().max() <= 1e-6 * max(value, 1)
    (gradient,) = torch.autograd.grad(normal[0, 0], scores)
    assert gradient.isfinite().all()
    assert gradient[0, 0] > 0.5


def test_binary_scores():
    assert mf.binary_scores(torch.tensor([[2.0]])).tolist() == [[0.0, 2.0]]
    with pytest.raises(ValueError, match=r"`scores` should have shape \(n,\), \(n, 1\) or \(N, 1, H, W\), got \(2, 3\)"):
        mf.binary_scores(torch.zeros(2, 3))
