"""The protocol of Sections 4.5 and 5 for linear models: data, model, training.

Paper and code differ about EXACT. The text has a weight decay of 1e-4 for all models, Table 8 a regularisation of zero. The
authors' code (github tinkoff-ai/exact, ``GradientNormalizer(clip=1e-2)``) divides the gradient by at least 0.01, which the
paper does not mention. ``exact-floor`` compares the four readings with the published accuracies of all ten sets. The floor
without decay is as close as any (mean distance on train 0.17 points, with decay instead of the floor 0.20; on test 1.06 and
1.02), and it is what Table 8 and the code say. So it is the protocol, and no method has a decay. Before, EXACT
alone had the decay, because it came closer to the published numbers.

The authors' normaliser is ours with a floor of 0.01, but for two things. A gradient of zero enters its running mean, and does
not enter ours. It returns the norm after the division, ours the norm before. Both take the first norm as the first mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from sklearn.model_selection import train_test_split
from torch import Tensor

import metricfit as mf
from metricfit.training import Batches, Trainer
from reproductions import _tables as tables
from reproductions._training import Rows, cpu_fabric
from reproductions.lab.networks import LinearFixedFirst

STEPS, BATCH, MOMENTUM, WEIGHT_DECAY, LAST_RATE = 8000, 256, 0.9, 1e-4, 1e-4
SIGMA = (10.0, 0.01)
FLOOR = 0.01  # of the gradient normaliser in the authors' code
QUICK_STEPS = 200
NAMES = {"breast-cancer-wisconsin": "breast-cancer", "cylinder-bands": "cylinder-bands-as-spelled"}  # of our readers
WITHOUT_LAST_ROW = ("breast-cancer-wisconsin", "cylinder-bands", "mice-protein")


@dataclass(frozen=True)
class Dataset:
    """Normalised features and labels of both parts."""

    train: Rows
    test: Rows
    n_classes: int


@lru_cache(maxsize=2)
def load_data(name: str, data: Path) -> Dataset:
    """Section 5.2: missing numbers are the mean; one-hot; all features normalised.

    A missing category ("?" in the files) is a category. The paper says that it is filled by the most frequent one,
    but then scikit-learn's accuracy on adult is 85.22 / 85.11 % and on annealing 90 / 93 %, while with "?" as a value it is
    what the paper has: 85.33 / 85.27 (published 85.33 / 85.28) and 100 / 100.

    Three files are read without their last row, because the published accuracies are of so many rows: 80.05 and 80.28 % on
    train in cylinder-bands are 345 and 346 of 431 rows, not of 432. With it scikit-learn gets 80.09 / 73.15 there, 98.90 /
    95.61 on breast-cancer-wisconsin and 100 / 99.54 on mice-protein, without it 80.05 / 72.22, 98.68 / 95.61 and 100 / 99.07:
    the paper's numbers. (On audit-risk they are met by leaving in what the class was derived from, which we do not.)

    The set's own test part where it has one, else 20 % at random, the same for all seeds: the published deviation of
    scikit-learn over seeds is zero.
    """
    features, target = tables.load(NAMES.get(name, name), data)
    if name in WITHOUT_LAST_ROW:
        features, target = features.iloc[:-1], target[:-1]
    classes, labels = np.unique(target, return_inverse=True)
    n_test = tables.ORIGINAL_TEST.get(name)
    every = np.arange(len(labels))
    train, test = (every[:-n_test], every[-n_test:]) if n_test else train_test_split(every, test_size=0.2, random_state=0)
    values = torch.from_numpy(tables.numeric_features(features, train)).float()
    parts = [(values[part], torch.from_numpy(labels[part])) for part in (train, test)]
    return Dataset(parts[0], parts[1], len(classes))


def fit_linear(
    data: Dataset,
    loss: Callable[..., Tensor],
    *,
    rate: float,
    seed: int,
    steps: int,
    clip: float | None = None,
    scale: mf.schedules.Schedule | None = None,
    normalizer: mf.GradientNormalizer | None = None,
    decay: float = 0.0,
) -> Trainer:
    """Section 5.4, with metricfit's trainer: one model at a time.

    The experiments train with ``_batched``, which takes the same steps in a hundredth of the time; a test compares the two.
    """
    torch.manual_seed(seed)
    module = LinearFixedFirst(data.train[0].shape[1], data.n_classes)
    trainer = Trainer(
        module,
        loss,
        torch.optim.SGD(module.parameters(), lr=rate, momentum=MOMENTUM, weight_decay=decay, fused=True),
        lr=mf.schedules.geometric(rate, LAST_RATE, steps),
        scale=scale,
        clip=clip,
        normalizer=normalizer,
        fabric=cpu_fabric(),
    )
    trainer.fit(Batches(*data.train, size=BATCH, steps=steps, seed=seed), data.test, epochs=1)
    return trainer


def fit_exact(
    data: Dataset, *, rate: float, margin: float | None, seed: int, steps: int, floor: float = FLOOR, decay: float = 0.0
) -> Trainer:
    """EXACT with its margin, its scale going down and its gradients normalised."""
    return fit_linear(
        data,
        mf.ExactLoss(margin=margin),
        rate=rate,
        seed=seed,
        steps=steps,
        scale=mf.schedules.geometric(*SIGMA, steps),
        normalizer=mf.GradientNormalizer(floor=floor),
        decay=decay,
    )
