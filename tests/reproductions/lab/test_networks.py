"""The papers' networks: published sizes, a step that lowers the loss, and batches against one by one."""

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks.network_steps import WAYS, take_step
from metricfit import ExactLoss, ExpectedErrorLoss
from reproductions.lab import networks
from reproductions.lab.datasets._trees import parse_tree
from reproductions.lab.networks import join_trees

IMAGES = (8, 3, 32, 32)
NETWORKS = {  # a small one, its inputs, and the rows of scores
    "linear": (lambda: networks.LinearFixedFirst(6, 4), lambda: torch.randn(20, 6), 20),
    "mlp": (lambda: networks.MLP(6, 4, width=0.1, dropout=0.1), lambda: torch.randn(20, 6), 20),
    "m3": (lambda: networks.M3(4, width=0.1), lambda: torch.randn(8, 1, 28, 28), 8),
    "wide resnet": (lambda: networks.WideResNet(10, 0.5, 4), lambda: torch.randn(IMAGES), 8),
    "resnet 18": (lambda: networks.ResNet18(4, width=0.1), lambda: torch.randn(IMAGES), 8),
    "fast resnet": (lambda: networks.FastResNet(4, width=0.1), lambda: torch.randn(IMAGES), 8),
    "darknet 19": (lambda: networks.Darknet19(4, width=0.1, n_poolings=3), lambda: torch.randn(IMAGES), 8),
    "tagger": (lambda: networks.Tagger(30, 4, n_dimensions=8, width=0.1), lambda: torch.randint(1, 30, (5, 7)), 35),
    "trees": (lambda: networks.TreeTagger(30, 4, n_dimensions=8, width=0.1), lambda: join_trees(trees()), None),
}


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("module", "published"),
    [
        (lambda: networks.WideResNet(28, 10), 36.5e6),  # Zagoruyko and Komodakis, Tables 4 and 5
        (lambda: networks.WideResNet(40, 4), 8.9e6),
        (lambda: networks.ResNet18(10), 11.2e6),
        (lambda: networks.Darknet19(1000), 20.8e6),
        (lambda: networks.Tagger(30, 5, n_cells=168).cells, 2 * 315_840),  # Tai et al. (2015), Table 1, without embeddings
        (lambda: nn.ModuleList([*networks.TreeTagger(30, 5, n_cells=150).children()][2:4]), 316_800),
    ],
)
def test_the_number_of_parameters(module, published):
    with torch.device("meta"):
        assert count(module()) == pytest.approx(published, rel=0.02)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_step_lowers_the_loss(name):
    torch.manual_seed(0)
    build, draw, n_rows = NETWORKS[name]
    module, inputs = build(), draw()
    labels = torch.randint(0, 4, (n_rows or len(inputs),))
    loss, optimizer = ExpectedErrorLoss(), torch.optim.SGD(module.parameters(), lr=0.05)
    module.eval()  # the same dropout, and the same statistics, before and after
    before = loss(module(inputs), labels)
    assert module(inputs).shape == (len(labels), 4)
    before.backward()
    optimizer.step()
    assert all(parameter.grad is not None for parameter in module.parameters())
    assert loss(module(inputs), labels).item() < before.item()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_step_is_the_same_compiled_and_in_bfloat16(name, way):
    """``aot_eager`` traces as the compiler does, without minutes of C++; benchmarks/network_steps.py compiles in full."""
    torch.manual_seed(0)
    build, draw, n_rows = NETWORKS[name]
    module, inputs = build(), draw()
    labels = torch.randint(0, 4, (n_rows or len(inputs),))
    plain, found = take_step(module, inputs, labels), take_step(module, inputs, labels, way, backend="aot_eager")
    assert found.loss == pytest.approx(plain.loss, rel=0.02)
    assert found.after == pytest.approx(plain.after, rel=0.02)
    assert found.loss != plain.loss or way == "torch.compile"


def listing_1(mu, sigma, labels, margin):
    """Listing 1 of arXiv 2205.09615, its orthant integral by the common factor of the covariance I + 11^T, on 200 nodes.

    With t = ratio + z + independent noise, t > 0 has the probability of a product of Phi(ratio + z), z standard normal.
    """
    mu_bn = (mu - mu.mean()) / mu.std()
    own = nn.functional.one_hot(labels, mu.shape[1]).bool()
    deltas = (mu_bn[own][:, None] - mu_bn)[~own].view(len(mu), -1)
    ratio = deltas.clip(max=margin) / sigma[:, None]
    z, weight = (torch.from_numpy(part) for part in np.polynomial.hermite_e.hermegauss(200))
    inside = torch.special.ndtr(ratio[..., None] + z).prod(1)
    return 1.0 - (inside @ weight).mean() / weight.sum()


@pytest.mark.parametrize("margin", [0.5, 5.0])
def test_a_predicted_sigma_has_the_loss_and_the_gradients_of_listing_1(margin):
    random = torch.Generator().manual_seed(0)
    mu = torch.randn(12, 4, generator=random, dtype=torch.float64, requires_grad=True)
    sigma = (0.3 + torch.rand(12, generator=random, dtype=torch.float64)).requires_grad_()
    labels = torch.randint(0, 4, (12,), generator=random)
    ours, theirs = ExactLoss(margin=margin)(mu, labels, scale=sigma), listing_1(mu, sigma, labels, margin)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    for found, expected in zip(*(torch.autograd.grad(loss, (mu, sigma)) for loss in (ours, theirs)), strict=True):
        assert expected.abs().max() > 1e-3
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


def test_a_step_changes_both_heads():
    torch.manual_seed(0)
    body, head, rows, labels = nn.Linear(6, 8), nn.Linear(8, 4), torch.randn(20, 6), torch.randint(0, 4, (20,))
    module = networks.PredictedSigma(body, head, least=0.0)
    mu, sigma = module(rows)
    torch.testing.assert_close(mu, head(body(rows)))
    ExactLoss()(mu, labels, scale=sigma).backward()
    assert all(bool((parameter.grad != 0).any()) for parameter in module.parameters())


TREES = ("(3 (2 It) (4 works))", "(0 Bad)", "(3 (2 (1 a) (2 (0 b) (1 c))) (4 (2 d) (2 e)))", "(1 (2 (1 a) (2 b)) (1 c))")


def trees():
    """As the network gets them, with random words."""
    found = [parse_tree(text) for text in TREES]
    return [one.with_numbers(torch.randint(1, 30, (len(one.leaves()),))) for one in found]


def test_all_nodes_at_once_are_as_node_by_node():
    torch.manual_seed(0)
    module, forest = networks.TreeTagger(30, 4, n_dimensions=8, n_cells=5).double(), trees()
    states = []
    for one in forest:
        own = []
        for word, left, right in zip(one.words, one.left, one.right, strict=True):
            if left < 0:
                own.append(module._leaves(word[None]))
            else:
                (h1, c1), (h2, c2) = own[left], own[right]
                own.append(module._nodes(h1, h2, c1, c2))
        states += [state for state, _ in own]
    torch.testing.assert_close(module(join_trees(forest)), module.head(torch.cat(states)))
