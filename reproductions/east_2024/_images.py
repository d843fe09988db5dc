"""The paper's two image sets and its network for them (Sections C.1 and E.3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

from metricfit.training import Trainer
from reproductions._experiment import Scope
from reproductions._pictures import cifar10, from_bytes
from reproductions._training import Rows, in_batches
from reproductions.east_2024._protocol import Parts
from reproductions.lab import datasets
from reproductions.lab.networks import Darknet19

VALIDATION_SHARE, TEST_SHARE = 0.2, 0.2


@dataclass(frozen=True)
class ImageSet:
    """What the experiments have to know of a set; ``dog`` and ``frog`` are labels that it shares with the other one."""

    title: str
    n_classes: int
    dog: int
    frog: int
    n_test: int


SETS = {
    "cifar10": ImageSet("CIFAR-10", 10, 5, 6, 10_000),
    "caltech256": ImageSet("Caltech256", 257, 55, 79, 6_122),
}


def sets_of(scope: Scope) -> tuple[str, ...]:
    """The sets that are asked for; else CIFAR-10, and at the paper's size Caltech256 if it is in the data folder."""
    both = scope.full and (scope.data / "caltech256").is_dir()
    return scope.datasets or (tuple(SETS) if both else ("cifar10",))


@lru_cache(maxsize=1)
def load_images(name: str, data: Path, n_images: int | None = None, n_test: int | None = None) -> Parts:
    """Images to train on, to stop by and to report.

    CIFAR-10 has a test part. Of its other images, the first ``n_images``, a fifth is for validation. Caltech256 has none: 64 %
    of its images are to train, 16 % for validation and 20 % to report, with equal shares of each class. It always has all
    images, because many of its 257 classes are small. Its images are 64 x 64; the paper does not give their size.
    """
    if name == "cifar10":
        images, labels = cifar10(data, "train", n_images)
        n_train = len(labels) - round(VALIDATION_SHARE * len(labels))
        return Parts((images[:n_train], labels[:n_train]), (images[n_train:], labels[n_train:]), cifar10(data, "test", n_test))
    images, labels = datasets.caltech256(data / name)
    rest, test = train_test_split(np.arange(len(labels)), test_size=TEST_SHARE, random_state=0, stratify=labels)
    train, validation = train_test_split(rest, test_size=VALIDATION_SHARE, random_state=0, stratify=labels[rest])
    return Parts((images[train], labels[train]), (images[validation], labels[validation]), (images[test], labels[test]))


def scores_and_labels(trainer: Trainer, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    scores, labels = trainer.scores_and_labels(in_batches(rows))
    return scores.cpu().numpy(), labels.cpu().numpy()


def darknet(images: Tensor, n_classes: int, width: float, dropout: float) -> nn.Module:
    """Darknet-19 from bytes to scores; ``images`` give the mean and the deviation of each channel.

    The paper drops units, but does not say which. Here they are those before the last layer.
    """
    network = Darknet19(n_classes, width=width)
    network.body.append(nn.Dropout(dropout))
    return from_bytes(network, images)
