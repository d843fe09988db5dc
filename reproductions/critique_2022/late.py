r"""The critique's argument for cross-entropy, measured.

Late in training, it says, most p(y|x) are near 1, where :math:`\log x \approx x - 1`. So cross-entropy "is basically
equivalent" to expected error there.

Cross-entropy is trained for ``EPOCHS`` epochs. At some of them both gradients are compared on the training rows. Then the same
training is done again, with expected error in the last third, and with expected error from the start: same weights at first,
same batches. The held-out accuracy is the mean of the last ``LAST`` epochs.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import metricfit as mf
from metricfit.training import Batches, Trainer
from reproductions._experiment import Cell, Experiment, Numbers, Scope
from reproductions._training import cpu_fabric
from reproductions.critique_2022._late_findings import claims, figure, summary
from reproductions.critique_2022._late_gradients import compare_gradients
from reproductions.critique_2022._late_sets import SETTINGS, Setting, setting_of

EPOCHS, LAST = 30, 5
POINTS = (0, 1, 3, 10, 20, 30)
QUICK_EPOCHS, QUICK_POINTS = 3, (0, 1, 3)
LOG, LINEAR = nn.CrossEntropyLoss(), mf.ExpectedErrorLoss()


def cells(scope: Scope) -> list[Cell]:
    wanted = scope.datasets or EXPERIMENT.datasets
    seeds = range(2 if scope.quick else scope.seeds)
    return [{"set": name, "seed": seed} for name in SETTINGS if name in wanted for seed in seeds]


def run(cell: Cell, scope: Scope) -> list[Numbers]:
    """A row per point; the last one also has the held-out accuracies of the three ways to train."""
    name, seed = str(cell["set"]), int(cell["seed"])
    setting = setting_of(name, scope.data, seed)
    epochs, points = (QUICK_EPOCHS, QUICK_POINTS) if scope.quick else (EPOCHS, POINTS)
    log, switched, linear = (Training(setting, seed) for _ in range(3))
    rows = []
    for point in points:
        log.go_on(point, LOG)
        rows.append({"epoch": float(point), **compare_gradients(log.module, setting.train)})
    switched.go_on(epochs * 2 // 3, LOG)
    switched.go_on(epochs, LINEAR)
    linear.go_on(epochs, LINEAR)
    rows[-1] |= {"log": log.held_out(), "switched": switched.held_out(), "linear": linear.held_out()}
    rows[-1] |= {"train_rows": len(setting.train[1]), "held_out_rows": len(setting.held_out[1])}
    return rows


class Training:
    """A model whose loss can be changed between epochs; equal seeds have equal weights at first, and equal batches."""

    def __init__(self, setting: Setting, seed: int) -> None:
        torch.manual_seed(seed)
        self.setting, self.module = setting, setting.build()
        self.batches = Batches(*setting.train, size=setting.batch, seed=seed)
        optimizer = torch.optim.Adam(self.module.parameters(), lr=setting.rate, fused=True)
        self.trainer = Trainer(self.module, LOG, optimizer, fabric=cpu_fabric())

    def go_on(self, epoch: int, loss: nn.Module) -> None:
        """Train with this loss until so many epochs are done."""
        self.trainer.loss = loss
        self.trainer.fit(self.batches, self.setting.held_out, epochs=epoch)

    def held_out(self) -> float:
        """Accuracy in percent, the mean of the last epochs."""
        return 100.0 * float(np.mean([row["metric"] for row in self.trainer.history[-LAST:]]))


EXPERIMENT = Experiment(
    name="critique-late",
    title="The critique of EXACT (kexue.fm/archives/9098): is cross-entropy expected error late in training?",
    datasets=tuple(SETTINGS),
    cells=cells,
    run=run,
    summary=summary,
    claims=claims,
    figure=figure,
    seeds=10,
    cut=True,
)
