"""The papers' networks: their published sizes, a step that lowers the loss, and their batches against one by one."""

import pytest
import torch
from torch import nn

from benchmarks.network_steps import WAYS, take_step
from metricfit import ExpectedErrorLoss, models
from metricfit.models import Trees, join_trees

IMAGES = (8, 3, 32, 32)
NETWORKS = {  # a small one, its inputs, and the rows of scores
    "linear": (lambda: models.LinearFixedFirst(6, 4), lambda: torch.randn(20, 6), 20),
    "mlp": (lambda: models.MLP(6, 4, width=0.1, dropout=0.1), lambda: torch.randn(20, 6), 20),
    "m3": (lambda: models.M3(4, width=0.1), lambda: torch.randn(8, 1, 28, 28), 8),
    "wide resnet": (lambda: models.WideResNet(10, 0.5, 4), lambda: torch.randn(IMAGES), 8),
    "resnet 18": (lambda: models.ResNet18(4, width=0.1), lambda: torch.randn(IMAGES), 8),
    "fast resnet": (lambda: models.FastResNet(4, width=0.1), lambda: torch.randn(IMAGES), 8),
    "darknet 19": (lambda: models.Darknet19(4, width=0.1, n_poolings=3), lambda: torch.randn(IMAGES), 8),
    "sigma": (
        lambda: models.PredictedSigma(nn.Sequential(nn.Linear(6, 8), nn.ReLU()), nn.Linear(8, 4)),
        lambda: torch.randn(20, 6),
        20,
    ),
    "tagger": (lambda: models.Tagger(30, 4, n_dimensions=8, width=0.1), lambda: torch.randint(1, 30, (5, 7)), 35),
    "trees": (lambda: models.TreeTagger(30, 4, n_dimensions=8, width=0.1), lambda: forest(), None),
}


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("module", "published"),
    [
        (lambda: models.WideResNet(28, 10), 36.5e6),  # Zagoruyko and Komodakis, Tables 4 and 5
        (lambda: models.WideResNet(16, 8), 11.0e6),
        (lambda: models.WideResNet(40, 4), 8.9e6),
        (lambda: models.WideResNet(16, 4), 2.8e6),  # 2.75 in their repository
        (lambda: models.ResNet18(10), 11.2e6),
        (lambda: models.Darknet19(1000), 20.8e6),
        (lambda: models.MLP(784, 10), 0.317e6),
        (lambda: models.MLP(784, 10, (512, 256, 128)), 0.567e6),
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
        words, trees = models.Tagger(30, 5, n_cells=168), models.TreeTagger(30, 5, n_cells=150)
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


@pytest.mark.parametrize("build", [lambda width: models.ResNet18(width=width), lambda width: models.Darknet19(width=width)])
def test_a_quarter_of_the_width_has_a_sixteenth_of_the_weights(build):
    with torch.device("meta"):
        ratio = count(build(1.0)) / count(build(0.25))
    assert 13 < ratio < 17


@pytest.mark.parametrize("width", [0.0, -1.0, float("nan")])
def test_widths_that_are_none(width):
    with pytest.raises(ValueError, match="`width`"):
        models.M3(width=width)


@pytest.mark.parametrize("depth", [4, 11, 27])
def test_depths_that_are_none(depth):
    with pytest.raises(ValueError, match=r"`depth` should be 10, 16, 22, 28, \.\.\. \(6 n \+ 4\)"):
        models.WideResNet(depth, 1)


def test_a_predicted_sigma_of_one_is_no_sigma():
    torch.manual_seed(0)
    body, head, rows = nn.Linear(6, 8), nn.Linear(8, 4), torch.randn(5, 6)
    module = models.PredictedSigma(body, head, least=0.0)
    torch.testing.assert_close(module(rows), head(body(rows)))


class TestTagger:
    def test_filling_changes_no_word(self):
        torch.manual_seed(0)
        module = models.Tagger(30, 4, n_dimensions=8, n_cells=5)
        words = torch.randint(1, 30, (3, 6))
        words[1, 4:] = 0
        scores = module(words).reshape(3, 6, 4)
        torch.testing.assert_close(module(words[1:2, :4]), scores[1, :4])
        wider = module(nn.functional.pad(words, (0, 5))).reshape(3, 11, 4)
        torch.testing.assert_close(wider[:, :6], scores)

    def test_known_embeddings(self):
        vectors = torch.randn(30, 8)
        module = models.Tagger(30, 4, vectors=vectors)
        assert torch.equal(module.embedding.weight, vectors)
        assert module.embedding.weight.requires_grad


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
        module = models.TreeTagger(30, 4, n_dimensions=8, n_cells=5).double()
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
        module = models.TreeTagger(30, 2, n_dimensions=3, n_cells=2).double()
        trees = tree(0)

        def scores(weight):
            return torch.func.functional_call(module, {"inner.weight": weight}, (trees,))

        assert torch.autograd.gradcheck(scores, module.inner.weight)
