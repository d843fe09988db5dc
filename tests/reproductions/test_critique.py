"""The critique of EXACT: toys that can be solved by hand, and what TREC's files become."""

import math
import re

import pytest
import torch

from reproductions.critique_2022 import published
from reproductions.critique_2022._methods import PLAIN
from reproductions.critique_2022._text import SparseLinear, model_of, questions, read
from reproductions.critique_2022._toy import FAR, solve
from reproductions.critique_2022._training import choose_run


@pytest.mark.parametrize(("name", "method"), published.TOYS)
def test_toys_as_published(name, method):
    """Thresholds but for those of five points, which the papers' optimisers stop before: -7.75, -11 and -5.35."""
    found, (threshold, accuracy) = solve(name, method), published.TOYS[name, method]
    assert found["accuracy"] == pytest.approx(accuracy, abs=0.01)
    if name.startswith("three"):
        ends = [float(end) for end in re.findall(r"[\d.]+", threshold)]
        if len(ends) == 2:
            assert ends[0] <= found["low"] <= found["high"] <= ends[1]
        else:
            assert found["low"] - 0.005 <= ends[0] <= found["high"] + 0.005


def test_minima_by_hand():
    """Hinge is zero as soon as both gaps of 1/8 have a score of 1: weight 8. At weight 1 and 0.75 it is 0 + 0.25 + 1.5.

    Of five points it is flat and always +1: two of them are at a loss of 2. EXACT's loss at scale 1 gives up the positive point.
    """
    assert solve("three points, free weight", "hinge")["weight"] == pytest.approx(8.0, rel=0.02)
    hinge = solve("three points, weight 1", "hinge")
    assert (hinge["low"], hinge["high"], hinge["loss"]) == (0.75, 1.0, pytest.approx((0.25 + 1.5) / 3))
    flat, plain = (solve("five points, free weight", method) for method in ("hinge", "cross-entropy"))
    assert (flat["low"], flat["loss"]) == (-FAR, pytest.approx(0.8, abs=1e-3))
    assert plain["low"] == pytest.approx(-8.33, abs=0.05)  # as trained in examples/toy.py
    assert "from_weight" not in plain
    for method in ("softmax, linear", "normal noise, linear"):
        assert solve("three points, weight 1", method)["low"] > 0.25


def test_the_two_readings_of_the_log_form():
    """p = 3/4 and 1/4, say: the log of the mean is log 2, the mean of the logs is more."""
    scores, labels = torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1])
    p = torch.special.ndtr(torch.tensor([1.0, -1.0]) / math.sqrt(2.0))
    assert PLAIN["normal noise, log of mean"](scores, labels).item() == pytest.approx(-math.log(p.mean()), abs=1e-6)
    assert PLAIN["normal noise, log"](scores, labels).item() == pytest.approx(-p.log().mean().item(), abs=1e-6)


def test_trec_is_split_by_class_and_test_is_kept_apart(data):
    texts, kinds = read(data, "train")
    first, other = questions(data, "word vectors", 0), questions(data, "word vectors", 1)
    assert len(first.train[1]) + len(first.held_out[1]) == len(texts) == len(kinds)
    assert torch.bincount(first.held_out[1]).tolist() == pytest.approx([12 / 5] * 6, abs=1.0)
    assert torch.equal(first.test[1], other.test[1])
    assert not torch.equal(first.held_out[1], other.held_out[1])


def test_sparse_linear_is_linear(data):
    """Against the dense product of the matrix that the pairs stand for."""
    found = questions(data, "TF-IDF", 0)
    module = SparseLinear(found.n_places, found.n_classes)
    torch.nn.init.normal_(module.bag.weight)
    pairs = found.train[0]
    dense = torch.zeros(len(pairs), found.n_places).scatter_add_(1, pairs[..., 0].long(), pairs[..., 1])
    torch.testing.assert_close(module(pairs), dense @ module.bag.weight + module.bias)
    torch.testing.assert_close(dense.norm(dim=1), torch.ones(len(pairs)))  # TF-IDF rows have norm 1


def test_unknown_words_differ_from_padding(data):
    found = questions(data, "word vectors", 0)
    module = model_of("word vectors", found.n_places, found.n_classes)
    known, padded = torch.tensor([[2, 3]]), torch.tensor([[2, 3, 0, 0]])
    torch.testing.assert_close(module(known), module(padded))
    assert not torch.allclose(module(known), module(torch.tensor([[2, 3, 1, 1]])))


def test_the_best_on_held_out_rows_is_taken(data):
    """Whatever the test rows say; a rate of 1e-6 learns nothing."""
    found = questions(data, "word vectors", 0)
    numbers = choose_run(found, "word vectors", "cross-entropy", 0, rates=(1e-6, 0.03, 1e-6), epochs=15)
    assert numbers["rate"] == 0.03
    assert numbers["held_out"] > 50.0  # one in six by chance
