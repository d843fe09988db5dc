"""Held-out data: a loader gives what one pair of tensors gives, and padding counts nowhere."""

import weakref

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import metricfit as mf
from metricfit.training import Batches
from reproductions.lab.networks import Trees, TreeTagger, join_trees
from tests.training.common import cpu_trainer, data

PADDING = -100
X, Y = data(90)


def sentences(lengths=(5, 2, 4, 1, 3, 5), k=3):
    """Words and tags of sentences that are filled up to the longest."""
    random = torch.Generator().manual_seed(1)
    longest = max(lengths)
    words = torch.randint(1, 20, (len(lengths), longest), generator=random)
    tags = words % k
    filling = torch.arange(longest) >= torch.tensor(lengths)[:, None]
    return words.masked_fill(filling, 0), tags.masked_fill(filling, PADDING)


class Sequences(nn.Module):
    """Scores (n, k, length)."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 3)

    def forward(self, words):
        return self.embedding(words).movedim(-1, 1)


def fit(held_out, score=None):
    torch.manual_seed(0)
    trainer = cpu_trainer(nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3)), mf.MetricLoss("f1_macro"), score=score)
    return trainer.fit(Batches(X, Y, size=30), held_out, epochs=3)


@pytest.mark.parametrize(
    "loader",
    [
        lambda x, y: DataLoader(TensorDataset(x, y), batch_size=20),
        lambda x, y: Batches(x, y, torch.ones(len(y)), size=20),
        lambda x, y: list(zip(x.split(7), y.split(7), strict=True)),
        lambda x, y: ((x[:45], y[:45]), (x[45:], y[45:])),
        lambda x, y: [x, y],
    ],
    ids=["DataLoader", "Batches", "list", "two batches", "pair in a list"],
)
def test_a_loader_is_judged_as_one_pair(loader):
    expected, found = fit((X, Y)), fit(loader(X, Y))
    for one, other in zip(expected, found, strict=True):
        assert other == pytest.approx(one, rel=1e-5, nan_ok=True)
        assert other["metric"] == one["metric"]


def test_only_one_batch_is_in_memory():
    """The features of a batch are freed before the next is loaded."""
    alive = []

    class Loader:
        def __iter__(self):
            for part, labels in zip(X.split(10), Y.split(10), strict=True):
                features = part.clone()
                alive.append(weakref.ref(features))
                assert sum(one() is not None for one in alive) <= 2  # this one, and the one that is being replaced
                yield features, labels
                del features

    scores, labels = cpu_trainer(nn.Linear(5, 3), nn.CrossEntropyLoss()).scores_and_labels(Loader())
    assert len(alive) == 9
    assert scores.shape == (90, 3)
    assert torch.equal(labels, Y)


def test_what_cannot_be_held_out_is_said():
    with pytest.raises(TypeError, match=r"`held_out` should be iterable more than once, got an iterator. Try `list"):
        fit(iter([(X, Y)]))
    with pytest.raises(ValueError, match="`held_out` should have at least one batch, got none"):
        fit([])
    with pytest.raises(ValueError, match="`held_out` should have rows that the loss does not ignore, got none"):
        fit((X, torch.full_like(Y, -100)))


class TestPadding:
    def judged(self, loss, held_out, module):
        """The rows that a score sees."""
        seen = []
        trainer = cpu_trainer(module, loss, score=lambda scores, labels: seen.append((scores, labels)) or 0.0)
        row = trainer.fit([sentences()], held_out, epochs=1)[0]
        return trainer, *seen[0], row

    def test_it_enters_no_score_and_no_surrogate(self):
        words, tags = sentences()
        used = tags != PADDING
        module, rate = Sequences(), 0.1
        before = module(words).movedim(1, -1)[used].detach()
        trainer, scores, labels, row = self.judged(nn.CrossEntropyLoss(), (words, tags), module)
        assert torch.equal(labels, tags[used])
        assert torch.equal(scores, module(words).movedim(1, -1)[used])
        assert row["surrogate"] == pytest.approx(nn.functional.cross_entropy(before, tags[used]).item())
        assert row["held_out_loss"] == pytest.approx(nn.functional.cross_entropy(scores, labels).item())
        assert trainer.optimizer.param_groups[0]["lr"] == rate

    def test_batches_of_different_lengths(self):
        words, tags = sentences()
        loader = [(words[:1], tags[:1]), (words[1:4, :4], tags[1:4, :4]), (words[4:], tags[4:])]
        _, scores, labels, row = self.judged(nn.CrossEntropyLoss(), loader, Sequences())
        assert torch.equal(labels, tags[tags != PADDING])
        assert len(scores) == 20
        assert row["live"] > 0.9  # of the words; 10 of the 30 places are padding

    def test_the_ignored_label_is_that_of_the_loss(self):
        words, tags = sentences()
        tags = (tags + 1).masked_fill(tags == PADDING, 0)
        module = nn.Sequential(nn.Embedding(20, 4), nn.Flatten(0, 1))
        seen = []
        trainer = cpu_trainer(module, mf.MetricLoss("f1_macro", ignore_index=0), score=lambda s, y: seen.append(y) or 0.0)
        trainer.fit([(words, tags.flatten())], (words, tags.flatten()), epochs=1)
        assert sorted(set(seen[0].tolist())) == [1, 2, 3]

    def test_rows_of_the_surrogate_are_words(self):
        """Batches with 20 and 2 words: the mean over the words, whatever the number of sentences and of places."""
        module = Sequences()
        words, tags = sentences()
        more = words[:2].clone(), tags[:2].masked_fill(torch.arange(5) > 0, PADDING)
        trainer = cpu_trainer(module, nn.CrossEntropyLoss())
        trainer.optimizer.param_groups[0]["lr"] = 0.0
        row = trainer.fit([(words, tags), more], (words, tags), epochs=1)[0]
        both = [nn.CrossEntropyLoss(reduction="sum")(module(one), other).item() for one, other in ((words, tags), more)]
        assert row["surrogate"] == pytest.approx(sum(both) / 22)


def test_features_of_any_kind():
    """Trees are moved to the module's device and judged like tensors."""
    leaf, inner = torch.tensor([-1, -1, 0]), torch.tensor([-1, -1, 1])
    trees = [Trees(torch.tensor([a, b, 0]), leaf, inner, torch.tensor([0, 0, 1])) for a in (1, 2) for b in (1, 2, 3)]
    labels = torch.cat([torch.tensor([PADDING, PADDING, int(tree.words[0] > 1)]) for tree in trees])
    loader = [(join_trees(trees[:2]), labels[:6]), (join_trees(trees[2:]), labels[6:])]
    torch.manual_seed(0)
    trainer = cpu_trainer(TreeTagger(4, 2, n_dimensions=4, n_cells=4), nn.CrossEntropyLoss())
    trainer.optimizer.param_groups[0]["lr"] = 1.0
    assert trainer.fit(loader, loader, epochs=40)[-1]["metric"] == 1.0
    assert trainer.fit(loader, (join_trees(trees), labels), epochs=41)[-1]["metric"] == 1.0
    assert len(trainer.scores_and_labels(loader)[1]) == 6
    assert isinstance(trainer.fabric.to_device(trees[0]), Trees)


def test_probabilities_as_labels_go_to_the_score_as_they_are():
    shares = nn.functional.one_hot(Y, 3).float()
    trainer = cpu_trainer(
        nn.Linear(5, 3),
        nn.CrossEntropyLoss(),
        score=lambda scores, labels: -float((labels - scores.softmax(1)).square().mean()),
    )
    history = trainer.fit([(X, shares)], DataLoader(TensorDataset(X, shares), batch_size=40), epochs=30)
    assert history[-1]["metric"] > history[0]["metric"]
