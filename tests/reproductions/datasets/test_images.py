"""Pictures from small files made here, from damaged and hostile ones, and the counts of the real ones."""

import gzip
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.io import savemat

from metricfit._errors import DataError
from reproductions.lab import datasets
from reproductions.lab.datasets import CIFAR10_CLASSES, _caltech, _jpegs, _pictures, _svhn

RANDOM = np.random.default_rng(0)
FASHION = Path("/usr/share/datasets/fashion-mnist")


def idx(values, shape=None):
    return bytes([0, 0, 8, values.ndim]) + np.array(shape or values.shape, ">u4").tobytes() + values.tobytes()


def write_mnist(folder, n=5, pack=gzip.compress, suffix=".gz", part="train"):
    images, labels = RANDOM.integers(0, 256, (n, 28, 28), np.uint8), np.arange(n, dtype=np.uint8)
    (folder / f"{part}-images-idx3-ubyte{suffix}").write_bytes(pack(idx(images)))
    (folder / f"{part}-labels-idx1-ubyte{suffix}").write_bytes(pack(idx(labels)))
    return images


@pytest.mark.parametrize(("pack", "suffix"), [(gzip.compress, ".gz"), (bytes, "")])
@pytest.mark.parametrize(("part", "prefix"), [("train", "train"), ("test", "t10k")])
def test_mnist(tmp_path, pack, suffix, part, prefix):
    written = write_mnist(tmp_path, 5, pack, suffix, prefix)
    images, labels = datasets.mnist(tmp_path, part)
    assert (images.dtype, labels.dtype, labels.tolist()) == (torch.uint8, torch.int64, [0, 1, 2, 3, 4])
    assert np.array_equal(images[:, 0].numpy(), written)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>", r"should be an idx file of bytes, but begins with b'<ht'"),
        (b"", r"should be an idx file of bytes, but begins with b''"),
        (b"\x00\x00\x08\x03\x00\x00", r"should have the lengths of 3 axes, but ends before"),
        (idx(np.zeros((2, 28, 28), np.uint8))[:-9], r"should have 1,568 bytes for an array of \(2, 28, 28\), got 1,559"),
        (idx(np.zeros((2, 28, 28), np.uint8)) + b"!", r"should have 1,568 bytes for an array of \(2, 28, 28\), got more"),
        (idx(np.zeros((2, 28, 28), np.uint8), (10**6, 28, 28)), r"should have 784,000,000 bytes .*, got 1,568"),
        (idx(np.zeros((2, 28, 28), np.uint8), (2**31, 2**31, 28)), r"should have at most 1,073,741,824 values, but says that"),
        (idx(np.zeros((2, 5, 5), np.uint8)), r"should have images of shape \(28, 28\), got an array of \(2, 5, 5\)"),
        (idx(np.zeros((2, 28, 28), np.uint8)), r"labels.* should have 2 labels, one per image, got an array of \(5,\)"),
        (
            gzip.compress(idx(np.zeros((2, 28, 28), np.uint8)), mtime=0)[:-12],
            r"should be an idx file .*, but cannot be read: ",
        ),
        (b"\x1f\x8bno gzip", r"should be an idx file of bytes, but cannot be read"),
    ],
)
def test_a_damaged_idx_file(tmp_path, content, message):
    write_mnist(tmp_path)
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(content)
    with pytest.raises(DataError, match=rf"^{tmp_path}.*ubyte.gz {message}|{message}") as caught:
        datasets.mnist(tmp_path)
    assert "\n" not in str(caught.value)


def test_labels_beyond_the_classes(tmp_path):
    write_mnist(tmp_path, 12)
    with pytest.raises(DataError, match=r"labels-idx1-ubyte.gz should have labels 0 ... 9, got 11"):
        datasets.mnist(tmp_path)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(
        DataError, match=r"train-images-idx3-ubyte.gz is missing \(nor is there .*\). Fetch its four idx files"
    ):
        datasets.mnist(tmp_path)
    with pytest.raises(DataError, match=r"test_batch.bin is missing \(nor is there test.tar.gz or test\).*CIFAR-10-images"):
        datasets.cifar10(tmp_path, "test")
    with pytest.raises(DataError, match=r"labels.csv is missing"):
        datasets.cifar10_strips(tmp_path)
    with pytest.raises(DataError, match=r"extra_32x32.mat is missing. Fetch the cropped digits"):
        datasets.svhn(tmp_path, "extra")


@pytest.mark.parametrize("read", [datasets.mnist, datasets.cifar10, datasets.cifar100, datasets.svhn])
def test_an_unknown_part(tmp_path, read):
    with pytest.raises(ValueError, match=r"`part` should be one of 'train', 'test'.*; got 'tset'. Did you mean 'test'"):
        read(tmp_path, "tset")


def jpeg(picture):
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG")
    return file.getvalue()


def pictures(n_each):
    """A picture per class and number, of one colour; class ``c`` has ``10 c`` and ``number`` in red and green."""
    return {
        (label, number): np.full((32, 32, 3), (10 * label, 10 * number, 99), np.uint8)
        for label in range(10)
        for number in range(n_each)
    }


def write_archive(file, members):
    with tarfile.open(file, "w:gz") as archive:
        for name, content in members:
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))


def write_form(folder, form, n_each=3):
    """The same pictures in one of the three forms; in the archive in an odd order."""
    named = {
        f"train/{CIFAR10_CLASSES[label]}/{number:04}.jpg": (label, picture)
        for (label, number), picture in pictures(n_each).items()
    }
    if form == "archive":
        write_archive(folder / "train.tar.gz", [(name, jpeg(picture)) for name, (_, picture) in sorted(named.items())[::-1]])
    elif form == "folder":
        for name, (_, picture) in named.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(jpeg(picture))
    else:
        records = [bytes([label]) + picture.transpose(2, 0, 1).tobytes() for label, picture in named.values()]
        for number in range(5):
            (folder / f"data_batch_{number + 1}.bin").write_bytes(b"".join(records[6 * number : 6 * number + 6]))


@pytest.mark.parametrize("form", ["batches", "archive", "folder"])
@pytest.mark.parametrize("per_class", [None, 2])
def test_every_form_gives_the_same_rows(tmp_path, form, per_class):
    write_form(tmp_path, form)
    images, labels = datasets.cifar10(tmp_path, "train", per_class)
    n_each = per_class or 3
    assert images.shape == (10 * n_each, 3, 32, 32)
    assert images.dtype == torch.uint8
    assert labels.tolist() == [*range(10)] * n_each
    assert (images[:, 0].double().mean((1, 2)) - 10 * labels).abs().max() < 4  # JPEG is lossy
    assert (images[:, 1].double().mean((1, 2)) - 10 * torch.arange(n_each).repeat_interleave(10)).abs().max() < 4
    assert CIFAR10_CLASSES[5:7] == ("dog", "frog")  # arXiv 2405.20954, section C.1


GOOD = [(f"train/{name}/0000.jpg", jpeg(np.zeros((32, 32, 3), np.uint8))) for name in CIFAR10_CLASSES]


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (("train/fish/0000.jpg", b""), r"should have files <class>/<number>.jpg, got 'train/fish/0000.jpg'"),
        (("../../etc/passwd", b""), r"should have files <class>/<number>.jpg, got '../../etc/passwd'"),
        (("train/dog/dog.jpg", b""), r"train/dog/dog.jpg in .* should be called by a number"),
        (
            ("train/dog/0001.jpg", b"GIF89a"),
            r"train/dog/0001.jpg in .*train.tar.gz is not a readable JPEG picture",
        ),
        (("train/dog/0001.jpg", jpeg(np.zeros((8, 9, 3), np.uint8))), r"should be a picture of 32 x 32, got 9 x 8"),
        (("train/dog/0001.jpg", GOOD[0][1][:200]), r"should be a JPEG picture, but cannot be decoded"),
        (
            ("train/dog/0001.jpg", bytes(2**20 + 1)),
            r"should have small pictures, but 'train/dog/0001.jpg' has 1,048,577 bytes",
        ),
    ],
)
def test_a_hostile_archive(tmp_path, member, message):
    write_archive(tmp_path / "train.tar.gz", [*GOOD, member])
    with pytest.raises(DataError, match=message) as caught:
        datasets.cifar10(tmp_path)
    assert "\n" not in str(caught.value)


def test_links_in_an_archive_are_refused(tmp_path):
    with tarfile.open(tmp_path / "train.tar.gz", "w:gz") as archive:
        link = tarfile.TarInfo("train/dog/0000.jpg")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(DataError, match=r"should have files <class>/<number>.jpg, got 'train/dog/0000.jpg'"):
        datasets.cifar10(tmp_path)


def test_archives_that_are_incomplete(tmp_path, monkeypatch):
    file = tmp_path / "train.tar.gz"
    write_archive(file, GOOD[:-2])
    with pytest.raises(DataError, match="should have pictures of all 10 classes, but has none of ship, truck"):
        datasets.cifar10(tmp_path)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"train.tar.gz should be a tar archive, but cannot be read"):
        datasets.cifar10(tmp_path)
    file.write_bytes(b"no archive" * 100)
    with pytest.raises(DataError, match=r"train.tar.gz should be a tar archive, but cannot be read"):
        datasets.cifar10(tmp_path)
    monkeypatch.setattr(_jpegs, "MOST_FILES", 5)
    write_archive(file, GOOD)
    with pytest.raises(DataError, match="should have at most 5 pictures, but has more"):
        datasets.cifar10(tmp_path)


def test_folders_and_batches_that_are_damaged(tmp_path):
    (tmp_path / "test" / "airplane").mkdir(parents=True)
    with pytest.raises(DataError, match=r"airplane should have pictures 0000.jpg and so on, but has none"):
        datasets.cifar10(tmp_path, "test")
    file = tmp_path / "test_batch.bin"
    file.write_bytes(bytes(3073 + 5))
    with pytest.raises(DataError, match=r"test_batch.bin should have records of 3073 bytes, got 3,078 bytes"):
        datasets.cifar10(tmp_path, "test")
    file.write_bytes(b"\x0a" + bytes(3072))
    with pytest.raises(DataError, match=r"test_batch.bin should have labels 0 ... 9, got 10"):
        datasets.cifar10(tmp_path, "test")
    write_form(tmp_path, "batches")
    (tmp_path / "data_batch_4.bin").unlink()
    with pytest.raises(DataError, match=r"data_batch_4.bin is missing"):
        datasets.cifar10(tmp_path)


def write_cifar100(file, fine_labels):
    """Records with coarse label 19, whose red, green and blue are the record's number and the two numbers after it."""
    colours = np.arange(len(fine_labels), dtype=np.uint8)[:, None] + np.repeat(np.arange(3, dtype=np.uint8), 1024)
    head = np.stack([np.full(len(fine_labels), 19), fine_labels], axis=1).astype(np.uint8)
    file.write_bytes(np.concatenate([head, colours], axis=1).tobytes())


@pytest.mark.parametrize(("per_class", "order"), [(None, [1, 3, 0, 2, 4]), (1, [1, 3, 0])])
def test_cifar100_has_fine_labels_in_turns(tmp_path, per_class, order):
    fine = np.array([99, 0, 0, 50, 99])
    write_cifar100(tmp_path / "test.bin", fine)
    images, labels = datasets.cifar100(tmp_path, "test", per_class)
    assert images.shape == (len(order), 3, 32, 32)
    assert labels.tolist() == fine[order].tolist()
    assert images[:, :, 0, 0].tolist() == [[index, index + 1, index + 2] for index in order]
    assert (images == images[:, :, :1, :1]).all()


def test_damaged_cifar100(tmp_path):
    with pytest.raises(DataError, match=r"train.bin is missing. Fetch cifar-100-binary.tar.gz"):
        datasets.cifar100(tmp_path)
    file = tmp_path / "train.bin"
    file.write_bytes(bytes(3073))
    with pytest.raises(DataError, match=r"train.bin should have records of 3074 bytes, got 3,073 bytes"):
        datasets.cifar100(tmp_path)
    write_cifar100(file, [100])
    with pytest.raises(DataError, match=r"train.bin should have labels 0 ... 99, got 100"):
        datasets.cifar100(tmp_path)


def caltech_images(n_each=2):
    """Of each class so many pictures of one colour, 40 x 30, whose red is the class and green its number; one is grey."""
    images = {}
    for label in range(257):
        for number in range(1, n_each + 1):
            picture = np.full((30, 40, 3), (label % 256, 100 * number, 0), np.uint8)
            name = f"256_ObjectCategories/{label + 1:03}.kind-{label}/{label + 1:03}_{number:04}.jpg"
            images[name] = jpeg(picture[..., 0] if (label, number) == (5, 1) else picture)
    return images


@pytest.mark.parametrize("form", ["archive", "folder"])
def test_caltech256_in_either_form(tmp_path, form):
    images = caltech_images() | {
        "256_ObjectCategories/056.dog/greg/notes.jpg": b"",
        "256_ObjectCategories/198.spider/RENAME2": b"",
    }
    if form == "archive":
        write_archive(tmp_path / "256_ObjectCategories.tar", sorted(images.items())[::-1])
    else:
        for name, content in images.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(content)
    found, labels = datasets.caltech256(tmp_path, size=8)
    assert (found.shape, found.dtype) == ((514, 3, 8, 8), torch.uint8)
    assert labels.tolist() == [*range(257)] * 2
    coloured = labels != 5
    assert (found[coloured, 0].double().mean((1, 2)) - labels[coloured] % 256).abs().max() < 4  # JPEG is lossy
    assert (found[:257, 1].double().mean((1, 2)) - 100)[coloured[:257]].abs().max() < 4
    assert (found[5] == found[5, :1]).all()  # grey


def test_damaged_caltech256(tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"256_ObjectCategories.tar is missing \(nor is there 256_ObjectCategories\). Fetch"):
        datasets.caltech256(tmp_path)
    file = tmp_path / "256_ObjectCategories.tar"
    file.write_bytes(b"no archive" * 100)
    with pytest.raises(DataError, match="should be a tar archive, but cannot be read"):
        datasets.caltech256(tmp_path)
    images = caltech_images(1)
    dog = "256_ObjectCategories/056.kind-55/056_0001.jpg"
    write_archive(file, (images | {dog: b"GIF89a"}).items())
    with pytest.raises(DataError, match=rf"{dog} in .*tar is not a readable JPEG picture"):
        datasets.caltech256(tmp_path)
    write_archive(file, [item for item in images.items() if item[0] != dog])
    with pytest.raises(DataError, match=r"should have images of the classes 001 ... 257, got 256 classes"):
        datasets.caltech256(tmp_path)
    write_archive(file, images.items())
    with pytest.raises(ValueError, match="`size` should be"):
        datasets.caltech256(tmp_path, size=0)
    monkeypatch.setattr(_pictures, "MOST_PIXELS", 40 * 30 - 1)
    with pytest.raises(DataError, match=r"should have at most 1,199 pixels, got 1,200"):
        datasets.caltech256(tmp_path)
    monkeypatch.setattr(_caltech, "MOST_BYTES", 10)
    with pytest.raises(DataError, match=r"should have images up to 10 bytes, got '256_Obj"):
        datasets.caltech256(tmp_path)


def test_caltech256_with_too_many_files(tmp_path, monkeypatch):
    monkeypatch.setattr(_caltech, "MOST_FILES", 5)
    write_archive(tmp_path / "256_ObjectCategories.tar", caltech_images(1).items())
    with pytest.raises(DataError, match="should have at most 5 images, but has more"):
        datasets.caltech256(tmp_path)


def write_strips(folder, heights=(3, 2)):
    lines, every = ["batch,row,label,name"], []
    for batch, height in enumerate(heights):
        strips = RANDOM.integers(0, 256, (height, 1024, 3), np.uint8)
        Image.fromarray(strips).save(folder / f"cifar10_batch_{batch}.png")
        every.append(strips.reshape(height, 32, 32, 3))
        lines += [f"{batch},{row},{(batch + row) % 10},?" for row in range(height)]
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")
    return np.concatenate(every).transpose(0, 3, 1, 2)


def test_strips_without_loss(tmp_path):
    written = write_strips(tmp_path)
    images, labels = datasets.cifar10_strips(tmp_path)
    assert np.array_equal(images.numpy(), written)
    assert labels.tolist() == [0, 1, 2, 1, 2]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("batch,row\n0,0\n", r"labels.csv should have whole numbers in the columns batch, row, label, got 'label'"),
        ("batch,row,label\n0,0,dog\n", r"labels.csv should have whole numbers .* 'dog'"),
        ("batch,row,label\n", r"labels.csv should have .* labels 0 ... 9, got no line"),
        ("batch,row,label\n0,0,10\n", r"labels 0 ... 9, got \[0, 0, 10\]"),
        ("batch,row,label\n0,-1,1\n", r"rows from 0"),
        ("batch,row,label\n0,3,1\n", r"cifar10_batch_0.png should have a row 3, which .* names, but has 3 rows"),
        ("batch,row,label\n7,0,1\n", r"cifar10_batch_7.png is missing. .*labels.csv names it"),
    ],
)
def test_damaged_labels_of_strips(tmp_path, table, message):
    write_strips(tmp_path)
    (tmp_path / "labels.csv").write_text(table)
    with pytest.raises(DataError, match=message):
        datasets.cifar10_strips(tmp_path)


def test_strips_of_another_width(tmp_path):
    write_strips(tmp_path)
    Image.fromarray(np.zeros((3, 1000, 3), np.uint8)).save(tmp_path / "cifar10_batch_1.png")
    with pytest.raises(DataError, match=r"cifar10_batch_1.png should be a picture of 1024 pixels wide, got 1000 x 3"):
        datasets.cifar10_strips(tmp_path)


@pytest.mark.parametrize("compress", [False, True])
def test_svhn(tmp_path, compress):
    images = RANDOM.integers(0, 256, (32, 32, 3, 4), np.uint8)
    savemat(
        tmp_path / "test_32x32.mat", {"X": images, "y": np.array([[1], [10], [9], [2]], np.uint8)}, do_compression=compress
    )
    found, labels = datasets.svhn(tmp_path, "test")
    assert labels.tolist() == [1, 0, 9, 2]
    assert np.array_equal(found.numpy(), images.transpose(3, 2, 0, 1))


X = np.zeros((32, 32, 3, 4), np.uint8)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"y": np.ones((4, 1))}, r"should have X of uint8 \(32, 32, 3, n\), got nothing \(\)"),
        ({"X": X[:30], "y": np.ones((4, 1))}, r"should have X of uint8 \(32, 32, 3, n\), got uint8 \(30, 32, 3, 4\)"),
        ({"X": X.astype(float), "y": np.ones((4, 1))}, r"got double \(32, 32, 3, 4\)"),
        ({"X": X, "y": np.ones((3, 1))}, r"should have y of \(4, 1\), a label per image, got \(3, 1\)"),
        ({"X": X, "y": np.zeros((4, 1))}, r"should have labels 1 ... 10, got 0 ... 0"),
    ],
)
def test_damaged_svhn(tmp_path, variables, message):
    savemat(tmp_path / "train_32x32.mat", variables)
    with pytest.raises(DataError, match=message):
        datasets.svhn(tmp_path)


def test_svhn_that_is_cut_or_too_large(tmp_path, monkeypatch):
    file = tmp_path / "train_32x32.mat"
    savemat(file, {"y": np.ones((4, 1)), "X": X})
    whole = file.read_bytes()
    for content in (b"no Matlab file" * 50, b"", whole[:2000]):
        file.write_bytes(content)
        with pytest.raises(DataError, match="should be a Matlab file") as caught:
            datasets.svhn(tmp_path)
        assert "\n" not in str(caught.value)
    file.write_bytes(whole)
    monkeypatch.setattr(_svhn, "MOST_IMAGES", 3)
    with pytest.raises(DataError, match="should have 1 to 3 images, got 4"):
        datasets.svhn(tmp_path)


def test_what_is_no_file_is_refused(tmp_path):
    (tmp_path / "train-images-idx3-ubyte.gz").symlink_to("/dev/zero")
    (tmp_path / "train-labels-idx1-ubyte.gz").symlink_to("/dev/zero")
    with pytest.raises(DataError, match=r"ubyte.gz should be an idx file of bytes, but cannot be read: Not a regular file"):
        datasets.mnist(tmp_path)


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_real_digits(real, name):
    if name == "fashion-mnist" and not FASHION.is_dir():
        pytest.skip(f"{FASHION} is not there: Debian's package dataset-fashion-mnist installs it")
    folder = FASHION if name == "fashion-mnist" else real(name)
    (train, labels), (test, test_labels) = datasets.mnist(folder), datasets.mnist(folder, "test")
    assert (train.shape, test.shape) == ((60_000, 1, 28, 28), (10_000, 1, 28, 28))
    counts = labels.bincount()
    assert (counts[5], counts[1]) == ((5_421, 6_742) if name == "mnist" else (6_000, 6_000))
    assert (counts.min(), counts.max()) == (counts[5], counts[1])
    assert len(test_labels) == 10_000


def test_real_jpegs(real):
    """Names and numbers only, because decoding takes seconds."""
    found = _jpegs.read_archive(real("cifar10-jpeg") / "test.tar.gz", CIFAR10_CLASSES)
    assert np.bincount([jpeg.label for jpeg in found]).tolist() == [1000] * 10
    assert [jpeg.number for jpeg in found[::10]] == list(range(1000))


def test_real_strips(real):
    images, labels = datasets.cifar10_strips(real("cifar10-lossless-4000"))
    assert images.shape == (4000, 3, 32, 32)
    assert labels[:10].tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
    counts = labels.bincount()
    assert (counts[1], counts[4]) == (counts.min(), counts.max()) == (366, 422)
