import numpy as np
import pytest
import torch
from sklearn.metrics import confusion_matrix as sklearn_confusion
from torch.testing import assert_close

import metricfit as mf
from metricfit.confusion import with_gradient_of


def test_hard_assignments_count_as_scikit_learn_counts():
    random = np.random.RandomState(0)
    truth, guess, weight = random.randint(4, size=50), random.randint(4, size=50), random.rand(50)
    assignment = torch.nn.functional.one_hot(torch.tensor(guess), 4).double()
    matrix = mf.confusion_matrix(assignment, torch.tensor(truth), torch.tensor(weight))
    assert_close(matrix, torch.tensor(sklearn_confusion(truth, guess, labels=range(4), sample_weight=weight)))


def test_shares_of_classes_and_labels_agree():
    assignment = torch.rand(6, 3).softmax(1)
    labels = torch.tensor([0, 2, 1, 1, 0, 2])
    shares = torch.nn.functional.one_hot(labels, 3).float()
    assert_close(mf.confusion_matrix(assignment, shares), mf.confusion_matrix(assignment, labels))


def test_relabelling_classes_permutes_the_matrix():
    assignment, labels = torch.rand(9, 3).softmax(1), torch.arange(9) % 3
    order = torch.tensor([2, 0, 1])  # new class i is old class order[i]
    matrix = mf.confusion_matrix(assignment, labels)
    assert_close(mf.confusion_matrix(assignment[:, order], order.argsort()[labels]), matrix[order][:, order])


@pytest.mark.parametrize("soft_targets", [False, True])
def test_summed_in_float32_under_autocast(soft_targets):
    assignment = torch.full((4096, 2), 0.5, dtype=torch.bfloat16)
    labels = torch.zeros(4096, dtype=torch.long)
    target = torch.nn.functional.one_hot(labels, 2).float() if soft_targets else labels
    with torch.autocast("cpu", torch.bfloat16):
        matrix = mf.confusion_matrix(assignment, target)
    assert matrix.dtype == torch.float32
    assert matrix[0, 0] == 2048


def test_gradients_by_assignment_and_weight():
    assignment = torch.rand(5, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.rand(5, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([0, 1, 2, 1, 0])
    assert torch.autograd.gradcheck(lambda a, w: mf.confusion_matrix(a, labels, w), (assignment, weight))


def test_with_gradient_of_has_the_value_of_the_total_and_the_slope_of_the_part():
    part = torch.tensor([1.0, 2.0], requires_grad=True)
    whole = with_gradient_of(torch.tensor([10.0, 20.0]), part, 3.0)
    assert whole.tolist() == [10.0, 20.0]
    assert torch.autograd.grad(whole.sum(), part)[0].tolist() == [3.0, 3.0]


def test_wrong_weights_are_said():
    with pytest.raises(ValueError, match=r"`sample_weight` should have shape \(2,\), got \(3,\)"):
        mf.confusion_matrix(torch.ones(2, 2), torch.tensor([0, 1]), torch.ones(3))
    with pytest.raises(ValueError, match=r"`sample_weight` should be finite and not negative, got -1 ... 1"):
        mf.confusion_matrix(torch.ones(2, 2), torch.tensor([0, 1]), torch.tensor([1.0, -1.0]))
