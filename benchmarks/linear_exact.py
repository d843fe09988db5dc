"""How long does the EXACT paper's protocol take? A linear model on `car`: 8000 steps, batch 256, scale 10 to 0.01.

    python -m benchmarks.linear_exact [--steps 8000] [--threads 1]

The data is read from METRICFIT_DATA (default ../shared/data). See arXiv 2205.09615, sections 5.1 to 5.4 and Table 8, and
``reproductions/exact_2022/_protocol.py``.
"""

from __future__ import annotations

import argparse
import time
from functools import partial

import torch

from reproductions._tables import data_folder
from reproductions._training import accuracy
from reproductions.exact_2022._protocol import fit_exact, load_data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    data = load_data("car", data_folder())
    fit = partial(fit_exact, data, rate=0.05, margin=0.05, seed=0)
    fit(steps=1)  # compile the kernels before the timing
    start = time.perf_counter()
    trainer = fit(steps=options.steps)
    seconds = time.perf_counter() - start
    train, test = (accuracy(trainer, rows) for rows in (data.train, data.test))
    print(f"{options.steps} steps in {seconds:.1f} s; accuracy {train:.2f} % train, {test:.2f} % test")


if __name__ == "__main__":
    main()
