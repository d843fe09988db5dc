"""How long does the EXACT paper's protocol take? A linear model on `car`: 8000 steps, batch 256, scale 10 to 0.01.

    python benchmarks/linear_exact.py [--steps 8000] [--threads 1]

The data is read from METRICFIT_DATA (default ../shared/data); see arXiv 2205.09615, sections 5.1 to 5.4 and Table 8: one-hot
features, normalised; the first class's score fixed to zero; SGD with momentum 0.9 and a learning rate of 0.05 that decays
exponentially to 1e-4; margin 0.05; gradient normaliser.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from pathlib import Path

import torch

import metricfit as mf


def car() -> tuple[torch.Tensor, torch.Tensor]:
    folder = Path(os.environ.get("METRICFIT_DATA", Path(__file__).parents[2] / "shared" / "data"))
    file = folder / "car" / "car.data"
    if not file.exists():
        raise SystemExit(f"{file} is not there: set METRICFIT_DATA to the folder with car/car.data (UCI Car Evaluation).")
    rows = list(csv.reader(file.read_text().split()))
    columns = list(zip(*rows, strict=True))
    features = [[float(value == level) for value in column] for column in columns[:-1] for level in sorted(set(column))]
    classes = sorted(set(columns[-1]))
    x = torch.tensor(features).T
    return (x - x.mean(0)) / x.std(0), torch.tensor([classes.index(label) for label in columns[-1]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    x, y = car()
    shuffled = torch.randperm(len(x))
    train, test = shuffled[: int(0.8 * len(x))], shuffled[int(0.8 * len(x)) :]
    weight = torch.zeros(x.shape[1], 3, requires_grad=True)
    bias = torch.zeros(3, requires_grad=True)

    def scores(rows: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(torch.addmm(bias, x[rows], weight), (1, 0))

    loss, normalizer = mf.ExactLoss(margin=0.05), mf.GradientNormalizer()
    optimizer = torch.optim.SGD([weight, bias], lr=0.05, momentum=0.9, fused=True)
    scale, rate = mf.schedules.geometric(10, 0.01, options.steps), mf.schedules.geometric(0.05, 1e-4, options.steps)
    loss(scores(train[:256]), y[train[:256]])  # whatever is to be compiled

    start = time.perf_counter()
    for step in range(options.steps):
        rows = train[torch.randint(len(train), (256,))]
        optimizer.zero_grad()
        loss(scores(rows), y[rows], scale=scale(step)).backward()
        normalizer([weight, bias])
        optimizer.param_groups[0]["lr"] = rate(step)
        optimizer.step()
    seconds = time.perf_counter() - start
    accuracy = [(scores(rows).argmax(1) == y[rows]).float().mean().item() for rows in (train, test)]
    print(
        f"{options.steps} steps in {seconds:.1f} s; accuracy {100 * accuracy[0]:.2f} % train, {100 * accuracy[1]:.2f} % test"
    )


if __name__ == "__main__":
    main()
