"""Readers of sentences, trees, questions and vectors: small files made here, damaged ones, and the counts of the real ones."""

import gzip
import random
import sys
import zipfile
from collections import Counter
from functools import partial

import numpy as np
import pytest
import torch

from metricfit._errors import DataError
from reproductions.lab.datasets import (
    LabelledTree,
    Question,
    Sentence,
    pad_sentences,
    read_conll,
    read_conllu,
    read_sst,
    read_trec,
    read_vectors,
)
from reproductions.lab.datasets._trees import parse_tree
from reproductions.lab.networks import Tagger

READERS = {"conllu": read_conllu, "conll": read_conll, "sst": read_sst, "trec": read_trec}


def row(number, word, tag="NOUN"):
    return "\t".join([number, word, word.lower(), tag, "NN", *["_"] * 5])


CONLLU = [
    "# text = Don't go there",
    row("1-2", "Don't", "_"),
    row("1", "Do", "AUX"),
    row("2", "n't", "PART"),
    row("2.1", "please", "INTJ"),
    row("3", "go", "VERB"),
    row("4", "New York", "PROPN"),
    *["", "", "# only a comment", ""],
    row("1", "#", "SYM"),
]
GOOD = {
    "conllu": (
        "\n".join(CONLLU),
        [Sentence(("Do", "n't", "go", "New York"), ("AUX", "PART", "VERB", "PROPN")), Sentence(("#",), ("SYM",))],
    ),
    "conll": (
        "New\tB-location\nYork\tI-location\n\t\n#\u20288\u00a01/2\tO\n\n\n",  # only line ends end a line
        [Sentence(("New", "York"), ("B-location", "I-location")), Sentence(("#\u20288\u00a01/2",), ("O",))],
    ),
    "sst": (
        "(3 (2 It) (4 works))\n\n(0 8\u00a01/2)\n",
        [
            LabelledTree(("It", "works", None), (-1, -1, 0), (-1, -1, 1), (0, 0, 1), (2, 4, 3)),
            LabelledTree(("8\u00a01/2",), (-1,), (-1,), (0,), (0,)),
        ],
    ),
    "trec": (
        "NUM:dist How far : it ?\nHUM:ind Who ?\n",
        [Question("How far : it ?", "NUM", "dist"), Question("Who ?", "HUM", "ind")],
    ),
}


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize(("file", "pack", "end"), [("file", bytes, "\n"), ("file.gz", gzip.compress, "\r\n")])
def test_small_file(tmp_path, name, file, pack, end):
    text, expected = GOOD[name]
    (tmp_path / file).write_bytes(pack(text.replace("\n", end).encode()))
    assert READERS[name](tmp_path / file) == expected


def test_a_column_of_a_file_in_an_archive(tmp_path):
    file = tmp_path / "file.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/train.txt", "The DT B-NP\nriver NN I-NP\n\nIt PRP B-NP\n")
    assert read_conll(file, 1, member="a/train.txt") == [Sentence(("The", "river"), ("DT", "NN")), Sentence(("It",), ("PRP",))]
    assert read_conll(file, member="a/train.txt")[0].tags == ("B-NP", "I-NP")
    with pytest.raises(DataError, match=r"file.zip, line 1: should have 4 columns, .* got 'The DT B-NP'"):
        read_conll(file, 3, member="a/train.txt")
    with pytest.raises(DataError, match=r"file.zip should be sentences .*, but cannot be read: .*no item named 'train.txt'"):
        read_conll(file, member="train.txt")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("conllu", f"# x\n{row('1', 'a')}\n2\tb", r"file, line 3: should have 10 columns with tabs between them, got '2\\tb'"),
        ("conllu", f"{row('1', 'a')}\n{row('3', 'b')}", r"line 2: should have the word 2 of its sentence, got '3\\tb"),
        ("conll", "a\tO\n\nb\n", r"line 3: should have 2 columns, the first of them a word, got 'b'\.$"),
        ("sst", "(2 a)\n(2 (2 a) (2 b)", r"line 2: should be a tree; 1 of its brackets are still open"),
        ("sst", "(2 a) (2 b)", r"line 1: should end after its tree, got '\(2' in column 7"),
        ("sst", "a", r"should begin with '\(', got 'a' in column 1"),
        ("sst", "(5 a)", r"a label from 0 to 4 should follow '\(' in column 1, got '5'"),
        ("sst", "(2 a (2 b))", r"should be one word or two nodes; the one that ends in column 11 is not"),
        ("trec", "NUM:dist How far ?\nHow far ?", r"line 2: should be COARSE:fine and a question, got 'How far \?'"),
        ("conll", "caf\udce9\tO", r"file should be sentences .*, but cannot be read: 'utf-8' codec"),
    ],
)
def test_damaged_file(tmp_path, name, text, message):
    (tmp_path / "file").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match=message):
        READERS[name](tmp_path / "file")


@pytest.mark.parametrize("name", READERS)
def test_file_that_cannot_be_read(tmp_path, name):
    with pytest.raises(DataError, match=r"missing should be .*, but cannot be read: .*No such file"):
        READERS[name](tmp_path / "missing")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(GOOD[name][0].encode() * 50)[:-20])
    with pytest.raises(DataError, match=r"cut.gz should be .*, but cannot be read: Compressed file ended before"):
        READERS[name](tmp_path / "cut.gz")


def test_a_tree_deeper_than_the_stack_of_python():
    depth = 10 * sys.getrecursionlimit()
    tree = parse_tree("(2 " * depth + "(3 end)" + " (1 more))" * depth)
    assert (tree.height[-1], len(tree.labels), tree.leaves()[:2]) == (depth, 2 * depth + 1, ["end", "more"])


def test_trees_against_a_recursive_reader():
    """A second algorithm: random trees are written by one that calls itself, and read back."""
    chance = random.Random(0)

    def write(depth):
        label = chance.randrange(5)
        if depth == 0 or chance.random() < 0.3:
            word = f"w{chance.randrange(9)}"
            return f"({label} {word})", [(word, label, 0)]
        (one, first), (other, second) = write(depth - 1), write(depth - 1)
        own = (None, label, 1 + max(first[-1][2], second[-1][2]))
        return f"({label} {one} {other})", [*first, *second, own]

    for _ in range(20):
        text, nodes = write(6)
        tree = parse_tree(text)
        assert list(zip(tree.words, tree.labels, tree.height, strict=True)) == nodes
        for index, (left, right) in enumerate(zip(tree.left, tree.right, strict=True)):
            assert (left == right == -1) if tree.words[index] else (left < right == index - 1)


def test_padding_enters_neither_loss_nor_gradient():
    torch.manual_seed(0)
    module = Tagger(9, 3, n_dimensions=4, n_cells=3)
    examples = [(torch.tensor([2, 3, 4]), torch.tensor([0, 1, 2])), (torch.tensor([5]), torch.tensor([1]))]
    words, labels = pad_sentences(examples)
    assert words.tolist() == [[2, 3, 4], [5, 0, 0]]
    assert labels.tolist() == [0, 1, 2, 1, -100, -100]
    together = torch.nn.CrossEntropyLoss()(module(words), labels)
    one_by_one = [torch.nn.CrossEntropyLoss(reduction="sum")(module(one[None]), tags) for one, tags in examples]
    torch.testing.assert_close(together, sum(one_by_one) / 4)
    together.backward()
    assert module.embedding.weight.grad[0].abs().max() == 0.0


def write_vectors(file, content):
    """Arrays, or text."""
    if file.suffix == ".npz":
        np.savez(file, **content)
    else:
        file.write_bytes(gzip.compress(content.encode()) if file.suffix == ".gz" else content.encode())


VECTORS = "the 0.5 -1.0\n. . . 2.0 3.0\nété 0.25 0.0\n"
ARRAYS = {"words": np.array(["the", ". . .", "été"]), "vectors": np.array([[0.5, -1.0], [2.0, 3.0], [0.25, 0.0]], np.float16)}


@pytest.mark.parametrize(("name", "content"), [("file.txt", VECTORS), ("file.txt.gz", VECTORS), ("file.npz", ARRAYS)])
def test_vectors_of_the_words_asked_for(tmp_path, name, content):
    write_vectors(tmp_path / name, content)
    found = read_vectors(tmp_path / name, {"été", ". . .", "missing"}, 2)
    assert {word: vector.tolist() for word, vector in found.items()} == {". . .": [2.0, 3.0], "été": [0.25, 0.0]}
    assert found["été"].dtype == torch.float32


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("file.npz", {"vectors": np.ones((1, 2))}, r"file.npz should be word vectors, but cannot be read: .*words"),
        ("file.npz", {"words": np.array([{}]), "vectors": np.ones((1, 2))}, r"Object arrays cannot be loaded"),
        ("file.npz", {"words": np.array(["a"]), "vectors": np.ones((1, 3))}, r"should have shape \(1, 2\), got \(1, 3\)"),
        ("file.txt", "a 1 2\nthe 1", r"but cannot be read: 'the 1' is not a word and 2 numbers"),
        ("file.txt", "the 1 x", r"but cannot be read: could not convert string to float: 'x'"),
    ],
)
def test_damaged_vectors(tmp_path, name, content, message):
    write_vectors(tmp_path / name, content)
    with pytest.raises(DataError, match=message):
        read_vectors(tmp_path / name, {"the"}, 2)


NEWSPAPERS = partial(read_conll, column=1, member="conll2000/train.txt")


@pytest.mark.parametrize(
    ("name", "file", "read", "n_sentences", "n_words", "some"),
    [
        ("ud-english-ewt", "en_ewt-ud-train.conllu.gz", read_conllu, 12544, 204577, {"NOUN": 34751, "X": 400}),
        ("wnut17", "wnut17train.conll", read_conll, 3394, 62730, {"O": 59570, "I-corporation": 46}),
        ("conll2000", "conll2000.zip", NEWSPAPERS, 8936, 211727, {}),
    ],
)
def test_real_sentences(real, name, file, read, n_sentences, n_words, some):
    found = read(real(name) / file)
    tags = Counter(tag for sentence in found for tag in sentence.tags)
    assert (len(found), tags.total()) == (n_sentences, n_words)
    assert {tag: tags[tag] for tag in some} == some


def test_real_trees_and_questions(real):
    roots = Counter(tree.labels[-1] for tree in read_sst(real("sst") / "train.txt.gz"))
    assert [roots[label] for label in range(5)] == [1092, 2218, 1624, 2322, 1288]
    questions = read_trec(real("trec") / "train_5500.label")
    counts = {"ENTY": 1250, "HUM": 1223, "DESC": 1162, "NUM": 896, "LOC": 835, "ABBR": 86}
    assert Counter(question.coarse for question in questions) == counts
    assert len({(question.coarse, question.fine) for question in questions}) == 50
