"""How much more does a loss cost than cross-entropy, on tables, images and many classes?

    python -m benchmarks.loss_ratios [--seconds 3] [--out benchmarks/results]

One training step of the loss, forward and backward, in float32 on one thread, over the same step of ``nn.CrossEntropyLoss``,
or of ``nn.BCEWithLogitsLoss`` for logits. All losses of a shape take turns within every round, so that noise of the machine
affects all of them. Times are of the processor; a ratio is the median over rounds. MONAI's Dice has a column if you install
MONAI: ``pip install --no-deps monai``.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

import metricfit as mf
from benchmarks._script import new_parser, take_turns, write_page, written_by
from metricfit.smoothing import Normal

SHAPES = [(256, 2), (256, 10), (64, 1000), (4, 21, 128, 128), (32, 20_000)]
LOGITS = [(256, 1), (256, 14), (4, 1, 128, 128)]
Loss = Callable[[Tensor, Tensor], Tensor]


def of_classes() -> dict[str, Loss]:
    losses: dict[str, Loss] = {
        "cross-entropy": nn.CrossEntropyLoss(),
        "f1_macro": mf.MetricLoss("f1_macro"),
        "jaccard_macro": mf.MetricLoss("jaccard_macro"),
        "leaky": mf.LeakyExpectedErrorLoss(),
        "Dice": mf.DiceLoss(),
        "EAST": mf.EastLoss(),
        "EXACT": mf.ExactLoss(),
        "f1_macro, normal": mf.MetricLoss("f1_macro", Normal()),
    }
    try:
        from monai.losses import DiceLoss
    except ImportError:
        return losses
    monai = DiceLoss(softmax=True, to_onehot_y=True)
    return {**losses, "MONAI's Dice": lambda scores, labels: monai(scores, labels[:, None])}


def of_logits(n_labels: int) -> dict[str, Loss]:
    mode, name = ("binary", "f1") if n_labels == 1 else ("multilabel", "f1_macro")
    return {
        "cross-entropy": nn.BCEWithLogitsLoss(),
        "f1_macro": mf.MetricLoss(name, mode=mode),
        "jaccard_macro": mf.MetricLoss(name.replace("f1", "jaccard"), mode=mode),
        "leaky": mf.LeakyExpectedErrorLoss(mode=mode),
        "Dice": mf.DiceLoss(mode=mode),
        "EAST": mf.EastLoss(name, mode=mode),
        "EXACT": mf.ExactLoss(mode=mode),
        "f1_macro, normal": mf.MetricLoss(name, Normal(), mode=mode),
    }


def ratios(losses: dict[str, Loss], scores: Tensor, target: Tensor, seconds: float) -> dict[str, float]:
    """The median time of a step of each loss, over that of the first; a turn repeats quick steps."""

    def step(loss: Loss) -> None:
        scores.grad = None
        loss(scores, target).backward()

    steps, repeats = {name: partial(step, loss) for name, loss in losses.items()}, 10 if scores.numel() < 50_000 else 1
    times = take_turns(steps, seconds, 7, repeats, time.process_time)
    base = times["cross-entropy"]
    return {name: statistics.median(a / b for a, b in zip(own, base, strict=True)) for name, own in times.items()}


def cases() -> list[tuple[tuple[int, ...], dict[str, Loss], Tensor]]:
    found: list[tuple[tuple[int, ...], dict[str, Loss], Tensor]] = []
    for shape in SHAPES:
        losses = of_classes()
        if len(shape) < 4:
            losses.pop("MONAI's Dice", None)  # it is for images
        found.append((shape, losses, torch.randint(shape[1], (shape[0], *shape[2:]))))
    return [*found, *((shape, of_logits(shape[1]), torch.randint(2, shape).float()) for shape in LOGITS)]


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    columns = [*of_classes()][1:]
    lines = [f"| shape | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    for shape, losses, target in cases():
        found = ratios(losses, torch.randn(shape, requires_grad=True), target, options.seconds)
        kind = "logits" if shape in LOGITS else "classes"
        cells = " | ".join(f"{found[name]:.1f}" if name in found else "" for name in columns)
        lines.append(f"| {shape} {kind} | {cells} |")
        print(lines[-1], flush=True)
    about = written_by()
    if "MONAI's Dice" not in columns:
        about += " For a column with MONAI's Dice, `pip install --no-deps monai`."
    write_page(options.out, "loss_ratios.md", "\n".join(["# Losses against cross-entropy", "", about, "", *lines]))


if __name__ == "__main__":
    main()
