"""Table 6: words tagged by a bidirectional LSTM, by two losses. Parts of speech, and names with clean and with noisy tags.

The paper's corpora need a licence: the Penn Treebank (parts of speech) and CoNLL 2003 (names). A part of the Penn Treebank can
be had: CoNLL-2000 has the sections 15 to 18 of its Wall Street Journal to train on and section 20 to test on, with 44 of its
45 tags. It has a fifth of the paper's sentences. UD English EWT is a second corpus of parts of speech, with 17 tags. WNUT-17
stands in for CoNLL 2003. It has 13 tags instead of 9, and its names are rare on purpose. So you can compare the gain of one
loss over the other with the paper, but not the accuracies.

As in the paper: vectors of words that start from GloVe, Xavier's weights, Adam, the best epoch on development. Sentences with
parts of speech that are not for test are divided again for each of five folds. UD English EWT keeps its published sizes.
CoNLL-2000 has no development part, so an eighth of its training sentences is for development, the share of the Penn
Treebank's sections 19 to 21. The parts of the names stay as they are, and only the start differs. Noise is in the tags of
training and development, not of test. Names are also judged by F1 of spans.

*Scaled*: 100 instead of 300 dimensions, 50 instead of 100 cells in each direction, few epochs, and a rate and dropout that are
fixed. The rate was chosen after a short look at the development part of the first fold, with a dropout of 0.5:

==================  ======  ========  ==========  ==========
best accuracy       epochs  loss      rate 3e-3   rate 1e-2
==================  ======  ========  ==========  ==========
CoNLL-2000          3       NegLog    96.52       97.28
CoNLL-2000          3       LEErr     not run     96.88
UD English EWT      3       NegLog    94.71       95.21
WNUT-17             6       NegLog    93.73       93.76
WNUT-17             6       LEErr     93.50       93.64
==================  ======  ========  ==========  ==========

``--full`` has the paper's dimensions, cells and patience, and tunes rate and dropout in each run; the paper does not say over
which values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path

import torch
from torch import nn

from reproductions._claims import Claim
from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions._results import values
from reproductions._training import fabric_for
from reproductions.lab.datasets import Sentence, first_existing, pad_sentences, read_conll, read_conllu
from reproductions.lab.networks import Tagger
from reproductions.leaky_2019 import published
from reproductions.leaky_2019._counts import item_counts, span_counts
from reproductions.leaky_2019._digits import with_noise
from reproductions.leaky_2019._networks import N_FOLDS, Example, Size, Task, compare, fold_of
from reproductions.leaky_2019._paired import Line, epochs_text, gain_claims, gains_table
from reproductions.leaky_2019._words import learn_words

SCALED = {
    "ud-english-ewt": Size(100, 0.5, batch=32, epochs=6, patience=3, rates=(1e-2,), dropouts=(0.5,), vectors=True),
    "conll2000": Size(100, 0.5, batch=32, epochs=6, patience=3, rates=(1e-2,), dropouts=(0.5,), vectors=True),
    "wnut17": Size(100, 0.5, batch=32, epochs=12, patience=4, rates=(1e-2,), dropouts=(0.5,), vectors=True),
}
RATES, DROPOUTS = (3e-4, 1e-3, 3e-3, 1e-2), (0.0, 0.25, 0.5)  # to tune over
FULL = Size(300, 1.0, batch=32, epochs=1000, patience=30, rates=RATES, dropouts=DROPOUTS, vectors=True)
QUICK = Size(8, 0.05, batch=8, epochs=2, patience=4, rates=(3e-3,), dropouts=(0.0,), n_sentences=100)
FILES = {
    "ud-english-ewt": [f"en_ewt-ud-{part}.conllu.gz" for part in ("train", "dev", "test")],
    "conll2000": ["conll2000.zip"],
    "wnut17": ["wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"],
}
FETCH = {
    "ud-english-ewt": "Fetch UD English EWT (github.com/UniversalDependencies/UD_English-EWT), compress its files by gzip,",
    "conll2000": "Fetch CoNLL-2000 as one archive (github.com/nltk/nltk_data, packages/corpora/conll2000.zip)",
    "wnut17": "Fetch WNUT-17 (github.com/leondz/emerging_entities_17)",
}
DEVELOPMENT = 5_527 / (38_219 + 5_527)  # the share of sentences in sections 19 to 21 of the Penn Treebank's 0 to 21
RUNS = (("ud-english-ewt", "clean"), ("conll2000", "clean"), ("wnut17", "clean"), ("wnut17", "noisy"))
# to train on and to test on
N_SENTENCES = {"ud-english-ewt": (12_544, 2_077), "conll2000": (7_807, 2_012), "wnut17": (3_394, 1_287)}


def _line(text: str, measure: str, name: str, labels: str, reported: str = "") -> Line:
    cell = {"set": name, "labels": labels}
    return Line(text, measure, cell, published.TAGGING.get(reported), N_SENTENCES[name])


LINES = [
    _line("accuracy, parts of speech, UD English", "accuracy", "ud-english-ewt", "clean", "PTB"),
    _line("accuracy, parts of speech, WSJ", "accuracy", "conll2000", "clean", "PTB"),
    _line("accuracy, names", "accuracy", "wnut17", "clean", "CoNLL03"),
    _line("accuracy, names, noisy", "accuracy", "wnut17", "noisy", "CoNLL03*"),
    _line("F1 of spans, names", "f1", "wnut17", "clean"),
    _line("F1 of spans, names, noisy", "f1", "wnut17", "noisy"),
]


def cells(scope: Scope) -> list[Cell]:
    n_seeds = 1 if scope.quick else min(scope.seeds, N_FOLDS)
    return [
        {"set": name, "labels": labels, "size": scope.size, "seed": seed}
        for name, labels in RUNS
        if name in (scope.datasets or FILES)
        for seed in range(n_seeds)
    ]


def run(cell: Cell, scope: Scope) -> Numbers:
    size, seed = size_of(cell), int(cell["seed"])
    return compare(task_of(str(cell["set"]), scope, size, seed, noisy=cell["labels"] == "noisy"), size, seed)


def size_of(cell: Cell) -> Size:
    return {"scaled": SCALED[str(cell["set"])], "full": FULL, "quick": QUICK}[str(cell["size"])]


def task_of(name: str, scope: Scope, size: Size, seed: int, *, noisy: bool) -> Task:
    """Sentences as numbers, the network, and accuracy; F1 of spans too, where tags mark spans."""
    parts = read_parts(name, scope.data)
    if name != "wnut17":
        parts = *fold_of(parts[0], parts[1], seed), parts[2]
    train, development, test = (part[: size.n_sentences] for part in parts)
    tags = sorted({tag for sentence in (*train, *development, *test) for tag in sentence.tags})
    words = learn_words([one.words for one in train], [one.words for one in (*development, *test)], scope.data, size)

    def numbered(part: Sequence[Sentence], noise_seed: int | None = None) -> list[Example]:
        labels = torch.tensor([tags.index(tag) for sentence in part for tag in sentence.tags])
        if noise_seed is not None:
            labels = with_noise(labels, noise_seed, len(tags))
        lengths = [len(sentence.words) for sentence in part]
        return list(zip((words.numbers(sentence.words) for sentence in part), labels.split(lengths), strict=True))

    def build(dropout: float) -> nn.Module:
        n_words = len(words.vocabulary)
        return words.fill(Tagger(n_words, len(tags), n_dimensions=size.n_dimensions, width=size.width, dropout=dropout))

    return Task(
        numbered(train, 2 * seed if noisy else None),
        numbered(development, 2 * seed + 1 if noisy else None),
        numbered(test),
        build,
        pad_sentences,
        {"accuracy": item_counts} | ({"f1": partial(span_counts, tags=tags)} if name == "wnut17" else {}),
        fabric_for(scope),
    )


@lru_cache(maxsize=2)
def read_parts(name: str, data: Path) -> tuple[list[Sentence], ...]:
    """The sentences to train on, for development and to test on, as published; CoNLL-2000 has no development part."""
    fetch = f"{FETCH[name]} and name the folder above it by --data or METRICFIT_DATA."
    files = [first_existing(data / name, (file,), fetch) for file in FILES[name]]
    if name == "conll2000":
        train, test = (read_conll(files[0], 1, member=f"conll2000/{part}.txt") for part in ("train", "test"))
        n_train = round((1.0 - DEVELOPMENT) * len(train))
        return train[:n_train], train[n_train:], test
    return tuple((read_conllu if name == "ud-english-ewt" else read_conll)(file) for file in files)


def summary(found: Results) -> str:
    lines = [line for line in LINES if values(found, f"LEErr_{line.measure}", **line.cell)]
    return (
        f"## Tagging (Table 6): accuracy and F1 on test, %\n\n{gains_table(found, lines)}\n\n"
        "The paper has parts of speech of the Penn Treebank and names of CoNLL 2003, which need a licence. WSJ is "
        "CoNLL-2000, a part of the Penn Treebank with a fifth of its sentences. UD English EWT and WNUT-17 are other texts. "
        f"Vectors of words start from GloVe, as in the paper. {epochs_text(found, size_of)}\n"
    )


def claims(found: Results) -> list[Claim]:
    """LEErr over NegLog, by accuracy: a gain in parts of speech and with noisy tags, a tie in names with clean tags."""
    return gain_claims(found, LINES)


EXPERIMENT = Experiment(
    name="leaky-tagging",
    title="Leaky expected error, Table 6 (arXiv 1905.00448): words tagged by a bidirectional LSTM",
    datasets=tuple(FILES),
    cells=cells,
    run=run,
    summary=summary,
    claims=claims,
    seeds=N_FOLDS,
    scaled=True,
    version=2,  # without vectors before
)
