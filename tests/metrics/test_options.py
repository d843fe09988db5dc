import pytest
import sklearn.metrics
import torch

from metricfit.metrics import BalancedAccuracy, CohenKappa, Cost, FBeta, Precision

MATRIX = torch.tensor([[5.0, 2.0, 1.0], [0.0, 3.0, 2.0], [1.0, 1.0, 4.0]])


def test_beta_per_class():
    mixed = FBeta([0.25, 1.0, 5.0])(MATRIX)
    precision, recall = torch.tensor([5 / 6, 3 / 6, 4 / 7]), torch.tensor([5 / 8, 3 / 5, 4 / 6])
    beta = torch.tensor([0.25, 1.0, 5.0])
    by_hand = ((1 + beta**2) * precision * recall / (beta**2 * precision + recall)).mean()
    assert mixed.item() == pytest.approx(by_hand.item())
    assert FBeta([1.0] * 3, "macro")(MATRIX).item() == pytest.approx(FBeta(1.0)(MATRIX).item())


def test_extreme_betas_are_precision_and_recall():
    assert FBeta(0.0)(MATRIX).item() == pytest.approx(Precision()(MATRIX).item())
    assert FBeta(1e6)(MATRIX).item() == pytest.approx(BalancedAccuracy()(MATRIX).item(), rel=1e-5)


def test_positive_class():
    two = torch.tensor([[3.0, 1.0], [2.0, 2.0]])
    assert Precision("binary", positive=0)(two).item() == pytest.approx(3 / 5)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa(weights):
    truth = [0] * 8 + [1] * 5 + [2] * 6
    guess = [0] * 5 + [1] * 2 + [2] + [1] * 3 + [2] * 2 + [0, 1] + [2] * 4
    expected = sklearn.metrics.cohen_kappa_score(truth, guess, weights=weights)
    assert CohenKappa(weights)(MATRIX).item() == pytest.approx(expected, abs=1e-6)


def test_cost_is_a_metric_that_goes_up():
    cost = Cost([[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]])
    assert cost(MATRIX).item() == pytest.approx(-(2 * 1 + 1 * 4 + 2 * 1 + 1 * 4 + 1 * 1) / 19)
    assert cost(torch.eye(3)).item() == 0.0 == cost.bounds[1]
    assert cost.bounds[0] == -4.0
    assert cost == Cost(torch.tensor([[0.0, 1, 4], [1, 0, 1], [4, 1, 0]]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: FBeta(average="marco"),
            r"one of 'binary', 'macro', 'micro', 'weighted'; got 'marco'. Did you mean 'macro'\?",
        ),
        (lambda: FBeta(-1.0), r"`beta` should be at least 0, got -1.0"),
        (lambda: FBeta([1, 2], "micro"), r"`beta` should be one number with average='micro', got 2"),
        (lambda: FBeta([1, 2])(MATRIX), r"`beta` should have one entry per class, 3, got 2"),
        (lambda: Precision("binary")(MATRIX), r"but the scores have 3.*'f1_macro' or Precision\(average=\"macro\"\)"),
        (lambda: Precision("binary", positive=2), r"`positive` should be class 0 or 1, got 2"),
        (lambda: CohenKappa("cubic"), r"`weights` should be one of 'linear', 'quadratic'; got 'cubic'"),
        (lambda: Cost([[0.0, 1.0]]), r"`matrix` should be a finite \(k, k\) matrix of costs, got shape \(1, 2\)"),
        (lambda: Cost([[0.0, 1.0], [1.0, 0.0]])(MATRIX), r"`Cost` has a matrix for 2 classes, but the scores have 3"),
        (lambda: FBeta()(torch.ones(2, 3)), r"`matrix` should have shape \(..., k, k\), got \(2, 3\)"),
    ],
)
def test_what_is_wrong_is_said(call, message):
    with pytest.raises(ValueError, match=message):
        call()
