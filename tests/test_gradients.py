import copy

import pytest
import torch

from metricfit import GradientNormalizer


def parameter(*gradient):
    weight = torch.nn.Parameter(torch.zeros(len(gradient)))
    weight.grad = torch.tensor(gradient)
    return weight


def test_running_mean_of_the_norm_over_all_parameters():
    normalizer = GradientNormalizer(momentum=0.5)
    a, b = parameter(3.0, 0.0), parameter(4.0)
    assert normalizer([a, b, torch.nn.Parameter(torch.zeros(1))]).item() == 5.0
    assert a.grad.tolist() == pytest.approx([0.6, 0.0])
    assert b.grad.tolist() == pytest.approx([0.8])
    c = parameter(15.0)
    normalizer(c)
    assert normalizer.running_norm.item() == 10.0
    assert c.grad.item() == 1.5


def test_a_loss_times_a_thousand_takes_the_same_steps():
    def steps(factor):
        weight, normalizer = torch.nn.Parameter(torch.tensor([2.0, -1.0])), GradientNormalizer()
        optimiser = torch.optim.SGD([weight], lr=0.1)
        for _ in range(10):
            optimiser.zero_grad()
            (factor * weight.square().sum()).backward()
            normalizer([weight])
            optimiser.step()
        return weight.tolist()

    assert steps(1e3) == pytest.approx(steps(1.0), rel=1e-4)


@pytest.mark.parametrize("bad", [0.0, float("nan"), float("inf")])
def test_what_cannot_be_learned_from_is_left_alone(bad):
    normalizer = GradientNormalizer()
    normalizer(parameter(2.0))
    weight = parameter(bad)
    normalizer(weight)
    assert normalizer.running_norm.item() == 2.0
    assert str(weight.grad.item()) == str(bad)
    assert normalizer([]).item() == 0.0


def test_a_floor_keeps_a_vanishing_gradient_small():
    with_floor, without = GradientNormalizer(floor=0.01), GradientNormalizer()
    for size, expected in ((1e-4, 0.01), (1e-5, 0.001)):
        weight, other = parameter(size), parameter(size)
        with_floor(weight)
        without(other)
        assert weight.grad.item() == pytest.approx(expected)
        assert other.grad.item() >= 0.1
        assert with_floor.running_norm == without.running_norm  # the floor is of the divisor, not of the mean
    weight = parameter(5.0)
    with_floor(weight)
    assert weight.grad.item() == pytest.approx(5.0 / (0.9 * 9.1e-5 + 0.1 * 5.0))


@pytest.mark.parametrize("floor", [0.0, 0.5])
def test_both_paths_divide_by_the_same(floor, monkeypatch):
    found = []
    for compiling in (False, True):  # True: the path of GPUs and of torch.compile
        monkeypatch.setattr(torch.compiler, "is_compiling", lambda compiling=compiling: compiling)
        normalizer = GradientNormalizer(floor=floor)
        for size in (0.1, 0.3, 7.0, 0.0, 1e-6):
            weight = parameter(size, -size)
            normalizer(weight)
            found.append(weight.grad.tolist())
    assert found[:5] == [pytest.approx(one) for one in found[5:]]


def test_state_travels():
    normalizer, other = GradientNormalizer(floor=0.01), GradientNormalizer()
    normalizer(parameter(2.0))
    other.load_state_dict(copy.deepcopy(normalizer.state_dict()))
    assert other.running_norm == 2.0
    assert repr(normalizer) == "GradientNormalizer(momentum=0.9, floor=0.01)"


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="`momentum` should be at least 0 and at most 1, got 2"):
        GradientNormalizer(2)
    with pytest.raises(ValueError, match="`floor` should be at least 0, got -1"):
        GradientNormalizer(floor=-1)
