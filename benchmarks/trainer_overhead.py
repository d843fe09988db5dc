"""How much slower is the trainer than a bare loop? The EXACT paper's linear model on `car`; the two take turns.

python -m benchmarks.trainer_overhead [--steps 2000] [--repeats 7]
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch
from lightning_fabric import Fabric

import metricfit as mf
from metricfit.training import Batches, Trainer
from reproductions._tables import data_folder
from reproductions.exact_2022._protocol import load_data
from reproductions.lab.networks import LinearFixedFirst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    x, y = load_data("car", data_folder()).train
    scale, rate = mf.schedules.geometric(10, 0.01, options.steps), mf.schedules.geometric(0.05, 1e-4, options.steps)

    def new_parts() -> tuple[torch.nn.Module, mf.ExactLoss, mf.GradientNormalizer, torch.optim.Optimizer]:
        torch.manual_seed(0)
        module = LinearFixedFirst(x.shape[1], 4)
        return module, mf.ExactLoss(margin=0.05), mf.GradientNormalizer(), torch.optim.SGD(module.parameters(), 0.05, 0.9)

    def time_bare_loop() -> float:
        module, loss, normalizer, optimizer = new_parts()
        start = time.perf_counter()
        for step, (features, labels) in enumerate(Batches(x, y, size=256, steps=options.steps)):
            optimizer.param_groups[0]["lr"] = rate(step)
            optimizer.zero_grad()
            loss(module(features), labels, scale=scale(step)).backward()
            normalizer(module)
            optimizer.step()
        return time.perf_counter() - start

    def time_trainer() -> float:
        module, loss, normalizer, optimizer = new_parts()
        fabric = Fabric(accelerator="cpu", devices=1)
        trainer = Trainer(module, loss, optimizer, lr=rate, scale=scale, normalizer=normalizer, fabric=fabric)
        start = time.perf_counter()
        trainer.fit(Batches(x, y, size=256, steps=options.steps), (x, y), epochs=1)
        return time.perf_counter() - start

    time_bare_loop(), time_trainer()  # compile the kernels before the timing
    times = [(time_bare_loop(), time_trainer()) for _ in range(options.repeats)]
    ratios = [trainer / alone for alone, trainer in times]
    print(f"bare {1e3 * statistics.median(alone for alone, _ in times) / options.steps:.3f} ms a step")
    print(f"trainer {statistics.median(ratios):.3f} times that (from {min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
