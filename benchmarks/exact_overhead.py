"""How much longer does a training step take with EXACT than with cross-entropy?

python -m benchmarks.exact_overhead [--batch 128] [--pairs 3] [--threads 1] [--out benchmarks/results]

The paper (section 6.3) has four cases, with 16 samples on a GPU: Wide ResNets, and linear models, where the overhead "can
achieve 200 %". It names no linear model; ours has the shape of its dry-bean, 16 features and 7 classes, and batches of 256.

Steps with the losses take turns, and all times are of the processor. A step of a network takes seconds and a loss takes
milliseconds, so the steps' own times cannot resolve a percent: their ratio is printed with its range. The overhead is computed
from the losses, forward and backward to the scores, which are timed inside each step: (median of EXACT - median of
cross-entropy) / median of a step with cross-entropy.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

import metricfit as mf
from benchmarks._script import new_parser, write_page, written_by
from reproductions._markdown import table
from reproductions.lab import networks

LINEAR_BATCH, LINEAR_PAIRS = 256, 200


@dataclass(frozen=True)
class Case:
    """A model, the shape of a row, the number of classes, and the paper's overhead in percent."""

    build: Callable[[], nn.Module]
    shape: tuple[int, ...]
    n_classes: int
    paper: str

    @property
    def is_linear(self) -> bool:
        return len(self.shape) == 1


def _wide(depth: int, width: float, n_classes: int, paper: str) -> Case:
    return Case(lambda: networks.WideResNet(depth, width, n_classes), (3, 32, 32), n_classes, paper)


CASES = {
    "linear": Case(lambda: networks.LinearFixedFirst(16, 7), (16,), 7, "up to 200"),
    "WRN-16-8": _wide(16, 8, 10, "3.7"),
    "WRN-28-10": _wide(28, 10, 10, "0.3"),
    "WRN-28-10, 100 classes": _wide(28, 10, 100, "5.5"),
}
PLAIN = "cross-entropy"
LOSSES: dict[str, Callable[[], nn.Module]] = {
    PLAIN: nn.CrossEntropyLoss,
    "quadrature": lambda: mf.ExactLoss(margin=5.0),
    "16 samples": lambda: mf.ExactLoss(margin=5.0, method="genz", samples=16),
}

Times = dict[str, list[tuple[float, float]]]  # by loss: seconds of each step, and of its loss


def time_steps(case: Case, batch: int, pairs: int) -> Times:
    """Steps of SGD on random rows, the losses in turn; the first of each is not counted."""
    torch.manual_seed(0)
    module, rows = case.build(), torch.randn(batch, *case.shape)
    if not case.is_linear:
        module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        rows = rows.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9)
    labels = torch.randint(0, case.n_classes, (batch,))
    losses = {name: build() for name, build in LOSSES.items()}
    times: Times = {name: [] for name in losses}
    for turn in range(pairs + 1):
        for name, loss in losses.items():
            start = time.process_time()
            optimizer.zero_grad()
            scores = module(rows)
            own = scores.detach().requires_grad_()
            begin = time.process_time()
            loss(own, labels).backward()
            end = time.process_time()
            scores.backward(own.grad)
            optimizer.step()
            if turn:
                times[name].append((time.process_time() - start, end - begin))
    return times


def as_rows(name: str, times: Times) -> list[list[str]]:
    """A row for each form of EXACT: medians in milliseconds, and the overhead in percent."""
    step, loss = ({one: [1e3 * pair[index] for pair in found] for one, found in times.items()} for index in (0, 1))
    plain_step, plain_loss = statistics.median(step[PLAIN]), statistics.median(loss[PLAIN])
    rows = []
    for form in list(LOSSES)[1:]:
        own = statistics.median(loss[form])
        overhead = 100 * (own - plain_loss) / plain_step
        ratios = [exact / plain for exact, plain in zip(step[form], step[PLAIN], strict=True)]
        rows.append(
            [
                name,
                str(CASES[name].n_classes),
                form,
                f"{plain_step:.2f}",
                f"{plain_loss:.2f}",
                f"{own:.2f}",
                f"{overhead:.0f}" if overhead >= 10 else f"{overhead:.2f}",
                f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})",
                CASES[name].paper,
            ]
        )
    return rows


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--batch", type=int, default=128, help="of the networks")
    parser.add_argument("--pairs", type=int, default=3, help="steps of the networks with each loss")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = []
    for name, case in CASES.items():
        batch, pairs = (LINEAR_BATCH, LINEAR_PAIRS) if case.is_linear else (options.batch, options.pairs)
        rows += as_rows(name, time_steps(case, batch, pairs))
        for row in rows[1 - len(LOSSES) :]:
            print(" | ".join(row), flush=True)
    heads = ["model", "classes", "EXACT by", "step, ms", "cross-entropy, ms", "EXACT, ms", "overhead, %", "ratio of steps"]
    text = f"{table([*heads, 'paper, %'], rows)}\n\nMedians of processor time. {written_by()}"
    write_page(options.out, "exact_overhead.md", text)


if __name__ == "__main__":
    main()
