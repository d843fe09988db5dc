"""How much slower is `assign`, for all classes, than `label_probability`, for one? Forward and backward, float32, batch 256.

python -m benchmarks.all_classes [--threads 2] [--seconds 3]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch

import metricfit as mf


def median_times(steps: dict[str, Callable[..., object]], seconds: float) -> dict[str, float]:
    """Median milliseconds of each step; the steps take turns."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for run in steps.values():
        run()
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for name, run in steps.items():
            start = time.perf_counter()
            run()
            times[name].append((time.perf_counter() - start) * 1e3)
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    noise = mf.smoothing.Normal()
    print("| classes | label, ms | all classes, ms | ratio |\n|---:|---:|---:|---:|")
    for k in (2, 10, 100, 1000, 10_000):
        scores, labels, incoming = torch.randn(256, k).requires_grad_(), torch.randint(k, (256,)), torch.randn(256, k)
        steps: dict[str, Callable[..., object]] = {
            "label": lambda s=scores, y=labels: torch.autograd.grad(noise.label_probability(s, y).sum(), s),
            "all": lambda s=scores, c=incoming: torch.autograd.grad(noise.assign(s), s, c),
        }
        times = median_times(steps, options.seconds)
        print(f"| {k} | {times['label']:.3g} | {times['all']:.3g} | {times['all'] / times['label']:.2f} |")


if __name__ == "__main__":
    main()
