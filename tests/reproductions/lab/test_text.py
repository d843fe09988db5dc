"""Readers of sentences, trees, questions and vectors: small files made here, damaged ones, and the counts of the real ones."""

import gzip
import random
import sys
import zipfile
from collections import Counter

import numpy as np
import pytest
import torch

from metricfit._errors import DataError
from reproductions.lab.datasets import (
    LabelledTree,
    Question,
    Sentence,
    Vocabulary,
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
        "New\tB-location\nYork\tI-location\n\t\n#\tO\n\n\n",
        [Sentence(("New", "York"), ("B-location", "I-location")), Sentence(("#",), ("O",))],
    ),
    "sst": (
        "(3 (2 It) (4 works))\n\n(0 Bad)\n",
        [
            LabelledTree(("It", "works", None), (-1, -1, 0), (-1, -1, 1), (0, 0, 1), (2, 4, 3)),
            LabelledTree(("Bad",), (-1,), (-1,), (0,), (0,)),
        ],
    ),
    "trec": (
        "NUM:dist How far : it ?\nHUM:ind Who ?\n",
        [Question("How far : it ?", "NUM", "dist"), Question("Who ?", "HUM", "ind")],
    ),
}


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize(("file", "pack"), [("file", bytes), ("file.gz", gzip.compress)])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
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


def test_only_line_ends_end_a_line(tmp_path):
    """A no-break space and a line separator may be parts of a word."""
    (tmp_path / "file").write_bytes("a\u2028b\tO\n8\u00a01/2\tB-x\n".encode())
    assert read_conll(tmp_path / "file") == [Sentence(("a\u2028b", "8\u00a01/2"), ("O", "B-x"))]
    (tmp_path / "file").write_bytes("(2 8\u00a01/2)".encode())
    assert read_sst(tmp_path / "file")[0].leaves() == ["8\u00a01/2"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("conllu", f"# x\n{row('1', 'a')}\n2\tb", r"file, line 3: should have 10 columns with tabs between them, got '2\\tb'"),
        ("conllu", f"{row('1', 'a')}\n{row('3', 'b')}", r"line 2: should have the word 2 of its sentence, got '3\\tb"),
        ("conll", "a\tO\n\nb\n", r"line 3: should have 2 columns, the first of them a word, got 'b'\.$"),
        ("conll", "a\n", r"line 1: should have 2 columns"),
        ("sst", "(2 a)\n(2 (2 a) (2 b)", r"line 2: should be a tree; 1 of its brackets are still open"),
        ("sst", "(2 a) (2 b)", r"line 1: should end after its tree, got '\(2' in column 7"),
        ("sst", "a", r"should begin with '\(', got 'a' in column 1"),
        ("sst", "(5 a)", r"a label from 0 to 4 should follow '\(' in column 1, got '5'"),
        ("sst", "((2 a) (2 b))", r"a label from 0 to 4 should follow '\(' in column 1, got ''"),
        ("sst", "(2 (2 a))", r"should be one word or two nodes; the one that ends in column 9 is not"),
        ("sst", "(2 a (2 b))", r"one word or two nodes"),
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


def test_trees_for_the_network():
    tree = parse_tree("(3 (2 It) (4 (2 works) (2 unseen)))").with_numbers(torch.tensor([2, 3, 1]))
    assert [part.tolist() for part in (tree.words, tree.left, tree.right, tree.height)] == [
        [2, 3, 1, 0, 0],
        [-1, -1, -1, 1, 0],
        [-1, -1, -1, 2, 3],
        [0, 0, 0, 1, 2],
    ]


def test_vocabulary_leaves_rare_words_out():
    known = Vocabulary.of([["b", "a", "c"], ["b", "a"], ["b"]], min_count=2)
    assert (len(known), dict(known.index)) == (4, {"b": 2, "a": 3})
    assert known.numbers(["a", "c", "d"]).tolist() == [3, 1, 1]
    assert known.numbers([]).dtype == torch.int64


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


VECTORS = {"the": [0.5, -1.0], ". . .": [2.0, 3.0], "été": [0.25, 0.0]}


@pytest.mark.parametrize("name", ["file.txt", "file.txt.gz", "file.npz"])
def test_vectors_of_the_words_asked_for(tmp_path, name):
    file = tmp_path / name
    if name == "file.npz":
        np.savez(file, words=np.array(list(VECTORS)), vectors=np.array(list(VECTORS.values()), np.float16))
    else:
        text = "".join(f"{word} {first} {second}\n" for word, (first, second) in VECTORS.items()).encode()
        file.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    found = read_vectors(file, {"été", ". . .", "missing"}, 2)
    assert {word: vector.tolist() for word, vector in found.items()} == {word: VECTORS[word] for word in (". . .", "été")}
    assert found["été"].dtype == torch.float32


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"vectors": np.ones((1, 2))}, r"file.npz should be word vectors, but cannot be read: .*words"),
        ({"words": np.array([{}]), "vectors": np.ones((1, 2))}, r"but cannot be read: Object arrays cannot be loaded"),
        ({"words": np.array(["a"]), "vectors": np.ones((1, 3))}, r"`vectors` should have shape \(1, 2\), got \(1, 3\)"),
        ("a 1 2\nthe 1", r"file.txt should be word vectors, but cannot be read: 'the 1' is not a word and 2 numbers"),
        ("the 1 x", r"file.txt should be word vectors, but cannot be read: could not convert string to float: 'x'"),
    ],
)
def test_damaged_vectors(tmp_path, arrays, message):
    file = tmp_path / ("file.txt" if isinstance(arrays, str) else "file.npz")
    if isinstance(arrays, str):
        file.write_text(arrays)
    else:
        np.savez(file, **arrays)
    with pytest.raises(DataError, match=message):
        read_vectors(file, {"the"}, 2)


def tagged(name, read):
    """The numbers of sentences and words, and how often each tag is there."""
    return lambda folder: (len(found := read(folder / name)), Counter(tag for sentence in found for tag in sentence.tags))


def newspapers(part):
    return lambda file: read_conll(file, 1, member=f"conll2000/{part}.txt")


@pytest.mark.parametrize(
    ("name", "count", "n_sentences", "n_words", "some"),
    [
        ("ud-english-ewt", tagged("en_ewt-ud-train.conllu.gz", read_conllu), 12544, 204577, {"NOUN": 34751, "X": 400}),
        ("ud-english-ewt", tagged("en_ewt-ud-test.conllu.gz", read_conllu), 2077, 25094, {}),
        ("wnut17", tagged("wnut17train.conll", read_conll), 3394, 62730, {"O": 59570, "I-corporation": 46}),
        ("wnut17", tagged("emerging.test.annotated", read_conll), 1287, 23394, {}),
        ("conll2000", tagged("conll2000.zip", newspapers("train")), 8936, 211727, {}),
        ("conll2000", tagged("conll2000.zip", newspapers("test")), 2012, 47377, {}),
    ],
)
def test_real_sentences(real, name, count, n_sentences, n_words, some):
    found, tags = count(real(name))
    assert (found, tags.total()) == (n_sentences, n_words)
    assert {tag: tags[tag] for tag in some} == some


def test_real_vectors(real):
    """Standard values of GloVe 6B, rounded to half precision."""
    found = read_vectors(real("glove-100d") / "glove-100d-subset.npz", {"the", "The"}, 100)
    assert list(found) == ["the"]
    assert found["the"][:3].tolist() == pytest.approx([-0.038194, -0.24487, 0.72812], rel=1e-3)


def test_real_trees_and_questions(real):
    roots = Counter(tree.labels[-1] for tree in read_sst(real("sst") / "train.txt.gz"))
    assert [roots[label] for label in range(5)] == [1092, 2218, 1624, 2322, 1288]
    questions = read_trec(real("trec") / "train_5500.label")
    counts = {"ENTY": 1250, "HUM": 1223, "DESC": 1162, "NUM": 896, "LOC": 835, "ABBR": 86}
    assert Counter(question.coarse for question in questions) == counts
    assert len({(question.coarse, question.fine) for question in questions}) == 50
