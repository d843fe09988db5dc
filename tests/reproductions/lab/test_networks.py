"""The papers' networks: published sizes, a step that lowers the loss, and batches against one by one."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal
from torch import nn

from benchmarks.network_steps import WAYS, take_step
from metricfit import ExactLoss, ExpectedErrorLoss
from reproductions.lab import networks
from reproductions.lab.networks import Trees, join_trees

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
    "trees": (lambda: networks.TreeTagger(30, 4, n_dimensions=8, width=0.1), lambda: forest(), None),
}


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("module", "published"),
    [
        (lambda: networks.WideResNet(28, 10), 36.5e6),  # Zagoruyko and Komodakis, Tables 4 and 5
        (lambda: networks.WideResNet(16, 8), 11.0e6),
        (lambda: networks.WideResNet(40, 4), 8.9e6),
        (lambda: networks.WideResNet(16, 4), 2.8e6),  # 2.75 in their repository
        (lambda: networks.ResNet18(10), 11.2e6),
        (lambda: networks.Darknet19(1000), 20.8e6),
        (lambda: networks.MLP(784, 10), 0.317e6),
        (lambda: networks.MLP(784, 10, (512, 256, 128)), 0.567e6),
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


def test_the_number_of_parameters_of_sequences():
    """Tai et al. (2015), Table 1, counts what composes: neither embeddings nor heads; their two directions share weights."""
    with torch.device("meta"):
        words, trees = networks.Tagger(30, 5, n_cells=168), networks.TreeTagger(30, 5, n_cells=150)
    assert count(words.cells) == 2 * 315_840
    assert count(trees.leaf) + count(trees.inner) == pytest.approx(316_800, rel=0.003)  # each gate has one bias, theirs two


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


@pytest.mark.parametrize("depth", [4, 27])
def test_wide_resnets_have_certain_depths(depth):
    with pytest.raises(ValueError, match=r"`depth` should be 10, 16, 22, 28, \.\.\. \(6 n \+ 4\)"):
        networks.WideResNet(depth, 1)


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


class TestPredictedSigma:
    def drawn(self):
        random = torch.Generator().manual_seed(0)
        mu = torch.randn(12, 4, generator=random, dtype=torch.float64, requires_grad=True)
        sigma = (0.3 + torch.rand(12, generator=random, dtype=torch.float64)).requires_grad_()
        return mu, sigma, torch.randint(0, 4, (12,), generator=random)

    @pytest.mark.parametrize("margin", [0.5, 5.0])
    def test_value_and_gradient_are_those_of_listing_1(self, margin):
        mu, sigma, labels = self.drawn()
        ours, theirs = ExactLoss(margin=margin)(mu, labels, scale=sigma), listing_1(mu, sigma, labels, margin)
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
        for found, expected in zip(*(torch.autograd.grad(loss, (mu, sigma)) for loss in (ours, theirs)), strict=True):
            assert expected.abs().max() > 1e-3
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)

    def test_listing_1_by_another_integral(self):
        mu, sigma, labels = (part.detach() for part in self.drawn())
        centred = ((mu - mu.mean()) / mu.std()).numpy()
        found = [
            multivariate_normal.cdf(np.delete(row[label] - row, label) / width, cov=np.eye(3) + 1.0, abseps=1e-9, maxpts=10**6)
            for row, width, label in zip(centred, sigma.numpy(), labels.numpy(), strict=True)
        ]
        assert listing_1(mu, sigma, labels, 100.0).item() == pytest.approx(1.0 - np.mean(found), abs=1e-6)

    def test_a_constant_sigma_is_a_scale(self):
        """Normalisation comes before the division, so that a larger sigma means more noise."""
        mu, _, labels = self.drawn()
        losses = [ExactLoss(margin=0.5)(mu, labels, scale=torch.full((12,), sigma)) for sigma in (0.5, 2.0)]
        assert losses[1] - losses[0] > 0.01
        torch.testing.assert_close(losses[1], ExactLoss(scale=2.0, margin=0.5)(mu, labels))

    def test_the_head_gives_mu_and_a_step_changes_both(self):
        torch.manual_seed(0)
        body, head, rows, labels = nn.Linear(6, 8), nn.Linear(8, 4), torch.randn(20, 6), torch.randint(0, 4, (20,))
        module = networks.PredictedSigma(body, head, least=0.0)
        mu, sigma = module(rows)
        torch.testing.assert_close(mu, head(body(rows)))
        torch.testing.assert_close(sigma, torch.ones(20))
        ExactLoss()(mu, labels, scale=sigma).backward()
        assert all(bool((parameter.grad != 0).any()) for parameter in module.parameters())


class TestTagger:
    def test_padding_changes_no_word(self):
        torch.manual_seed(0)
        module = networks.Tagger(30, 4, n_dimensions=8, n_cells=5)
        words = torch.randint(1, 30, (3, 6))
        words[1, 4:] = 0
        scores = module(words).reshape(3, 6, 4)
        torch.testing.assert_close(module(words[1:2, :4]), scores[1, :4])
        wider = module(nn.functional.pad(words, (0, 5))).reshape(3, 11, 4)
        torch.testing.assert_close(wider[:, :6], scores)


def tree(seed):
    """A random binary tree of five words."""
    generator = torch.Generator().manual_seed(seed)
    words, left, right, height, roots = [], [], [], [], []
    for _ in range(5):
        words.append(int(torch.randint(1, 30, (), generator=generator)))
        left.append(-1), right.append(-1), height.append(0), roots.append(len(words) - 1)
    while len(roots) > 1:
        at = int(torch.randint(len(roots) - 1, (), generator=generator))
        one, other = roots[at : at + 2]
        words.append(0), left.append(one), right.append(other), height.append(1 + max(height[one], height[other]))
        roots[at : at + 2] = [len(words) - 1]
    return Trees(*map(torch.tensor, (words, left, right, height)))


def forest():
    return join_trees([tree(seed) for seed in range(4)])


class TestTreeTagger:
    def test_all_at_once_is_as_node_by_node(self):
        torch.manual_seed(0)
        module = networks.TreeTagger(30, 4, n_dimensions=8, n_cells=5).double()
        trees = [tree(seed) for seed in range(4)]
        scores = module(join_trees(trees))
        torch.testing.assert_close(scores, torch.cat([self.one_by_one(module, one) for one in trees]))

    def one_by_one(self, module, one):
        states = []
        for word, left, right in zip(one.words.tolist(), one.left.tolist(), one.right.tolist(), strict=True):
            if left < 0:
                states.append(module._leaves(torch.tensor([word])))
            else:
                (h1, c1), (h2, c2) = states[left], states[right]
                states.append(module._nodes(h1, h2, c1, c2))
        return module.head(torch.cat([state for state, _ in states]))

    def test_gradients(self):
        torch.manual_seed(0)
        module = networks.TreeTagger(30, 2, n_dimensions=3, n_cells=2).double()
        trees = tree(0)

        def scores(weight):
            return torch.func.functional_call(module, {"inner.weight": weight}, (trees,))

        assert torch.autograd.gradcheck(scores, module.inner.weight)
