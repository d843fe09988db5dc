"""Table 3 and Figures 5 and 6: networks on images, *scaled* to one core.

Table 3 compares three losses under three optimizers. Figure 5 has the norm of their gradients during training: in the paper on
CIFAR-100, here on both sets. Figure 6 has the accuracy by the number of samples in Genz's estimate of EXACT's integral, and
with quadrature, which has no samples. The paper tunes the margin (Table 7) and does not show its effect; the full size runs
several margins, and ``vision_search`` draws them for the scaled one.

The cells are in order of importance: every loss under SGD with three seeds, then Adam, ASAM, the numbers of samples, and more
seeds of SGD.
"""

from __future__ import annotations

import statistics
import time

import torch

from metricfit.training import Trainer
from reproductions._claims import Claim, Runs, claim
from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions._machine import multiplies_bfloat16
from reproductions._results import distinct_values, paired_differences
from reproductions._training import Rows, accuracy, in_batches
from reproductions.exact_2022 import published
from reproductions.exact_2022._networks import (
    FULL,
    LAST_SIGMA,
    QUICK,
    SCALED,
    TABLE_7,
    fabric_of,
    load_images,
    published_margin,
    setting_of,
    train_network,
)
from reproductions.exact_2022._vision_summary import ends, figure, summary

OPTIMIZERS = ("SGD", "Adam", "ASAM")
BY_IMPORTANCE = ("Cross-entropy", "EXACT", "Hinge")
SETS = ("cifar10", "mnist")
SAMPLES = (1, 4, 16)
MARGINS = ("0.1", "0.5", "2", "none")
FIRST_SEEDS = 3  # of SGD, before the other optimizers
FEW_SEEDS = 2  # of Adam, ASAM and numbers of samples, where SGD has more; the full size has as many of all
HELD_OUT = 100  # test images that are judged during training; nothing is chosen by them
N_SEEN = 5000  # training images of the accuracy on train
CHUNK = 1000  # images that are judged at once
TIMED = 50  # repetitions
N_TEST = {"svhn": 26_032, "mnist": 10_000, "cifar10": 10_000, "cifar100": 10_000}


def cells(scope: Scope) -> list[Cell]:
    sets = scope.datasets or (tuple(FULL) if scope.full else SETS)
    many = 1 if scope.quick else scope.seeds
    few = many if scope.full else min(many, FEW_SEEDS)
    samples = SAMPLES[:1] if scope.quick else SAMPLES
    margins = MARGINS if scope.full else ()
    sgd, *others = ([(optimizer, loss, TABLE_7) for loss in BY_IMPORTANCE] for optimizer in OPTIMIZERS)
    others += [
        [("SGD", "EXACT", f"samples {number}") for number in samples],
        [("SGD", "EXACT", f"margin {margin}") for margin in margins],
    ]
    first = min(many, FIRST_SEEDS)
    groups = [(range(first), sgd), *((range(few), group) for group in others), (range(first, many), sgd)]
    return [
        {"set": name, "optimizer": optimizer, "loss": loss, "variant": variant, "seed": seed}
        for seeds, group in groups
        for seed in seeds
        for name in sets
        for optimizer, loss, variant in group
        if variant != f"margin {published_margin(name, 'EXACT'):g}"  # which is that of Table 7
    ]


def run(cell: Cell, scope: Scope) -> list[Numbers]:
    """One row with accuracies in percent; the cells of Figure 5 have a row per point, of which it is the last."""
    setting, size = setting_of(cell, scope.full), (FULL if scope.full else QUICK if scope.quick else SCALED)[str(cell["set"])]
    train, test = load_images(setting.data, scope.data, size)
    judged = test[0][:HELD_OUT], test[1][:HELD_OUT]
    start = time.process_time()
    trainer = train_network(setting, size, train, judged, int(cell["seed"]), fabric_of(scope))
    end = {"seconds": time.process_time() - start, "test": accuracy(trainer, in_batches(test, CHUNK))}
    end["bfloat16"] = float(scope.size == "scaled" and multiplies_bfloat16())
    seen = train[0][:N_SEEN], train[1][:N_SEEN]
    end["train"] = accuracy(trainer, in_batches(seen, CHUNK))
    if setting.loss == "EXACT" and setting.optimizer == "SGD":
        end["loss_ms"] = _time_loss(trainer, train)
    if setting.optimizer != "SGD" or cell["variant"] != TABLE_7:
        return [end]
    rows = [{"step": float(row["step"]), "gradient_norm": row["gradient_norm"]} for row in trainer.history]
    return [*rows[:-1], rows[-1] | end]


def _time_loss(trainer: Trainer, rows: Rows) -> float:
    """Milliseconds of the processor for the loss of 256 images, as in the paper, and its gradient."""
    scores, labels = trainer.scores_and_labels((rows[0][:256], rows[1][:256]))
    scores.requires_grad_()
    times = []
    for _ in range(TIMED):
        before = time.process_time()
        torch.autograd.grad(trainer.loss(scores, labels, scale=LAST_SIGMA), scores)
        times.append(1e3 * (time.process_time() - before))
    return statistics.median(times)


def claims(found: Results) -> list[Claim]:
    """EXACT over the other losses under each optimizer, and one sample against sixteen, of which the paper gives no number.

    Claims of one set and optimizer share the runs of EXACT.
    """
    found, made = ends(found), []
    for name in distinct_values(found, "set"):
        index = published.VISION.index(name)
        for optimizer in OPTIMIZERS:
            reported = {loss: published.VISION_TEST[optimizer, loss][index][0] for loss in published.LOSSES}
            exact = _own(name, optimizer, "EXACT")
            for other in published.LOSSES[:2]:
                if gains := paired_differences(found, "test", exact, _own(name, optimizer, other)):
                    text = f"EXACT over {other.lower()}, accuracy, {name}, {optimizer}"
                    made.append(
                        claim(
                            text,
                            reported["EXACT"] - reported[other],
                            gains,
                            _runs(name, gains),
                            group=f"vision, {name}, {optimizer}",
                        )
                    )
        few, many = (_own(name, "SGD", "EXACT", f"samples {number}") for number in (SAMPLES[0], SAMPLES[-1]))
        if gains := paired_differences(found, "test", few, many):
            made.append(
                claim(f"EXACT, 1 sample over 16, accuracy, {name}", None, gains, _runs(name, gains), group=f"samples, {name}")
            )
    return made


def _runs(name: str, gains: list[float]) -> Runs:
    return Runs(seeds=len(gains), test_rows=N_TEST[name])


def _own(name: str, optimizer: str, loss: str, variant: str = TABLE_7) -> Cell:
    return {"set": name, "optimizer": optimizer, "loss": loss, "variant": variant}


EXPERIMENT = Experiment(
    name="exact-vision",
    title="EXACT, Table 3 and Figures 5 and 6 (arXiv 2205.09615): networks on images",
    datasets=tuple(FULL),
    cells=cells,
    run=run,
    summary=summary,
    claims=claims,
    figure=figure,
    seeds=5,
    scaled=True,
    partial=True,
    version=3,
)
