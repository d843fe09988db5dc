"""What does EXACT cost beside cross-entropy? Time, memory and error of one training step's loss, forward and backward.

    python benchmarks/loss_speed.py [--quick] [--threads 2] [--out benchmarks/results]

Cross-entropy, EXACT by the fused kernel, by the portable form and by the paper's algorithm (Genz, 16 samples), for 2 to 10,000
classes and batches of 64 to 4096, float32. The methods take turns within every round of one run, so that a noisy machine
is noisy for all of them; a time is the median over rounds. Memory is the growth of the process's peak during a step. Errors
are of p and of the gradient of log p, against the portable form in float64; the gradient's is relative to its largest entry.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import torch
from torch import Tensor, nn

import metricfit as mf
from metricfit.numerics import fused

CLASSES = (2, 10, 30, 100, 300, 1000, 3000, 10_000)
BATCHES = (64, 256, 1024, 4096)
GENZ_LIMIT = 256 * 100**2  # batch x classes**2 beyond which the paper's algorithm takes too long to wait for
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
    losses = {"cross-entropy": nn.CrossEntropyLoss(), "fused": mf.ExactLoss(), "portable": mf.ExactLoss()}
    if batch * n_classes**2 <= GENZ_LIMIT:
        losses["genz"] = mf.ExactLoss(method="genz")
    return losses


def step(method: str, loss: nn.Module, scores: Tensor, labels: Tensor) -> Callable[[], None]:
    def run() -> None:
        scores.grad = None
        loss(scores, labels).backward()

    return fused.turned_off()(run) if method == "portable" else run


def milliseconds(steps: dict[str, Callable[[], None]], seconds: float) -> dict[str, float]:
    """Median time of each, all taking turns; a turn repeats what is quick until it is worth a look at the clock."""
    repeats = {}
    for method, run in steps.items():
        run()
        start = time.perf_counter()
        run()
        repeats[method] = max(1, math.ceil(2e-3 / (time.perf_counter() - start)))
    times: dict[str, list[float]] = {method: [] for method in steps}
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(times["cross-entropy"]) < 5:
        for method, run in steps.items():
            start = time.perf_counter()
            for _ in range(repeats[method]):
                run()
            times[method].append((time.perf_counter() - start) / repeats[method] * 1e3)
    return {method: statistics.median(each) for method, each in times.items()}


def peak_megabytes(run: Callable[[], None]) -> float:
    """How far the process's peak of resident memory rises above where it stood, during one step."""
    run()
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    run()
    return max(0.0, _status("VmHWM") - before) / 1024


def _status(field: str) -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return float(line.split()[1])


def errors(method: str, scores: Tensor, labels: Tensor) -> tuple[float, float]:
    if method == "cross-entropy":
        return math.nan, math.nan
    smoothing = mf.smoothing.Normal(method="genz" if method == "genz" else "quadrature")
    kept = slice(0, min(len(scores), max(8, 2_000_000 // scores.shape[1])))
    with fused.turned_off() if method == "portable" else contextlib.nullcontext():
        log_p, gradient = _log_p(smoothing, scores[kept], labels[kept])
    exact_log_p, exact_gradient = _log_p(mf.smoothing.Normal(), scores[kept].double(), labels[kept])
    p_error = (log_p.double().exp() - exact_log_p.exp()).abs().max().item()
    return p_error, ((gradient - exact_gradient).abs().max() / exact_gradient.abs().max()).item()
