"""Table 7: the sentiment of sentences and phrases by a binary Tree-LSTM, by two losses, on the Stanford Sentiment Treebank.

One network is trained on the labels of all nodes, and judged at the roots (sentences) and at all nodes (phrases). As in the
paper: vectors of words that start from GloVe, Xavier's weights, Adam, the best epoch on development. Training and development
sentences are joined and divided again for each of five folds, in their published sizes. The cells are the paper's 100.

*Scaled*: 100 instead of 300 dimensions, batches of 25 sentences instead of one, few epochs instead of 200, and a rate and
dropout that are fixed. We chose the rate on the development part of the first fold by short runs of NegLog without GloVe:
within 4 epochs it had 46.96 (sentences) and 80.71 (phrases) with 1e-3, 46.14 and 80.78 with 3e-3. With GloVe we tried only
1e-3, which had 47.77 and 81.53. ``--full`` has the paper's dimensions, single sentences and epochs, and tunes rate and dropout
in each run; the paper does not say over which values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor, nn

from reproductions._claims import Claim
from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions._training import fabric_for
from reproductions.lab.datasets import LabelledTree, first_existing, read_sst
from reproductions.lab.networks import Trees, TreeTagger, join_trees
from reproductions.leaky_2019 import published
from reproductions.leaky_2019._counts import item_counts, last_counts
from reproductions.leaky_2019._networks import N_FOLDS, Example, Size, Task, compare, fold_of
from reproductions.leaky_2019._paired import Line, epochs_text, gain_claims, gains_table
from reproductions.leaky_2019._words import learn_words

RATES, DROPOUTS = (3e-4, 1e-3, 3e-3), (0.0, 0.25, 0.5)  # to tune over
SIZES = {
    "scaled": Size(100, 1.0, batch=25, epochs=6, patience=3, rates=(1e-3,), dropouts=(0.25,), vectors=True),
    "full": Size(300, 1.0, batch=1, epochs=200, patience=200, rates=RATES, dropouts=DROPOUTS, vectors=True),
    "quick": Size(8, 0.05, batch=10, epochs=2, patience=4, rates=(3e-3,), dropouts=(0.0,), n_sentences=60),
}
N_CLASSES = 5
FETCH = (
    "Fetch the Stanford Sentiment Treebank as trees in brackets (nlp.stanford.edu/sentiment), compress its files by gzip, and "
    "name the folder above it by --data or METRICFIT_DATA."
)
LINES = [
    Line(f"accuracy, {measure} of SST", measure, {}, reported, n_sentences=(8_544, 2_210))
    for measure, reported in published.TREES.items()
]


def cells(scope: Scope) -> list[Cell]:
    n_seeds = 1 if scope.quick else min(scope.seeds, N_FOLDS)
    return [{"set": "sst", "size": scope.size, "seed": seed} for seed in range(n_seeds)]


def run(cell: Cell, scope: Scope) -> Numbers:
    size, seed = size_of(cell), int(cell["seed"])
    return compare(task_of(scope, size, seed), size, seed)


def size_of(cell: Cell) -> Size:
    return SIZES[str(cell["size"])]


def task_of(scope: Scope, size: Size, seed: int) -> Task:
    """Trees with numbers for words, and the network."""
    first, second, test = read_parts(scope.data)
    train, development, test = (part[: size.n_sentences] for part in (*fold_of(first, second, seed), test))
    words = learn_words([tree.leaves() for tree in train], [tree.leaves() for tree in (*development, *test)], scope.data, size)

    def numbered(part: Sequence[LabelledTree]) -> list[Example]:
        return [(tree.with_numbers(words.numbers(tree.leaves())), torch.tensor(tree.labels)) for tree in part]

    def build(dropout: float) -> nn.Module:
        n_words = len(words.vocabulary)
        return words.fill(TreeTagger(n_words, N_CLASSES, n_dimensions=size.n_dimensions, width=size.width, dropout=dropout))

    measures = {"sentences": last_counts, "phrases": item_counts}
    return Task(numbered(train), numbered(development), numbered(test), build, join_examples, measures, fabric_for(scope))


def join_examples(examples: Sequence[Example]) -> tuple[Trees, Tensor]:
    trees, labels = zip(*examples, strict=True)
    return join_trees(trees), torch.cat(labels)


@lru_cache(maxsize=1)
def read_parts(data: Path) -> tuple[list[LabelledTree], ...]:
    """The trees to train on, for development and to test on, as published."""
    return tuple(read_sst(first_existing(data / "sst", (f"{part}.txt.gz",), FETCH)) for part in ("train", "dev", "test"))


def summary(found: Results) -> str:
    return (
        f"## Trees (Table 7): accuracy on test, %\n\n{gains_table(found, LINES)}\n\n"
        "Vectors of words start from GloVe: 300-dimensional in the paper, 100-dimensional in the scaled run. "
        f"{epochs_text(found, size_of)}\n"
    )


def claims(found: Results) -> list[Claim]:
    """LEErr over NegLog: two ties in the paper."""
    return gain_claims(found, LINES, group="Table 7 of İrsoy")


EXPERIMENT = Experiment(
    name="leaky-trees",
    title="Leaky expected error, Table 7 (arXiv 1905.00448): sentiment by a Tree-LSTM",
    datasets=("sst",),
    cells=cells,
    run=run,
    summary=summary,
    claims=claims,
    seeds=N_FOLDS,
    scaled=True,
    version=2,  # without vectors before
)
