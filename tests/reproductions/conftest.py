"""Files as the papers' data have them, but made here: wine and digits ship with scikit-learn, balance-scale is a law of levers.

The others are drawn at random, small, in the format of the real files.
"""

import gzip
import io
import itertools
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

from metricfit.cli import run_app
from reproductions._command import COMMAND, STOPPED, app
from tests.processes import started

ROOT = Path(__file__).parents[2]


def start(*arguments):
    """``python -m reproductions ...`` from the repository, where Python finds the package."""
    return started([sys.executable, "-m", "reproductions", *arguments], cwd=ROOT)


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Exit code, stdout and stderr of ``python -m reproductions ...``, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["reproductions", *map(str, arguments)])
        capsys.readouterr()
        code = run_app(app, COMMAND, STOPPED)
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for name, write in STAND_INS.items():
        (folder / name).mkdir()
        write(folder / name, np.random.default_rng(0))
    return folder


def _wine(folder, random):
    features, target = load_wine(return_X_y=True)
    rows = [f"{label + 1}," + ",".join(map(str, row)) for row, label in zip(features.tolist(), target, strict=True)]
    (folder / "wine.data").write_text("\n".join(rows) + "\n")


def _balance(folder, random):
    lines = []
    for a, b, c, d in itertools.product(range(1, 6), repeat=4):
        lines.append(f"{'B' if a * b == c * d else 'L' if a * b > c * d else 'R'},{a},{b},{c},{d}")
    (folder / "balance-scale.data").write_text("\n".join(lines) + "\n")


def _pima(folder, random):
    """Eight noisy numbers, of which the first two tell the class."""
    values = random.normal(3.0, 2.0, (120, 8))
    labels = (values[:, 0] + values[:, 1] + random.normal(0.0, 1.0, 120) > 6.0).astype(int)
    rows = [",".join(f"{value:.3f}" for value in row) + f",{label}" for row, label in zip(values, labels, strict=True)]
    (folder / "pima-indians-diabetes.csv").write_text("\n".join(rows))


def _mnist(folder, random):
    """scikit-learn's digits, 8 by 8, spread over 28 by 28."""
    images, labels = load_digits(return_X_y=True)
    spread = np.arange(28) * 8 // 28
    images = (images.reshape(-1, 8, 8)[:, spread][:, :, spread] / 16.0 * 255.0).astype(np.uint8)
    for part, rows in (("train", slice(1000)), ("t10k", slice(1000, 1300))):
        _idx(folder / f"{part}-images-idx3-ubyte.gz", images[rows])
        _idx(folder / f"{part}-labels-idx1-ubyte.gz", labels[rows].astype(np.uint8))


def _idx(file, values):
    head = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">i4").tobytes()
    file.write_bytes(gzip.compress(head + values.tobytes()))


def _car(folder, random):
    """Six words, of which two tell the class, but for one row in ten."""
    lines = []
    for _ in range(150):
        price, safety = random.choice(["low", "med", "high"], 2)
        kind = "unacc" if safety == "low" or price == "high" else "good" if price == "low" else "acc"
        kind = random.choice(["unacc", "good", "acc"]) if random.random() < 0.1 else kind
        lines.append(f"{price},med,{random.integers(2, 5)},4,big,{safety},{kind}")
    (folder / "car.data").write_text("\n".join(lines) + "\n")


def _adult(folder, random):
    """Six numbers and eight words; age, and schooling by its word, tell the class; the second file is written another way."""
    for name, n_rows, end, head in (("adult.data.gz", 400, "", ""), ("adult.test.gz", 200, ".", "|1x3 Cross validator\n")):
        lines = []
        for _ in range(n_rows):
            age, school = random.integers(17, 80), random.integers(2)
            label = ">50K" if age + 20 * school + random.normal(0.0, 8.0) > 70 else "<=50K"
            words = ["?" if random.random() < 0.1 else "Private", ("HS-grad", "Bachelors")[school], *"abcdef"]
            gain, loss = random.choice([0, 0, 0, 5178]), random.choice([0, 0, 1902])
            row = [age, words[0], random.integers(10**5), words[1], 9 + 4 * school, *words[2:7], gain, loss, 40, words[7]]
            lines.append(", ".join(map(str, row)) + f", {label}{end}")
        (folder / name).write_bytes(gzip.compress((head + "\n".join(lines) + "\n\n").encode()))


def _mammography(folder, random):
    """Six numbers, and one row in ten positive, its first two numbers large."""
    values, labels = random.normal(0.0, 1.0, (500, 6)), np.arange(500) % 10 == 0
    values[labels, :2] += 2.0
    rows = [
        ",".join(f"{value:.4f}" for value in row) + f",'{1 if label else -1}'"
        for row, label in zip(values, labels, strict=True)
    ]
    (folder / "mammography.csv").write_text("\n".join(rows) + "\n")


def _party(folder, random):
    """Six people in 40 frames; the first three stand together, the others elsewhere, and the last one often alone."""
    features, groups = [], []
    for frame in range(40):
        centres = np.repeat(random.uniform(0.0, 6.0, (2, 2)), 3, axis=0)
        places = np.column_stack([centres + random.normal(0.0, 0.5, (6, 2)), random.uniform(0.0, 6.28, 6)])
        people = (f"ID_{number:03} {x:.2f} {y:.2f} {angle:.3f}" for number, (x, y, angle) in enumerate(places, 1))
        features.append(f"{frame}.5 {' '.join(people)}")
        groups.append(f"{frame}.5 < ID_003 ID_001 ID_002 > < ID_004 ID_005 {'' if frame % 2 else 'ID_006 '}> ")
    (folder / "features.txt").write_text("\n".join(features) + "\n")
    (folder / "group_names.txt").write_text("\n".join(groups) + "\n")


def _cifar(folder, random):
    """Noisy pictures of one colour per class."""
    from PIL import Image

    from reproductions.lab.datasets import CIFAR10_CLASSES

    colours = random.integers(40, 215, (10, 3))
    for part, n_each in (("train", 20), ("test", 6)):
        with tarfile.open(folder / f"{part}.tar.gz", "w:gz") as archive:
            for name, colour in zip(CIFAR10_CLASSES, colours, strict=True):
                for number in range(n_each):
                    picture = (colour + random.normal(0.0, 20.0, (32, 32, 3))).clip(0, 255).astype(np.uint8)
                    file = io.BytesIO()
                    Image.fromarray(picture).save(file, "JPEG")
                    about = tarfile.TarInfo(f"{part}/{name}/{number:04}.jpg")
                    about.size = len(file.getvalue())
                    archive.addfile(about, io.BytesIO(file.getvalue()))


def _trec(folder, random):
    """Questions whose first word tells the class, but for one in ten that begins as any other; the rest is chatter."""
    begins = {"ABBR": "Expand", "DESC": "Why", "ENTY": "Which", "HUM": "Who", "LOC": "Where", "NUM": "When"}
    chatter = ["was", "is", "the", "a", "king", "of", "born", "in", "city", "river", "old", "made", "?"]
    for name, n_each in (("train_5500.label", 12), ("TREC_10.label", 4)):
        lines = []
        for kind, begin in begins.items():
            for _ in range(n_each):
                first = random.choice(list(begins.values())) if random.random() < 0.1 else begin
                lines.append(f"{kind}:fine {first} {' '.join(random.choice(chatter, random.integers(3, 9)))}")
        random.shuffle(lines)
        (folder / name).write_text("\n".join(lines) + "\n")


def _satellite(folder, random):
    """36 whole numbers, bright where the class says, in two files; class 6 does not occur."""
    for name, n_rows in (("sat.trn", 150), ("sat.tst", 60)):
        labels = random.choice([1, 2, 3, 4, 5, 7], n_rows)
        values = random.integers(40, 60, (n_rows, 36)) + 30 * (np.arange(36) % 8 == labels[:, None])
        rows = [" ".join(map(str, [*row, label])) for row, label in zip(values.tolist(), labels.tolist(), strict=True)]
        (folder / name).write_text("\n".join(rows) + "\n")


def _parts_of_speech(folder, random):
    """Sentences in CoNLL-U, in which the word tells its part of speech."""
    words = {"NOUN": ["king", "river", "city"], "VERB": ["sees", "makes"], "DET": ["the", "a"], "ADJ": ["old", "new"]}
    for part, n_sentences in (("train", 60), ("dev", 15), ("test", 15)):
        lines = []
        for _ in range(n_sentences):
            lines.append("# text = chatter")
            for place in range(random.integers(2, 9)):
                tag = random.choice(list(words))
                lines.append("\t".join([str(place + 1), random.choice(words[tag]), "_", tag, *["_"] * 6]))
            lines.append("")
        (folder / f"en_ewt-ud-{part}.conllu.gz").write_bytes(gzip.compress("\n".join(lines).encode()))


def _newspapers(folder, random):
    """A zip archive of sentences with a word, its part of speech and a chunk per line."""
    words = {"NN": ["king", "river", "city"], "VBZ": ["sees", "makes"], "DT": ["the", "a"], "JJ": ["old", "new"]}
    with zipfile.ZipFile(folder / "conll2000.zip", "w") as archive:
        for part, n_sentences in (("train", 80), ("test", 15)):
            lines = []
            for _ in range(n_sentences):
                tags = random.choice(list(words), random.integers(2, 9))
                lines += [*(f"{random.choice(words[tag])} {tag} B-NP" for tag in tags), ""]
            archive.writestr(f"conll2000/{part}.txt", "\n".join(lines))


def _names(folder, random):
    """A word and a tag per line; names of one or two words begin with a capital."""
    pieces = [
        [("the", "O")],
        [("river", "O"), ("of", "O")],
        [("Ann", "B-person"), ("Lee", "I-person")],
        [("Rome", "B-location")],
    ]
    for name, n_sentences in (("wnut17train.conll", 60), ("emerging.dev.conll", 15), ("emerging.test.annotated", 15)):
        lines = []
        for _ in range(n_sentences):
            for place in random.integers(0, len(pieces), random.integers(1, 6)):
                lines += [f"{word}\t{tag}" for word, tag in pieces[place]]
            lines.append("\t" if "train" in name else "")
        (folder / name).write_text("\n".join(lines) + "\n")


def _trees(folder, random):
    """Binary trees; the label of a node is the mean of its words' labels."""
    labels = {"awful": 0, "dull": 1, "film": 2, "fine": 3, "great": 4}

    def write(n_words):
        if n_words == 1:
            word = random.choice(list(labels))
            return f"({labels[word]} {word})", [labels[word]]
        n_left = random.integers(1, n_words)
        (left, first), (right, second) = write(n_left), write(n_words - n_left)
        return f"({round(np.mean(first + second))} {left} {right})", first + second

    for part, n_sentences in (("train", 40), ("dev", 10), ("test", 10)):
        lines = [write(random.integers(1, 7))[0] for _ in range(n_sentences)]
        (folder / f"{part}.txt.gz").write_bytes(gzip.compress("\n".join(lines).encode()))


STAND_INS = {
    "wine": _wine,
    "balance-scale": _balance,
    "pima": _pima,
    "mnist": _mnist,
    "car": _car,
    "adult": _adult,
    "mammography": _mammography,
    "cocktail-party": _party,
    "cifar10-jpeg": _cifar,
    "trec": _trec,
    "satellite": _satellite,
    "ud-english-ewt": _parts_of_speech,
    "conll2000": _newspapers,
    "wnut17": _names,
    "sst": _trees,
}
