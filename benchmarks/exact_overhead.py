"""How much longer does a step of a Wide ResNet take with EXACT than with cross-entropy? The paper: 3.7 % and 5.5 %, on a GPU.

python -m benchmarks.exact_overhead [--batch 128] [--pairs 3] [--threads 2] [--out benchmarks/results]

Steps with the two losses take turns. A step takes seconds and a loss milliseconds, so the steps' own times cannot resolve a
percent: they are printed with their range. The overhead is computed from the losses, forward and backward to the scores,
which are timed inside each step: (median of EXACT - median of cross-entropy) / median of a step with cross-entropy.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

import metricfit as mf
from metricfit._files import new_file
from reproductions._machine import hardware
from reproductions._markdown import table

NETWORKS = {"WRN-16-8": (16, 8, 10, "3.7"), "WRN-28-10": (28, 10, 100, "5.5")}  # depth, width, classes, the paper's percent
LOSSES: dict[str, Callable[[], nn.Module]] = {"cross-entropy": nn.CrossEntropyLoss, "EXACT": lambda: mf.ExactLoss(margin=5.0)}

Times = dict[str, list[tuple[float, float]]]  # by loss: seconds of each step, and of its loss


def time_steps(network: str, batch: int, pairs: int) -> Times:
    """Steps of SGD on random pictures, the losses in turn; the first of each is not counted."""
    depth, width, n_classes, _ = NETWORKS[network]
    torch.manual_seed(0)
    module = mf.models.WideResNet(depth, width, n_classes).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(batch, 3, 32, 32).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, n_classes, (batch,))
    times: Times = {name: [] for name in LOSSES}
    for turn in range(pairs + 1):
        for name, build in LOSSES.items():
            loss, start = build(), time.perf_counter()
            optimizer.zero_grad()
            scores = module(images)
            own = scores.detach().requires_grad_()
            begin = time.perf_counter()
            loss(own, labels).backward()
            end = time.perf_counter()
            scores.backward(own.grad)
            optimizer.step()
            if turn:
                times[name].append((time.perf_counter() - start, end - begin))
    return times


def as_row(network: str, times: Times) -> list[str]:
    """Medians in milliseconds, and the overhead in percent."""
    step, loss = ({name: [1e3 * one[place] for one in found] for name, found in times.items()} for place in (0, 1))
    extra = statistics.median(loss["EXACT"]) - statistics.median(loss["cross-entropy"])
    ratios = [exact / plain for exact, plain in zip(step["EXACT"], step["cross-entropy"], strict=True)]
    return [
        network,
        str(NETWORKS[network][2]),
        f"{statistics.median(step['cross-entropy']):.0f}",
        f"{statistics.median(loss['cross-entropy']):.2f}",
        f"{statistics.median(loss['EXACT']):.2f}",
        f"{100 * extra / statistics.median(step['cross-entropy']):.3f}",
        f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})",
        NETWORKS[network][3],
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = []
    for network in NETWORKS:
        rows.append(as_row(network, time_steps(network, options.batch, options.pairs)))
        print(" | ".join(rows[-1]), flush=True)
    heads = ["network", "classes", "step, ms", "cross-entropy, ms", "EXACT, ms", "overhead, %", "ratio of steps", "paper, %"]
    if options.out is not None:
        command = (
            f"python -m benchmarks.exact_overhead --batch {options.batch} --pairs {options.pairs} "
            f"--threads {options.threads} --out {options.out}"
        )
        text = f"{table(heads, rows)}\n\nMedians. Written by `{command}` on {hardware()}.\n"
        with new_file(options.out / "exact_overhead.md", overwrite=True) as file:
            file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
