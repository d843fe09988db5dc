"""The protocol of Sections 5.1, 5.3 and 5.4 for networks: sizes, data, training.

``FULL`` is the paper's size, with the hyper-parameters of Table 7. ``SCALED`` is for one core: fewer images, narrower
networks, smaller batches, fewer epochs, no augmentation; pictures of CIFAR-10 and SVHN are halved to 16 × 16 by averaging, and
digits lose their empty border. Margins and thresholds are still those of Table 7. Its learning rates are for a hundred times
as many steps, so ``RATES`` has others, which fall to a hundredth and not to 1e-4: the best of a grid on images that are not
trained on, by ``vision_rates``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch
from lightning_fabric import Fabric
from pytorch_optimizer import SAM
from torch import Tensor, nn
from torch.optim import SGD, Adam, Optimizer

import metricfit as mf
from metricfit import datasets
from metricfit.models import M3, WideResNet
from metricfit.training import Batches, Trainer
from reproductions._experiment import Cell
from reproductions._pictures import cifar10
from reproductions._training import Rows
from reproductions.exact_2022 import published
from reproductions.exact_2022._protocol import LAST_RATE, MOMENTUM, WEIGHT_DECAY

SIGMA = (10.0, 1.0)
RADIUS = 0.5  # ASAM's, as its authors have it for CIFAR-10; the paper gives none
TABLE_7 = "Table 7"  # the variant of a cell that has its margin, and quadrature


@dataclass(frozen=True)
class Size:
    """How much is trained."""

    network: Callable[[], nn.Module]
    epochs: int
    batch: int
    n_train: int | None = None  # all if None, as of test images
    n_test: int | None = None
    shrink: Callable[[Tensor], Tensor] | None = None
    points: int = 10  # of the curves of Figure 5
    full: bool = False  # augmentation, and learning rates of Table 7


def _halve(images: Tensor) -> Tensor:
    return nn.functional.avg_pool2d(images, 2)


def _crop(images: Tensor) -> Tensor:
    return images[..., 2:-2, 2:-2].contiguous()


FULL = {
    "mnist": Size(M3, 150, 256, full=True),
    "svhn": Size(lambda: WideResNet(16, 8), 150, 256, full=True),
    "cifar10": Size(lambda: WideResNet(28, 10), 500, 256, full=True),
}
SCALED = {
    "mnist": Size(lambda: M3(width=0.125, image_size=24), 4, 32, 8000, shrink=_crop),
    "svhn": Size(lambda: WideResNet(10, 1), 3, 32, 12000, shrink=_halve),
    "cifar10": Size(lambda: WideResNet(10, 1), 3, 32, 12000, shrink=_halve),
}
QUICK = {
    "mnist": Size(lambda: M3(width=0.05, image_size=24), 1, 32, 64, 50, _crop, points=2),
    "svhn": Size(lambda: WideResNet(10, 0.1), 1, 32, 64, 50, _halve, points=2),
    "cifar10": Size(lambda: WideResNet(10, 0.1), 1, 32, 64, 50, _halve, points=2),
}
# learning rates of the scaled networks (results/exact-vision-rates.md), for MNIST, SVHN (those of CIFAR-10) and CIFAR-10
RATES = {
    ("SGD", "Cross-entropy"): (0.03, 0.1, 0.1),
    ("SGD", "Hinge"): (0.1, 0.03, 0.03),
    ("SGD", "EXACT"): (0.3, 0.1, 0.1),
    ("Adam", "Cross-entropy"): (0.01, 0.01, 0.01),
    ("Adam", "Hinge"): (0.003, 0.003, 0.003),
    ("Adam", "EXACT"): (0.003, 0.003, 0.003),
}
FALL = 100.0


@dataclass(frozen=True)
class Setting:
    """A loss, an optimizer and hyper-parameters; the threshold of the gradient is that of Table 7."""

    data: str
    optimizer: str
    loss: str
    rate: float  # the first learning rate
    last_rate: float
    margin: float | None  # of hinge and EXACT; None clips nothing
    samples: int | None = None  # of Genz's algorithm; None integrates by quadrature

    @property
    def clip(self) -> float | None:
        return published.VISION_CLIP[self.loss][_place(self.data)] if self.loss in published.VISION_CLIP else None

    def make_loss(self) -> nn.Module:
        if self.loss == "Cross-entropy":
            return nn.CrossEntropyLoss()
        if self.loss == "Hinge":
            return mf.HingeLoss(margin=self.margin or 0.0)
        if self.samples is None:
            return mf.ExactLoss(margin=self.margin)
        return mf.ExactLoss(margin=self.margin, method="genz", samples=self.samples)

    def make_optimizer(self, module: nn.Module) -> Optimizer:
        weights, rate = module.parameters(), self.rate
        if self.optimizer == "Adam":
            return Adam(weights, lr=rate, weight_decay=WEIGHT_DECAY)
        if self.optimizer == "SGD":
            return SGD(weights, lr=rate, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)
        return SAM(weights, SGD, rho=RADIUS, adaptive=True, lr=rate, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)


def published_margin(data: str, loss: str) -> float | None:
    return published.VISION_MARGIN[loss][_place(data)] if loss in published.VISION_MARGIN else None


def setting_of(cell: Cell, full: bool = False) -> Setting:
    """The setting of a cell, whose variant is ``TABLE_7``, "samples 4", "margin 0.1" or "margin none"."""
    data, optimizer, loss, variant = (str(cell[name]) for name in ("set", "optimizer", "loss", "variant"))
    what, _, value = variant.partition(" ")
    margin = published_margin(data, loss) if what != "margin" else None if value == "none" else float(value)
    samples = int(value) if what == "samples" else None
    return Setting(data, optimizer, loss, *_rates(data, optimizer, loss, full), margin, samples)


def _rates(data: str, optimizer: str, loss: str, full: bool) -> tuple[float, float]:
    """The first and the last learning rate; that of ASAM is that of SGD, as in Table 7."""
    if not full:
        first = RATES["Adam" if optimizer == "Adam" else "SGD", loss][_place(data)]
        return first, first / FALL
    return published.ADAM_RATE if optimizer == "Adam" else published.VISION_RATE[loss][_place(data)], LAST_RATE


def _place(data: str) -> int:
    return published.VISION.index(data)


@lru_cache(maxsize=2)
def load_images(name: str, data: Path, size: Size) -> tuple[Rows, Rows]:
    """Training and test images, from 0 to 1, and labels; the first ones of each part."""
    read = {"mnist": _mnist, "svhn": _svhn, "cifar10": cifar10}[name]
    train, test = (read(data, part, n_rows) for part, n_rows in (("train", size.n_train), ("test", size.n_test)))
    return _as_floats(train, size), _as_floats(test, size)


def _mnist(data: Path, part: str, n_rows: int | None) -> Rows:
    images, labels = datasets.mnist(data / "mnist", part)
    return images[:n_rows], labels[:n_rows]


def _svhn(data: Path, part: str, n_rows: int | None) -> Rows:
    images, labels = datasets.svhn(data / "svhn", part)
    return images[:n_rows], labels[:n_rows]


def _as_floats(rows: Rows, size: Size) -> Rows:
    images = rows[0].float() / 255.0
    return size.shrink(images) if size.shrink else images, rows[1]


def train_network(setting: Setting, size: Size, train: Rows, held_out: Rows, seed: int, fabric: Fabric | None) -> Trainer:
    """Section 5.4: the learning rate falls and, for EXACT, sigma from 10 to 1; EXACT's gradient is normalised.

    The trainer's history has ``size.points`` rows, at equal distances: with few epochs, more than epochs.
    """
    torch.manual_seed(seed)
    module = size.network()
    if size.full:
        module = nn.Sequential(datasets.augmentation(setting.data), module)
    steps = math.ceil(size.epochs * len(train[1]) / (size.points * size.batch))  # per point
    batches = Batches(*train, size=size.batch, steps=steps, seed=seed)
    exact = setting.loss == "EXACT"
    trainer = Trainer(
        module,
        setting.make_loss(),
        setting.make_optimizer(module),
        lr=mf.schedules.geometric(setting.rate, setting.last_rate, size.points * steps),
        scale=mf.schedules.geometric(*SIGMA, size.points * steps) if exact else None,
        clip=setting.clip,
        normalizer=mf.GradientNormalizer() if exact else None,
        fabric=fabric,
    )
    trainer.fit(batches, held_out, epochs=size.points)
    return trainer
