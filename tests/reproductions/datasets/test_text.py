"""Sentences, trees and questions: small files made here, damaged ones, and the counts of the real ones."""

import gzip
import io
import pickle
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
from reproductions.lab.networks import Tagger, TreeTagger, join_trees

READERS = {"conllu": read_conllu, "conll": read_conll, "sst": read_sst, "trec": read_trec}


def row(place, word, tag="NOUN"):
    return "\t".join([place, word, word.lower(), tag, "NN", *["_"] * 5])


CONLLU = "\n".join(
    [
        "# text = Don't go there",
        row("1-2", "Don't", "_"),
        row("1", "Do", "AUX"),
        row("2", "n't", "PART"),
        row("2.1", "please", "INTJ"),
        row("3", "go", "VERB"),
        row("4", "New York", "PROPN"),
        "",
        "",
        "# only a comment",
        "",
        row("1", "#", "SYM"),
    ]
)
GOOD = {
    "conllu": (
        CONLLU,
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
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_small_file(tmp_path, name, pack, end):
    text, expected = GOOD[name]
    (tmp_path / "file").write_bytes(pack(text.replace("\n", end).encode()))
    assert READERS[name](tmp_path / "file") == expected


def test_columns_of_conllu(tmp_path):
    (tmp_path / "file").write_text(CONLLU)
    assert read_conllu(tmp_path / "file", "lemma")[0].tags == ("do", "n't", "go", "new york")
    with pytest.raises(ValueError, match=r"`column` should be one of id, form, .*, got 'uposs'. Did you mean 'upos'\?"):
        read_conllu(tmp_path / "file", "uposs")


CHUNKS = "The DT B-NP\nriver NN I-NP\n\nIt PRP B-NP\n"


def archive_of(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_a_column_of_a_file_in_an_archive(tmp_path):
    file = archive_of(tmp_path / "file.zip", {"a/": "", "a/README": "no table", "a/train.txt": CHUNKS})
    assert read_conll(file, 1, member="a/train.txt") == [Sentence(("The", "river"), ("DT", "NN")), Sentence(("It",), ("PRP",))]
    assert read_conll(file, member="a/train.txt")[0].tags == ("B-NP", "I-NP")
    with pytest.raises(
        DataError, match=r"file.zip, line 1: should have 4 columns, the first of them a word, got 'The DT B-NP'"
    ):
        read_conll(file, 3, member="a/train.txt")
    with pytest.raises(ValueError, match=r"`column` should be at least -1, got -2"):
        read_conll(file, -2, member="a/train.txt")
    with pytest.raises(DataError, match=r"file.zip should contain train.txt, got a/, a/README, a/train.txt\."):
        read_conll(file, member="train.txt")
    with pytest.raises(DataError, match=r"empty.zip should contain train.txt, got an empty archive\."):
        read_conll(archive_of(tmp_path / "empty.zip", {}), member="train.txt")


@pytest.mark.parametrize("harm", ["missing", "a folder", "no archive", "cut", "flipped", "encrypted", "named"])
def test_a_damaged_archive(tmp_path, harm):
    words = "".join(f"{number} O\n" for number in random.Random(0).sample(range(10**6), 5000))
    file = archive_of(tmp_path / "file.zip", {"a": words})
    whole, middle = file.read_bytes(), file.stat().st_size // 2
    flags = whole.rindex(b"PK\x01\x02") + 8  # in the directory; bit 0: encryption, bit 11: the name, 38 bytes later, is UTF-8
    changed = {
        "no archive": words.encode(),
        "cut": whole[:middle],
        "flipped": whole[:middle] + b"\xff\x00\xff\x00" + whole[middle + 4 :],
        "encrypted": whole[:flags] + b"\x01" + whole[flags + 1 :],
        "named": whole[: flags + 1] + b"\x08" + whole[flags + 2 : flags + 38] + b"\xff" + whole[flags + 39 :],
    }
    file = tmp_path if harm == "a folder" else tmp_path / "none.zip" if harm == "missing" else file
    if harm in changed:
        file.write_bytes(changed[harm])
    with pytest.raises(DataError, match=r"should be sentences .* in a zip archive, but cannot be read: ") as caught:
        read_conll(file, member="a")
    assert "\n" not in str(caught.value)


def test_only_line_ends_end_a_line(tmp_path):
    """A no-break space, a line separator and a form feed may be parts of a word."""
    (tmp_path / "file").write_bytes("a\u2028b\tO\n8\u00a01/2\tB-x\n".encode())
    assert read_conll(tmp_path / "file") == [Sentence(("a\u2028b", "8\u00a01/2"), ("O", "B-x"))]
    (tmp_path / "file").write_bytes("\ufeff(2 8\u00a01/2)".encode())
    assert read_sst(tmp_path / "file")[0].leaves() == ["8\u00a01/2"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "conllu",
            f"# x\n{row('1', 'a')}\n2\tb",
            r"file, line 3: should have 10 columns with tabs between them, got '2\\tb'\.$",
        ),
        ("conllu", f"{row('1', 'a')}\n{row('3', 'b')}", r"line 2: should have the word 2 of its sentence, got '3\\tb"),
        ("conllu", row("2", "a"), r"line 1: should have the word 1"),
        ("conllu", row("1 - 2", "a"), r"line 1: should have the word 1"),
        ("conll", "a\tO\n\nb\n", r"line 3: should have 2 columns, the first of them a word, got 'b'\.$"),
        ("conll", "a\n", r"line 1: should have 2 columns"),
        ("conll", "a\tNN\tO\nb\tO", r"line 2: should have 3 columns"),
        ("conll", "\tO\n", r"line 1: should have 2 columns"),
        ("sst", "(2 a)\n(2 (2 a) (2 b)", r"line 2: should be a tree; 1 of its brackets are still open"),
        ("sst", "(2 a))", r"line 1: should end after its tree, got '\)' in column 6"),
        ("sst", "(2 a) (2 b)", r"should end after its tree, got '\(2' in column 7"),
        ("sst", "a", r"should begin with '\(', got 'a' in column 1"),
        ("sst", ")", r"should begin with '\('"),
        ("sst", "(5 a)", r"a label from 0 to 4 should follow '\(' in column 1, got '5'"),
        ("sst", "(-1 a)", r"a label from 0 to 4"),
        ("sst", "((2 a) (2 b))", r"a label from 0 to 4 should follow '\(' in column 1, got ''"),
        ("sst", "(2 (2 a))", r"should be one word or two nodes; the one that ends in column 9 is not"),
        ("sst", "(2 (2 a) (2 b) (2 c))", r"one word or two nodes"),
        ("sst", "(2 a b)", r"one word or two nodes"),
        ("sst", "(2 a (2 b))", r"one word or two nodes"),
        ("sst", "(2)", r"one word or two nodes"),
        ("trec", "NUM:dist How far ?\nHow far ?", r"line 2: should be COARSE:fine and a question, got 'How far \?'"),
        ("trec", "NUM:dist", r"line 1: should be COARSE:fine"),
        ("trec", "NUM:dist  ", r"line 1: should be COARSE:fine"),
        ("trec", "NUM:dist a ?\n\nNUM:dist b ?", r"line 2: should be COARSE:fine"),
    ],
)
def test_damaged_file(tmp_path, name, text, message):
    (tmp_path / "file").write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        READERS[name](tmp_path / "file")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", READERS)
def test_file_that_cannot_be_read(tmp_path, name):
    with pytest.raises(DataError, match=r"missing should be .*, but cannot be read: No such file"):
        READERS[name](tmp_path / "missing")
    (tmp_path / "cut").write_bytes(gzip.compress(GOOD[name][0].encode() * 50)[:-20])
    with pytest.raises(DataError, match=r"cut should be .*, but cannot be read: Compressed file ended before"):
        READERS[name](tmp_path / "cut")


@pytest.mark.parametrize("name", ["conllu", "conll", "sst"])
def test_bytes_that_are_no_text(tmp_path, name):
    (tmp_path / "file").write_bytes(GOOD[name][0].encode() + b"\ncaf\xe9\tO")
    with pytest.raises(
        DataError, match=rf"file, line {GOOD[name][0].count(chr(10)) + 2}: should be utf-8 text, got the byte 0xe9"
    ):
        READERS[name](tmp_path / "file")


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
        for place, (left, right) in enumerate(zip(tree.left, tree.right, strict=True)):
            assert (left == right == -1) if tree.words[place] else (left < right == place - 1)


def test_trees_for_the_network():
    known = Vocabulary.of([["It", "works"]])
    tree = parse_tree("(3 (2 It) (4 (2 works) (2 unseen)))")
    numbered = tree.numbered(known)
    assert [part.tolist() for part in (numbered.words, numbered.left, numbered.right, numbered.height)] == [
        [2, 3, 1, 0, 0],
        [-1, -1, -1, 1, 0],
        [-1, -1, -1, 2, 3],
        [0, 0, 0, 1, 2],
    ]
    module = TreeTagger(len(known), 5, n_dimensions=4, n_cells=3)
    alone = module(numbered)
    torch.testing.assert_close(module(join_trees([parse_tree("(1 works)").numbered(known), numbered]))[1:], alone)


def test_vocabulary_leaves_rare_words_out():
    known = Vocabulary.of([["b", "a", "c"], ["b", "a"], ["b"]], min_count=2)
    assert (len(known), dict(known.places)) == (4, {"b": 2, "a": 3})
    assert known.numbers(["a", "c", "d"]).tolist() == [3, 1, 1]
    assert known.numbers([]).dtype == torch.int64
    with pytest.raises(ValueError, match="`min_count`"):
        Vocabulary.of([], min_count=0)


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


def test_sentences_with_too_few_labels():
    with pytest.raises(ValueError, match="as many labels as words, got 1 and 2"):
        pad_sentences([(torch.tensor([1, 2]), torch.tensor([0]))])


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_vectors_of_the_words_asked_for(tmp_path, pack):
    (tmp_path / "file").write_bytes(pack("the 0.5 -1\n. . . 2 3\nété 1e-2 0\nunasked 1 nan\n".encode()))
    found = read_vectors(tmp_path / "file", {"été", ". . .", "missing"}, 2)
    assert {word: vector.tolist() for word, vector in found.items()} == {
        ". . .": [2.0, 3.0],
        "été": pytest.approx([0.01, 0.0]),
    }


def test_vectors_of_an_archive(tmp_path):
    """The same as from text, and in half precision too."""
    words, vectors = np.array(["the", ". . .", "été"]), np.array([[0.5, -1.0], [2.0, 3.0], [0.25, 0.0]], np.float16)
    np.savez_compressed(tmp_path / "file.npz", words=words, vectors=vectors)
    found = read_vectors(tmp_path / "file.npz", {"été", ". . .", "missing"}, 2)
    assert {word: vector.tolist() for word, vector in found.items()} == {". . .": [2.0, 3.0], "été": [0.25, 0.0]}
    assert found["été"].dtype == torch.float32


class Trap:
    """Unpickling it is noticed."""

    sprung = False

    def __reduce__(self):
        return setattr, (Trap, "sprung", True)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"vectors": np.ones((1, 2))}, r"file.npz should contain words.npy, got vectors.npy\."),
        ({"words": np.array(["a"])}, r"should contain vectors.npy, got words.npy\."),
        ({"words": np.array([Trap()]), "vectors": np.ones((1, 2))}, r"`words` is not a readable NumPy array: Object arrays"),
        ({"words": np.array([1.0]), "vectors": np.ones((1, 2))}, r"`words` should be text of shape \(n,\), got float64 of"),
        ({"words": np.array([["a"]]), "vectors": np.ones((1, 2))}, r"`words` should be text .* of shape \(1, 1\)\."),
        ({"words": np.array(["a"]), "vectors": np.ones((1, 3))}, r"should be floats of shape \(1, 2\).* got float64 of shape"),
        ({"words": np.array(["a", "b"]), "vectors": np.ones((1, 2))}, r"should be floats of shape \(2, 2\)"),
        ({"words": np.array(["a"]), "vectors": np.ones((1, 2), int)}, r"should be floats .* got int64"),
        ({"words": np.array(["a"]), "vectors": np.array([[1.0, np.nan]])}, r"`vectors` should be finite"),
    ],
)
def test_damaged_arrays(tmp_path, arrays, message):
    np.savez(tmp_path / "file.npz", **arrays)
    with pytest.raises(DataError, match=message):
        read_vectors(tmp_path / "file.npz", {"a"}, 2)
    assert not Trap.sprung


def npy(array, change=lambda content: content):
    file = io.BytesIO()
    np.save(file, array)
    return change(file.getvalue())


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[:-1],
        lambda content: content[:8],
        lambda content: b"",
        lambda content: b"x" + content,
        lambda content: content.replace(b"(1, 2)", b"(9, 2)"),
        lambda content: content.replace(b"(1, 2), }     ", b"(10**9, 2), } "),
        lambda content: content.replace(b"(1, 2), }             ", b"(10000000000000, 2), }"),
        lambda content: content.replace(b"(1, 2), }                ", b"(9223372036854775807, 2)}"),
        lambda content: pickle.dumps(Trap()),
    ],
)
def test_an_array_that_is_not_complete(tmp_path, change):
    """Also one that promises more than the memory has."""
    content = npy(np.ones((1, 2)), change)
    assert content != npy(np.ones((1, 2)))
    archive_of(tmp_path / "file.npz", {"words.npy": npy(np.array(["a"])), "vectors.npy": content})
    with pytest.raises(DataError, match=r"`vectors` is not a readable NumPy array: ") as caught:
        read_vectors(tmp_path / "file.npz", {"a"}, 2)
    assert "\n" not in str(caught.value)
    assert not Trap.sprung


@pytest.mark.parametrize("line", ["the 1", "the 1 2 x", "the 1 2 nan", "the", "400000 3"])
def test_damaged_vectors(tmp_path, line):
    (tmp_path / "file").write_text(f"a 1 2 3\n{line}\n")
    with pytest.raises(DataError, match=r"file, line 2: should be a word and 3 numbers, got '"):
        read_vectors(tmp_path / "file", {"the"}, 3)


@pytest.mark.parametrize(
    ("part", "n_sentences", "n_words"), [("train", 12544, 204577), ("dev", 2001, 25147), ("test", 2077, 25094)]
)
def test_real_parts_of_speech(real, part, n_sentences, n_words):
    found = read_conllu(real("ud-english-ewt") / f"en_ewt-ud-{part}.conllu.gz")
    tags = Counter(tag for sentence in found for tag in sentence.tags)
    assert (len(found), tags.total(), len(tags)) == (n_sentences, n_words, 17)
    if part == "train":
        assert (tags["NOUN"], tags["INTJ"], tags["X"]) == (34751, 695, 400)


@pytest.mark.parametrize(
    ("name", "n_sentences", "n_words"),
    [("wnut17train.conll", 3394, 62730), ("emerging.dev.conll", 1009, 15733), ("emerging.test.annotated", 1287, 23394)],
)
def test_real_entities(real, name, n_sentences, n_words):
    found = read_conll(real("wnut17") / name)
    tags = Counter(tag for sentence in found for tag in sentence.tags)
    assert (len(found), tags.total(), len(tags)) == (n_sentences, n_words, 13)
    if "train" in name:
        assert (tags["O"], tags["B-person"], tags["I-corporation"]) == (59570, 660, 46)


@pytest.mark.parametrize(("part", "n_sentences", "n_words"), [("train", 8936, 211727), ("test", 2012, 47377)])
def test_real_parts_of_speech_of_newspapers(real, part, n_sentences, n_words):
    found = read_conll(real("conll2000") / "conll2000.zip", 1, member=f"conll2000/{part}.txt")
    tags = Counter(tag for sentence in found for tag in sentence.tags)
    assert (len(found), tags.total()) == (n_sentences, n_words)
    assert part == "test" or len(tags) == 44
    assert tags.most_common(1)[0][0] == "NN"


def test_real_vectors(real):
    """Standard values of GloVe 6B, rounded to half precision."""
    found = read_vectors(real("glove-100d") / "glove-100d-subset.npz", {"the", "The"}, 100)
    assert list(found) == ["the"]
    assert found["the"][:3].tolist() == pytest.approx([-0.038194, -0.24487, 0.72812], rel=1e-3)


@pytest.mark.parametrize(
    ("part", "counts"),
    [("train", [1092, 2218, 1624, 2322, 1288]), ("dev", None), ("test", [279, 633, 389, 510, 399])],
)
def test_real_trees(real, part, counts):
    found = read_sst(real("sst") / f"{part}.txt.gz")
    assert len(found) == {"train": 8544, "dev": 1101, "test": 2210}[part]
    roots = Counter(tree.labels[-1] for tree in found)
    assert counts is None or [roots[label] for label in range(5)] == counts


@pytest.mark.parametrize(
    ("name", "n_fine", "counts"),
    [
        ("train_5500.label", 50, {"ENTY": 1250, "HUM": 1223, "DESC": 1162, "NUM": 896, "LOC": 835, "ABBR": 86}),
        ("TREC_10.label", 42, {"DESC": 138, "NUM": 113, "ENTY": 94, "LOC": 81, "HUM": 65, "ABBR": 9}),
    ],
)
def test_real_questions(real, name, n_fine, counts):
    found = read_trec(real("trec") / name)
    assert Counter(question.coarse for question in found) == counts
    assert len({(question.coarse, question.fine) for question in found}) == n_fine
