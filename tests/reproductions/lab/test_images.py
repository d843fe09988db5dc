"""Readers of images: small files made here, damaged ones, and the counts of the real ones."""

import gzip
import io
import tarfile

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.io import savemat

from metricfit._errors import DataError
from reproductions.lab import datasets
from reproductions.lab.datasets import CIFAR10_CLASSES

RANDOM = np.random.default_rng(0)


def idx(values):
    return bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">u4").tobytes() + values.tobytes()


def write_mnist(folder, labels=(0, 1, 2, 3, 4), part="train", pack=gzip.compress, suffix=".gz"):
    images = RANDOM.integers(0, 256, (len(labels), 28, 28), np.uint8)
    (folder / f"{part}-images-idx3-ubyte{suffix}").write_bytes(pack(idx(images)))
    (folder / f"{part}-labels-idx1-ubyte{suffix}").write_bytes(pack(idx(np.array(labels, np.uint8))))
    return images


@pytest.mark.parametrize(
    ("pack", "suffix", "part", "prefix"), [(gzip.compress, ".gz", "train", "train"), (bytes, "", "test", "t10k")]
)
def test_mnist(tmp_path, pack, suffix, part, prefix):
    written = write_mnist(tmp_path, part=prefix, pack=pack, suffix=suffix)
    images, labels = datasets.mnist(tmp_path, part)
    assert (images.dtype, labels.dtype, labels.tolist()) == (torch.uint8, torch.int64, [0, 1, 2, 3, 4])
    assert np.array_equal(images[:, 0].numpy(), written)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>", r"an idx file of bytes, but cannot be read: it begins with b'<ht'"),
        (idx(np.zeros((2, 28, 28), np.uint8))[:-9], r"an idx file of bytes, but cannot be read: cannot reshape array"),
        (gzip.compress(bytes(99), mtime=0)[:-9], r"an idx file of bytes, but cannot be read"),
        (idx(np.zeros((5, 6, 6), np.uint8)), r"images of shape \(28, 28\), got an array of \(5, 6, 6\)"),
        (idx(np.zeros((2, 28, 28), np.uint8)), r"2 labels 0 ... 9, one per image, got an array of \(5,\) up to 11"),
    ],
)
def test_a_damaged_idx_file(tmp_path, content, message):
    write_mnist(tmp_path, [0, 1, 2, 3, 11])
    is_packed = content.startswith(b"\x1f\x8b")
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(content if is_packed else gzip.compress(content))
    with pytest.raises(DataError, match=f"ubyte.gz should (be|have) {message}"):
        datasets.mnist(tmp_path)


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (datasets.mnist, r"train-images-idx3-ubyte.gz is missing \(nor is there train-.*\). Fetch its four idx files"),
        (datasets.cifar10, r"data_batch_1.bin is missing \(nor is there train.tar.gz or train\).*CIFAR-10-images"),
        (datasets.cifar100, r"train.bin is missing. Fetch cifar-100-binary.tar.gz"),
        (datasets.svhn, r"train_32x32.mat is missing. Fetch the cropped digits"),
        (datasets.caltech256, r"256_ObjectCategories.tar is missing \(nor is there 256_ObjectCategories\). Fetch"),
    ],
)
def test_missing_files_are_named(tmp_path, read, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path)
    if read is not datasets.caltech256:
        with pytest.raises(ValueError, match=r"`part` should be one of 'train', 'test'.*; got 'tset'. Did you mean 'test'"):
            read(tmp_path, "tset")


def jpeg(picture):
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG")
    return file.getvalue()


def write_files(folder, archive, members):
    """The members as files of a folder, or in an archive in an odd order."""
    if archive is None:
        for name, content in members.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        return
    with tarfile.open(folder / archive, "w:*".replace("*", "gz" if archive.endswith("gz") else "")) as file:
        for name, content in sorted(members.items())[::-1]:
            about = tarfile.TarInfo(name)
            about.size = len(content)
            file.addfile(about, io.BytesIO(content))


def cifar_pictures(n_each=3):
    """A picture of one colour per class and number; class ``c`` has ``10 c`` and ``10 number`` in red and green."""
    return {
        f"train/{name}/{number:04}.jpg": np.full((32, 32, 3), (10 * label, 10 * number, 99), np.uint8)
        for label, name in enumerate(CIFAR10_CLASSES)
        for number in range(n_each)
    }


@pytest.mark.parametrize("form", ["batches", "train.tar.gz", None])
def test_every_form_of_cifar10_gives_the_same_rows(tmp_path, form):
    pictures = cifar_pictures()
    if form == "batches":
        records = [bytes([i // 3]) + picture.transpose(2, 0, 1).tobytes() for i, picture in enumerate(pictures.values())]
        for number in range(5):
            (tmp_path / f"data_batch_{number + 1}.bin").write_bytes(b"".join(records[6 * number : 6 * number + 6]))
    else:
        write_files(tmp_path, form, {name: jpeg(picture) for name, picture in pictures.items()} | {"train/notes.txt": b""})
    images, labels = datasets.cifar10(tmp_path)
    assert (images.shape, images.dtype) == ((30, 3, 32, 32), torch.uint8)
    assert labels.tolist() == [*range(10)] * 3
    assert (images[:, 0].double().mean((1, 2)) - 10 * labels).abs().max() < 4  # JPEG is lossy
    assert (images[:, 1].double().mean((1, 2)) - 10 * torch.arange(3).repeat_interleave(10)).abs().max() < 4
    assert CIFAR10_CLASSES[5:7] == ("dog", "frog")  # arXiv 2405.20954, section C.1


def test_damaged_archive_of_cifar10(tmp_path):
    members = {name: jpeg(picture) for name, picture in cifar_pictures(1).items()}
    file = tmp_path / "train.tar.gz"
    write_files(tmp_path, file.name, {name: content for name, content in members.items() if "ship" not in name})
    with pytest.raises(DataError, match="should have images of 10 classes, but has none of 1: ship"):
        datasets.cifar10(tmp_path)
    write_files(tmp_path, file.name, members | {"train/dog/0001.jpg": b"GIF89a"})
    with pytest.raises(DataError, match=r"train.tar.gz should be JPEG images .*: train/dog/0001.jpg is not a readable JPEG"):
        datasets.cifar10(tmp_path)
    write_files(tmp_path, file.name, members)
    for content in (file.read_bytes()[:-100], b"no archive" * 100):
        file.write_bytes(content)
        with pytest.raises(DataError, match=r"train.tar.gz should be JPEG images .*, but cannot be read"):
            datasets.cifar10(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (bytes(3073 + 5), r"data_batch_1.bin should have records of 3073 bytes, got 3,078 bytes"),
        (b"\x0a" + bytes(3072), r"data_batch_1.bin should have labels 0 ... 9, got 10"),
        (bytes(3073), r"data_batch_2.bin is missing"),
    ],
)
def test_damaged_batches_of_cifar10(tmp_path, content, message):
    (tmp_path / "data_batch_1.bin").write_bytes(content)
    for number in range(3, 6) if "missing" in message else range(2, 6):
        (tmp_path / f"data_batch_{number}.bin").write_bytes(bytes(3073))
    with pytest.raises(DataError, match=message):
        datasets.cifar10(tmp_path)


def test_cifar100_has_fine_labels_in_turns(tmp_path):
    """Records have the coarse label 19; red, green and blue are the record's number and the two numbers after it."""
    fine, order = np.array([99, 0, 0, 50, 99]), [1, 3, 0, 2, 4]
    colours = np.arange(5, dtype=np.uint8)[:, None] + np.repeat(np.arange(3, dtype=np.uint8), 1024)
    head = np.stack([np.full(5, 19), fine], axis=1).astype(np.uint8)
    (tmp_path / "test.bin").write_bytes(np.concatenate([head, colours], axis=1).tobytes())
    images, labels = datasets.cifar100(tmp_path, "test")
    assert labels.tolist() == fine[order].tolist()
    assert images[:, :, 0, 0].tolist() == [[index, index + 1, index + 2] for index in order]
    assert (images == images[:, :, :1, :1]).all()


@pytest.mark.parametrize("form", ["256_ObjectCategories.tar", None])
def test_caltech256_in_either_form(tmp_path, form):
    """Two images of 40 x 30 per class, whose red is the class and green 100 times the number; one is grey."""
    members = {"256_ObjectCategories/056.dog/greg/notes.jpg": b"", "256_ObjectCategories/198.spider/RENAME2": b""}
    for label in range(257):
        for number in (1, 2):
            picture = np.full((30, 40, 3), (label % 256, 100 * number, 0), np.uint8)
            name = f"256_ObjectCategories/{label + 1:03}.kind-{label}/{label + 1:03}_{number:04}.jpg"
            members[name] = jpeg(picture[..., 0] if (label, number) == (5, 1) else picture)
    write_files(tmp_path, form, members)
    found, labels = datasets.caltech256(tmp_path, size=8)
    assert (found.shape, found.dtype) == ((514, 3, 8, 8), torch.uint8)
    assert labels.tolist() == [*range(257)] * 2
    coloured = labels != 5
    assert (found[coloured, 0].double().mean((1, 2)) - labels[coloured] % 256).abs().max() < 4  # JPEG is lossy
    assert (found[:257, 1].double().mean((1, 2)) - 100)[coloured[:257]].abs().max() < 4
    assert (found[5] == found[5, :1]).all()  # grey


X = RANDOM.integers(0, 256, (32, 32, 3, 4), np.uint8)


def test_svhn(tmp_path):
    savemat(tmp_path / "test_32x32.mat", {"X": X, "y": np.array([[1], [10], [9], [2]], np.uint8)}, do_compression=True)
    images, labels = datasets.svhn(tmp_path, "test")
    assert labels.tolist() == [1, 0, 9, 2]
    assert np.array_equal(images.numpy(), X.transpose(3, 2, 0, 1))


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"y": np.ones((4, 1))}, r"should be a Matlab file with X and y, but cannot be read: 'X'"),
        ({"X": X[:30], "y": np.ones((4, 1))}, r"should have X of uint8 .* got uint8 \(30, 32, 3, 4\) and 4 labels"),
        ({"X": X, "y": np.ones((3, 1))}, r"and n labels y, got .* and 3 labels"),
        ({"X": X, "y": np.zeros((4, 1))}, r"should have labels 1 ... 10, got 0 ... 0"),
    ],
)
def test_damaged_svhn(tmp_path, variables, message):
    savemat(tmp_path / "train_32x32.mat", variables)
    with pytest.raises(DataError, match=message):
        datasets.svhn(tmp_path)


def test_real_digits(real):
    (train, labels), (test, test_labels) = datasets.mnist(real("mnist")), datasets.mnist(real("mnist"), "test")
    assert (train.shape, test.shape, len(test_labels)) == ((60_000, 1, 28, 28), (10_000, 1, 28, 28), 10_000)
    assert labels.bincount()[[5, 1]].tolist() == [5_421, 6_742]
