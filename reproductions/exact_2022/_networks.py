"""The protocol of Sections 5.1, 5.3 and 5.4 for networks: sizes, data, training.

``FULL`` is the paper's size, with the hyper-parameters of Table 7. ``SCALED`` is for one core: small networks that train for a
few epochs on all images in bfloat16, with a learning rate of one cycle. Pictures of CIFAR-10 are trained on flipped crops of
28 × 28, and tested on the middle one together with its mirror image. Digits lose their empty border and are shifted. Crop and
weight decay were chosen under cross-entropy, in runs of four epochs. ``TUNED`` has the learning rate, margin and last sigma:
for every loss the best of the same number of random draws, by ``vision_search``. Both choices are by training images that are
held out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from pytorch_optimizer import SAM
from torch import Tensor, nn
from torch.optim import SGD, Adam, Optimizer

import metricfit as mf
from metricfit.training import Batches, HeldOut, Trainer
from reproductions._augment import MirrorMean, ShiftAndFlip
from reproductions._experiment import Cell, Scope
from reproductions._machine import multiplies_bfloat16
from reproductions._pictures import Standardise, cifar10, from_bytes
from reproductions._training import Rows
from reproductions.exact_2022 import published
from reproductions.exact_2022._protocol import FLOOR, LAST_RATE, MOMENTUM, WEIGHT_DECAY
from reproductions.lab import datasets
from reproductions.lab.networks import M3, FastResNet, WideResNet

FIRST_SIGMA, LAST_SIGMA = 10.0, 1.0
RADIUS = 0.5  # ASAM's, as its authors have it for CIFAR-10; the paper gives none
TABLE_7 = "Table 7"  # the variant of a cell that has its margin, and quadrature
SMALL_DECAY = 5e-4  # weight decay of small networks under SGD and ASAM; under Adam it is the paper's
WARM_UP = 0.2  # share of the steps in which the learning rate of one cycle rises
N_STANDARD = 5000  # training images that give the mean and deviation of the channels, and the first filters


@dataclass(frozen=True)
class Images:
    """A set of images as the paper trains on it."""

    read: Callable[[Path, str], Rows]  # bytes (n, c, h, w) and labels, from the folder of the data and a part
    network: Callable[[], nn.Module]
    epochs: int
    augmentation: str  # of ``datasets.augmentation``
    n_classes: int = 10


# the sets of Table 3
IMAGES = {
    "mnist": Images(lambda data, part: datasets.mnist(data / "mnist", part), M3, 150, "mnist"),
    "svhn": Images(lambda data, part: datasets.svhn(data / "svhn", part), lambda: WideResNet(16, 8), 150, "svhn"),
    "cifar10": Images(cifar10, lambda: WideResNet(28, 10), 500, "cifar10"),
    "cifar100": Images(
        lambda data, part: datasets.cifar100(data / "cifar100", part), lambda: WideResNet(28, 10, 100), 500, "cifar10", 100
    ),
}


@dataclass(frozen=True)
class Size:
    """How much is trained."""

    network: Callable[[], nn.Module]
    epochs: int
    batch: int
    augmentation: Callable[[], nn.Module]
    n_train: int | None = None  # all if None, as of test images
    n_test: int | None = None
    border: int = 0  # pixels that images lose on each side
    mirror: bool = False  # whether a picture is judged together with its mirror image
    points: int = 10  # of the curves of Figure 5
    full: bool = False  # the hyper-parameters of Table 7, and its schedule of the learning rate


def _small(name: str, width: float, epochs: int, batch: int, n_train: int | None = None, n_test: int | None = None) -> Size:
    """M3 for digits, else a small residual network; digits are not flipped."""
    if name == "mnist":
        digits = partial(M3, image_size=24, width=width)
        return Size(digits, epochs, batch, partial(ShiftAndFlip, 2, flip=False), n_train, n_test, border=2)
    flip = name != "svhn"
    pictures, change = partial(FastResNet, IMAGES[name].n_classes, width=width), partial(ShiftAndFlip, 0, 4, flip=flip)
    return Size(pictures, epochs, batch, change, n_train, n_test, mirror=flip)


FULL = {
    name: Size(one.network, one.epochs, 256, partial(datasets.augmentation, one.augmentation), full=True)
    for name, one in IMAGES.items()
}
SCALED = {name: _small(name, 0.25, 4, 128) if name == "mnist" else _small(name, 1.0, 10, 128) for name in IMAGES}
QUICK = {name: _small(name, 0.05, 1, 32, n_train=64, n_test=50) for name in IMAGES}


@dataclass(frozen=True)
class Hyperparameters:
    """Hyper-parameters of a loss under an optimizer: learning rate, margin and last sigma, where it has them."""

    rate: float
    margin: float | None = None
    sigma: float = LAST_SIGMA


# of the scaled networks, by set, optimizer and loss (results/exact-vision-search.md); other sets have those of CIFAR-10
TUNED = {
    ("mnist", "SGD", "Cross-entropy"): Hyperparameters(0.0633),
    ("mnist", "SGD", "Hinge"): Hyperparameters(0.227, 2.41),
    ("mnist", "SGD", "EXACT"): Hyperparameters(0.109, 5.99, 0.926),
    ("mnist", "Adam", "Cross-entropy"): Hyperparameters(0.00838),
    ("mnist", "Adam", "Hinge"): Hyperparameters(0.00838, 2.41),
    ("mnist", "Adam", "EXACT"): Hyperparameters(0.00838, 5.99, 0.926),
    ("cifar10", "SGD", "Cross-entropy"): Hyperparameters(0.447),
    ("cifar10", "SGD", "Hinge"): Hyperparameters(0.0633, 1.56),
    ("cifar10", "SGD", "EXACT"): Hyperparameters(0.227, 2.41, 0.611),
    ("cifar10", "Adam", "Cross-entropy"): Hyperparameters(0.00838),
    ("cifar10", "Adam", "Hinge"): Hyperparameters(0.00282, 1.56),
    ("cifar10", "Adam", "EXACT"): Hyperparameters(0.00425, 2.41, 0.611),
}


@dataclass(frozen=True)
class Setting:
    """A loss, an optimizer and hyper-parameters; the threshold of the gradient is that of Table 7."""

    data: str
    optimizer: str
    loss: str
    rate: float  # the first learning rate, or the highest of one cycle
    margin: float | None = None  # of hinge and EXACT; None clips nothing
    sigma: float = LAST_SIGMA  # EXACT's last one
    samples: int | None = None  # of Genz's algorithm; None integrates by quadrature

    @property
    def clip(self) -> float | None:
        return published.VISION_CLIP[self.loss][_index(self.data)] if self.loss in published.VISION_CLIP else None

    def make_loss(self) -> nn.Module:
        if self.loss == "Cross-entropy":
            return nn.CrossEntropyLoss()
        if self.loss == "Hinge":
            return mf.HingeLoss(margin=self.margin or 0.0)
        if self.samples is None:
            return mf.ExactLoss(margin=self.margin)
        return mf.ExactLoss(margin=self.margin, method="genz", samples=self.samples)

    def make_optimizer(self, module: nn.Module, full: bool) -> Optimizer:
        """As in the paper, or for small networks with Nesterov's momentum and a larger weight decay."""
        weights, rate = module.parameters(), self.rate
        if self.optimizer == "Adam":
            return Adam(weights, lr=rate, weight_decay=WEIGHT_DECAY)
        decay = WEIGHT_DECAY if full else SMALL_DECAY
        options: dict[str, Any] = {"lr": rate, "momentum": MOMENTUM, "weight_decay": decay, "nesterov": not full}
        if self.optimizer == "SGD":
            return SGD(weights, **options)
        return SAM(weights, SGD, rho=RADIUS, adaptive=True, **options)


def published_margin(data: str, loss: str) -> float | None:
    return published.VISION_MARGIN[loss][_index(data)] if loss in published.VISION_MARGIN else None


def setting_of(cell: Cell, full: bool = False) -> Setting:
    """The setting of a cell, whose variant is ``TABLE_7``, "samples 4", "margin 0.1" or "margin none".

    ``TABLE_7`` of the scaled size has the hyper-parameters of ``TUNED`` instead. Those of ASAM are SGD's, as in Table 7.
    """
    data, optimizer, loss, variant = (str(cell[name]) for name in ("set", "optimizer", "loss", "variant"))
    what, _, value = variant.partition(" ")
    own = _table_7(data, optimizer, loss) if full else tuned(data, optimizer, loss)
    margin = own.margin if what != "margin" else None if value == "none" else float(value)
    return Setting(data, optimizer, loss, own.rate, margin, own.sigma, int(value) if what == "samples" else None)


def tuned(data: str, optimizer: str, loss: str) -> Hyperparameters:
    """The hyper-parameters of a scaled network."""
    return TUNED["mnist" if data == "mnist" else "cifar10", "Adam" if optimizer == "Adam" else "SGD", loss]


def _table_7(data: str, optimizer: str, loss: str) -> Hyperparameters:
    rate = published.ADAM_RATE if optimizer == "Adam" else published.VISION_RATE[loss][_index(data)]
    return Hyperparameters(rate, published_margin(data, loss))


def _index(data: str) -> int:
    return published.VISION.index(data)


@lru_cache(maxsize=2)
def load_images(name: str, data: Path, size: Size) -> tuple[Rows, Rows]:
    """Training and test images, bytes (n, c, h, w), and labels; the first ones of each part."""
    train, test = (
        _first(IMAGES[name].read(data, part), n, size) for part, n in (("train", size.n_train), ("test", size.n_test))
    )
    return train, test


def _first(rows: Rows, n_rows: int | None, size: Size) -> Rows:
    images, labels = (tensor[:n_rows] for tensor in rows)
    inner = slice(size.border, images.shape[-1] - size.border)
    return images[..., inner, inner].contiguous(), labels


def make_network(size: Size, images: Tensor) -> nn.Module:
    """From bytes to scores, with random changes in training. ``images`` are those of training."""
    if size.full:
        return nn.Sequential(_Fractions(), size.augmentation(), size.network())
    network, images = size.network(), images[:N_STANDARD]
    if isinstance(network, FastResNet):
        network.whiten(Standardise(images)(images))
    network = from_bytes(network, images)
    return nn.Sequential(size.augmentation(), MirrorMean(network) if size.mirror else network)


class _Fractions(nn.Module):
    """Bytes as floats from 0 to 1."""

    def forward(self, images: Tensor) -> Tensor:
        return images / 255.0


def fabric_of(scope: Scope) -> Fabric | None:
    """The best device at full size, else one CPU, which multiplies in bfloat16 at the scaled size if its processor can."""
    if scope.full:
        return None
    fast = scope.size == "scaled" and multiplies_bfloat16()
    return Fabric(accelerator="cpu", devices=1, precision="bf16-mixed" if fast else "32-true")


def one_cycle(rate: float, steps: int) -> mf.schedules.Schedule:
    """Linear from zero to the rate, and to zero again."""
    rising = max(1, round(WARM_UP * steps))
    falling = mf.schedules.linear(rate, 0.0, max(1, steps - rising))
    return mf.schedules.join([mf.schedules.linear(0.0, rate, rising), falling], boundaries=[rising])


def train_network(setting: Setting, size: Size, train: Rows, held_out: HeldOut, seed: int, fabric: Fabric | None) -> Trainer:
    """Section 5.4: for EXACT, sigma falls from 10 to its last value, and the gradient is normalised.

    The learning rate falls geometrically at full size, and has one cycle else. The trainer's history has ``size.points`` rows,
    at equal distances: with few epochs, more than epochs.
    """
    torch.manual_seed(seed)
    module = make_network(size, train[0])
    steps = math.ceil(size.epochs * len(train[1]) / (size.points * size.batch))  # per point
    total = size.points * steps
    exact = setting.loss == "EXACT"
    trainer = Trainer(
        module,
        setting.make_loss(),
        setting.make_optimizer(module, size.full),
        lr=mf.schedules.geometric(setting.rate, LAST_RATE, total) if size.full else one_cycle(setting.rate, total),
        scale=mf.schedules.geometric(FIRST_SIGMA, setting.sigma, total) if exact else None,
        clip=setting.clip,
        normalizer=mf.GradientNormalizer(floor=FLOOR) if exact else None,
        fabric=fabric,
    )
    trainer.fit(Batches(*train, size=size.batch, steps=steps, seed=seed), held_out, epochs=size.points)
    return trainer
