"""Wrong labels: which loss keeps a network from learning them?

All losses have one protocol, and nothing is tuned for one of them: Adam at a constant rate, for a number of epochs that was
chosen by time, and long enough for cross-entropy to learn wrong labels. After each epoch the accuracy of the validation rows
is computed; their labels are as noisy as those of the training rows. "Stopped" is the test accuracy after the epoch where it
is best (the first of equals), "last" that after the last epoch: both come from one training. A seed is a draw of rows, wrong
labels, first weights and batches, the same for all losses.

The default is *scaled*: at most 5,250 rows of a set and small networks. ``--full`` has all rows, layers of 512, 256 and 128,
ResNet-18 for CIFAR-10, and 100 epochs.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from metricfit.training import Batches, Trainer
from reproductions._experiment import Cell, Experiment, Numbers, Scope
from reproductions._training import accuracy, cpu_fabric
from reproductions.beyond._noise_figure import figure
from reproductions.beyond._noise_findings import summary
from reproductions.beyond._noise_methods import METHODS, MixupBatches
from reproductions.beyond._noise_sets import NOISES, SETS, TABLES, load_parts
from reproductions.lab.networks import MLP, ResNet18, conv_norm

MOST_ROWS, QUICK_ROWS = 5250, 140
RATE, BATCH = 0.003, 128
HIDDEN, FULL_HIDDEN = (128, 64), (512, 256, 128)
CHANNELS = (3, 16, 32, 64)
EPOCHS, TABLE_EPOCHS, FULL_EPOCHS, QUICK_EPOCHS = 15, 40, 100, 2  # few numbers per row are learnt by heart more slowly
COSTLY, COSTLY_SEEDS = "cifar10", 3
QUICK_SETS, QUICK_NOISES = ("mnist", "satellite"), ("symmetric 40 %", "pair 40 %")


def cells(scope: Scope) -> list[Cell]:
    sets, noises = (QUICK_SETS, QUICK_NOISES) if scope.quick else (SETS, tuple(NOISES))
    return [
        {"set": name, "noise": noise, "method": method, "seed": seed}
        for name in (scope.datasets or sets)
        for noise in noises
        for method in METHODS
        for seed in range(_n_seeds(name, scope))
    ]


def _n_seeds(name: str, scope: Scope) -> int:
    if scope.quick:
        return 1
    return min(scope.seeds, COSTLY_SEEDS) if name == COSTLY else scope.seeds


def run(cell: Cell, scope: Scope) -> Numbers:
    """Accuracy in percent: on validation and test rows when stopped, on test and noisy training rows after the last epoch."""
    name, method, seed = str(cell["set"]), METHODS[str(cell["method"])], int(cell["seed"])
    most_rows = None if scope.full else QUICK_ROWS if scope.quick else MOST_ROWS
    parts, n_classes = load_parts(scope.data, name, NOISES[str(cell["noise"])], seed, most_rows)
    torch.manual_seed(seed)
    module = network(parts.train[0], n_classes, full=scope.full)
    rows = Batches(*parts.train, size=BATCH, seed=seed)
    batches = MixupBatches(rows, n_classes, seed) if method.mixes else rows
    trainer = Trainer(module, method.loss(), torch.optim.Adam(module.parameters(), lr=RATE, fused=True), fabric=cpu_fabric())
    found = {"validation": -1.0}
    for epoch in range(1, _n_epochs(name, scope) + 1):
        row = trainer.fit(batches, parts.validation, epochs=epoch)[-1]
        if (validation := 100.0 * row["metric"]) > found["validation"]:
            found = {"validation": validation, "epoch": epoch, "stopped": accuracy(trainer, parts.test)}
    return found | {"last": accuracy(trainer, parts.test), "train": accuracy(trainer, parts.train)}


def _n_epochs(name: str, scope: Scope) -> int:
    if scope.quick or scope.full:
        return QUICK_EPOCHS if scope.quick else FULL_EPOCHS
    return TABLE_EPOCHS if name in TABLES else EPOCHS


def network(features: Tensor, n_classes: int, *, full: bool) -> nn.Module:
    """Convolutions for pictures in colour, else a multilayer perceptron."""
    if features.ndim < 4 or features.shape[1] < CHANNELS[0]:
        return MLP(features[0].numel(), n_classes, FULL_HIDDEN if full else HIDDEN)
    if full:
        return ResNet18(n_classes)
    layers = [conv_norm(n_in, n_out, 3, nn.ReLU(), stride=2, padding=1) for n_in, n_out in pairwise(CHANNELS)]
    n_features = CHANNELS[-1] * (features.shape[-1] // 2 ** len(layers)) ** 2
    return nn.Sequential(*layers, MLP(n_features, n_classes, HIDDEN[-1:]))


EXPERIMENT = Experiment(
    name="label-noise",
    title="Wrong labels: eight losses on seven sets",
    datasets=SETS,
    cells=cells,
    run=run,
    summary=summary,
    figure=figure,
    scaled=True,
)
