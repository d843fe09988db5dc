"""How much slower is EXACT than cross-entropy? Time, memory and error of one training step's loss, forward and backward.

    python -m benchmarks.loss_speed [--threads 2] [--batches 256] [--classes 10 100] [--out benchmarks/results]

Cross-entropy, EXACT by the fused kernel, by the portable form and by the paper's algorithm (Genz, 16 samples), for 2 to 10,000
classes and batches of 64 to 4096, float32. The methods take turns within every round, so that noise of the machine
affects all of them; a time is the median over rounds. Memory is the growth of the process's peak during a step. Errors of p
and of the gradient of log p are against the portable form in float64, that of the gradient relative to its largest entry.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import torch
from torch import Tensor, nn

import metricfit as mf
from benchmarks._script import memory as process_memory
from benchmarks._script import new_parser, take_turns, write_page, written_by
from metricfit.numerics import fused

CLASSES = (2, 10, 30, 100, 300, 1000, 3000, 10_000)
BATCHES = (64, 256, 1024, 4096)
GENZ_LIMIT = 256 * 100**2  # batch x classes**2 beyond which the paper's algorithm takes too long
PORTABLE_LIMIT = 256 * 10_000  # scores beyond which the portable form takes too long
LARGEST = 4096 * 3000  # scores beyond which a step is left out of the table


@dataclass(frozen=True)
class Row:
    classes: int
    batch: int
    method: str
    milliseconds: float
    ratio: float  # to cross-entropy, measured in the same rounds
    megabytes: float
    p_error: float
    gradient_error: float


def methods(n_classes: int, batch: int) -> dict[str, nn.Module]:
    losses = {"cross-entropy": nn.CrossEntropyLoss(), "fused": mf.ExactLoss()}
    if batch * n_classes <= PORTABLE_LIMIT:
        losses["portable"] = mf.ExactLoss()
    if batch * n_classes**2 <= GENZ_LIMIT:
        losses["genz"] = mf.ExactLoss(method="genz")
    return losses


def step(method: str, loss: nn.Module, scores: Tensor, labels: Tensor) -> Callable[[], None]:
    def run() -> None:
        scores.grad = None
        loss(scores, labels).backward()

    return fused.disable()(run) if method == "portable" else run


def milliseconds(steps: dict[str, Callable[[], None]], seconds: float) -> dict[str, float]:
    """Median time of each step; the steps take turns, and a turn repeats quick steps for about 2 ms."""
    repeats = {}
    for method, run in steps.items():
        run()
        start = time.perf_counter()
        run()
        repeats[method] = max(1, math.ceil(2e-3 / (time.perf_counter() - start)))
    times = take_turns(steps, seconds, repeats=repeats)
    return {method: 1e3 * statistics.median(each) for method, each in times.items()}


def peak_megabytes(run: Callable[[], None]) -> float:
    """Growth of the process's peak of resident memory during one step."""
    run()
    Path("/proc/self/clear_refs").write_text("5")
    before = process_memory("VmRSS")
    run()
    return max(0.0, process_memory() - before) / 2**20


def errors(method: str, scores: Tensor, labels: Tensor) -> tuple[float, float]:
    if method == "cross-entropy":
        return math.nan, math.nan
    smoothing = mf.smoothing.Normal(method="genz" if method == "genz" else "quadrature")
    rows = slice(0, max(8, min(len(scores), 100_000 // scores.shape[1])))
    scores, labels = scores.detach()[rows], labels[rows]
    with fused.disable() if method == "portable" else contextlib.nullcontext():
        log_p, gradient = log_p_and_gradient(smoothing, scores, labels)
    exact_log_p, exact_gradient = log_p_and_gradient(mf.smoothing.Normal(), scores.double(), labels)
    p_error = (log_p.double().exp() - exact_log_p.exp()).abs().max().item()
    return p_error, ((gradient - exact_gradient).abs().max() / exact_gradient.abs().max()).item()


def log_p_and_gradient(smoothing: mf.smoothing.Normal, scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    scores = scores.clone().requires_grad_()
    log_p = smoothing.log_label_probability(scores, labels)
    return log_p.detach(), torch.autograd.grad(log_p.sum(), scores)[0]


def batch_of(n_classes: int, batch: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(n_classes)
    scores = torch.randn(batch, n_classes, generator=random).requires_grad_()
    return scores, torch.randint(n_classes, (batch,), generator=random)


def memory(n_classes: int, batch: int) -> dict[str, float]:
    """Megabytes of each method, in a process that returns freed memory at once, so that every peak is visible.

    Such a process is slow with large tensors, so times are measured in another.
    """
    command = [sys.executable, "-m", "benchmarks.loss_speed", "--memory", "--classes", str(n_classes), "--batches", str(batch)]
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {method: float(value) for method, value in (line.split(",") for line in done.stdout.splitlines())}


def measure(n_classes: int, batch: int, seconds: float) -> list[Row]:
    scores, labels = batch_of(n_classes, batch)
    steps = {method: step(method, loss, scores, labels) for method, loss in methods(n_classes, batch).items()}
    times, megabytes = milliseconds(steps, seconds), memory(n_classes, batch)
    return [
        Row(
            n_classes,
            batch,
            method,
            times[method],
            times[method] / times["cross-entropy"],
            megabytes[method],
            *errors(method, scores, labels),
        )
        for method in steps
    ]


def table(rows: list[Row]) -> str:
    lines = [
        "| classes | batch | method | ms | to cross-entropy | MB | error of p | of the gradient |",
        "|---:" * 2 + "|---" + "|---:" * 5 + "|",
    ]
    for row in rows:
        errors = ["" if math.isnan(error) else f"{error:.0e}" for error in (row.p_error, row.gradient_error)]
        lines.append(
            f"| {row.classes} | {row.batch} | {row.method} | {row.milliseconds:.3g} | {row.ratio:.1f} | {row.megabytes:.1f} "
            f"| {errors[0]} | {errors[1]} |"
        )
    return "\n".join(lines)


def plot(rows: list[Row], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), dpi=120, layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, (value, unit) in zip(panels, (("milliseconds", "ms"), ("megabytes", "MB")), strict=True):
        for method in ("cross-entropy", "fused", "portable", "genz"):
            line = [(row.classes, getattr(row, value)) for row in rows if row.method == method and row.batch == 256]
            axes.plot(*zip(*line, strict=True), "o-", label=method)
        axes.set(xscale="log", yscale="log", xlabel="classes", ylabel=unit, title=f"batch 256, {unit} per step")
        axes.grid(alpha=0.3)
    panels[0].legend(frameon=False)
    figure.savefig(path)


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--seconds", type=float, default=6.0, help="for each number of classes and batch (default: %(default)s)"
    )
    parser.add_argument("--batches", type=int, nargs="+", default=list(BATCHES))
    parser.add_argument("--classes", type=int, nargs="+", default=list(CLASSES))
    parser.add_argument("--memory", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.memory:
        n_classes, batch = options.classes[0], options.batches[0]
        for method, loss in methods(n_classes, batch).items():
            print(method, peak_megabytes(step(method, loss, *batch_of(n_classes, batch))), sep=",")
        return
    rows = []
    for n_classes in options.classes:
        for batch in options.batches:
            if n_classes * batch <= LARGEST:
                print(f"{n_classes} classes, batch {batch}", file=sys.stderr)
                rows += measure(n_classes, batch, options.seconds)
    write_page(options.out, "loss_speed.md", f"{written_by()} {options.threads} threads.\n\n{table(rows)}")
    if options.out:
        with (options.out / "loss_speed.csv").open("w", newline="") as file:
            table_writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
            table_writer.writeheader()
            table_writer.writerows(map(asdict, rows))
        plot(rows, options.out / "loss_speed.png")


if __name__ == "__main__":
    main()
