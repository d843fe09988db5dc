"""How much slower is `assign`, for all classes, than `label_probability`, for one? Forward and backward, float32, batch 256.

python -m benchmarks.all_classes [--threads 2] [--seconds 3]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable

import torch

import metricfit as mf
from benchmarks._script import take_turns


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
        label, every = (1e3 * statistics.median(times) for times in take_turns(steps, options.seconds).values())
        print(f"| {k} | {label:.3g} | {every:.3g} | {every / label:.2f} |")


if __name__ == "__main__":
    main()
