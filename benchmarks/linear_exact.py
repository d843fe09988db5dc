"""How long does the EXACT paper's protocol take? A linear model on `car`: 8000 steps, batch 256, scale 10 to 0.01.

    python -m benchmarks.linear_exact [--steps 8000] [--threads 1]

The data is read from METRICFIT_DATA (default ../shared/data); see arXiv 2205.09615, sections 5.1 to 5.4 and Table 8: one-hot
features, normalised; the first class's score fixed to zero; SGD with momentum 0.9 and a learning rate of 0.05 that decays
exponentially to 1e-4; margin 0.05; gradient normaliser.
"""

from __future__ import annotations

import argparse
import time

import torch

import metricfit as mf
from reproductions._tables import data_folder
from reproductions.exact_2022._protocol import load_data
from reproductions.lab.networks import LinearFixedFirst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    data = load_data("car", data_folder())
    x, y = data.train
    module = LinearFixedFirst(x.shape[1], data.n_classes)
    loss, normalizer = mf.ExactLoss(margin=0.05), mf.GradientNormalizer()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9, fused=True)
    scale, rate = mf.schedules.geometric(10, 0.01, options.steps), mf.schedules.geometric(0.05, 1e-4, options.steps)
    loss(module(x[:256]), y[:256])  # compile the kernels before the timing

    start = time.perf_counter()
    for step in range(options.steps):
        rows = torch.randint(len(x), (256,))
        optimizer.zero_grad()
        loss(module(x[rows]), y[rows], scale=scale(step)).backward()
        normalizer(module)
        optimizer.param_groups[0]["lr"] = rate(step)
        optimizer.step()
    seconds = time.perf_counter() - start
    accuracy = [(module(features).argmax(1) == labels).float().mean().item() for features, labels in (data.train, data.test)]
    print(
        f"{options.steps} steps in {seconds:.1f} s; accuracy {100 * accuracy[0]:.2f} % train, {100 * accuracy[1]:.2f} % test"
    )


if __name__ == "__main__":
    main()
