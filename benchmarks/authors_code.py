"""How does EXACT compare with its authors' own code, in time and error?

    git clone https://github.com/tinkoff-ai/exact theirs
    python -m benchmarks.authors_code --theirs theirs [--threads 2] [--seconds 5] [--out benchmarks/results]

Their ``EXACTLoss`` (Karpukhin et al., Apache-2.0) is imported from that folder and is no part of this repository. One step is
the loss of a batch of 256 rows, forward and backward to the scores, float32, scale 1, margin 5, 16 samples in theirs. The two
take turns; a time is the median over turns, a ratio the median over pairs of turns. Times are by the clock on the wall, which
needs a quiet machine; a second ratio is of the processor's time of all threads, which other work does not lengthen. Errors
are against the quadrature in float64: the root mean square over rows of p, and of the gradient relative to the root mean
square of the gradient. A second table has their errors in the integral of the paper's appendix C, beside those of
``exact-integral``.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

import metricfit as mf
from benchmarks._script import new_parser, write_page, written_by
from reproductions._markdown import table
from reproductions.exact_2022._estimates import MEAN, Estimate, by_mpmath, drawing

CLASSES = (2, 10, 100)
SAMPLES, N_DRAWS = (1, 16, 256), 1000
METHODS = ("Genz", "plain Genz", "Monte-Carlo")
BATCH, MARGIN = 256, 5.0


class Times(NamedTuple):
    """Milliseconds by the clock on the wall, and of the processor in all threads."""

    wall: float
    processor: float

    @classmethod
    def now(cls) -> Times:
        return cls(1e3 * time.perf_counter(), 1e3 * time.process_time())

    def since(self, start: Times) -> Times:
        return Times(self.wall - start.wall, self.processor - start.processor)


Losses = dict[str, Callable[[Tensor, Tensor], Tensor]]


def import_theirs(folder: Path) -> Any:
    """Their package from a checkout."""
    if not (folder / "src" / "exact_pytorch").is_dir():
        raise SystemExit(f"--theirs should be a checkout of github tinkoff-ai/exact, got {folder}.")
    sys.path.insert(0, str(folder / "src"))
    return import_module("exact_pytorch")


def losses(theirs: Any, reduction: str) -> Losses:
    ours, other = mf.ExactLoss(margin=MARGIN, reduction=reduction), theirs.EXACTLoss(reduction=reduction, margin=MARGIN)
    return {"ours": ours, "theirs": lambda scores, labels: other(scores, labels, std=1.0)}


def time_steps(found: dict[str, Callable[[], None]], seconds: float) -> dict[str, list[Times]]:
    """The time of each step; the two take turns for so many seconds, five turns at least."""
    for run in found.values():
        run()
    times: dict[str, list[Times]] = {name: [] for name in found}
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(times["ours"]) < 5:
        for name, run in found.items():
            start = Times.now()
            run()
            times[name].append(Times.now().since(start))
    return times


def step(loss: Callable[[Tensor, Tensor], Tensor], scores: Tensor, labels: Tensor) -> Callable[[], None]:
    def run() -> None:
        scores.grad = None
        loss(scores, labels).backward()

    return run


def value_and_gradient(loss: Callable[[Tensor, Tensor], Tensor], scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """p of each row, and the gradient of the mean of a loss with one value per row."""
    scores = scores.detach().clone().requires_grad_()
    found = loss(scores, labels)
    return 1.0 - found.detach().double(), torch.autograd.grad(found.mean(), scores)[0].double()


def measure(theirs: Any, n_classes: int, seconds: float) -> list[str]:
    torch.manual_seed(0)
    found, by_row = losses(theirs, "mean"), losses(theirs, "none")
    scores, labels = torch.randn(BATCH, n_classes, requires_grad=True), torch.randint(0, n_classes, (BATCH,))
    times = time_steps({name: step(loss, scores, labels) for name, loss in found.items()}, seconds)
    exact_p, exact_gradient = value_and_gradient(by_row["ours"], scores.double(), labels)
    errors = []
    for loss in by_row.values():
        p, gradient = value_and_gradient(loss, scores, labels)
        errors += [_rms(p - exact_p), _rms(gradient - exact_gradient) / _rms(exact_gradient)]
    own_p, own_gradient, their_p, their_gradient = (f"{error:.1e}" for error in errors)
    return [
        str(n_classes),
        *(f"{statistics.median(step.wall for step in times[name]):.2f}" for name in found),
        *(_ratio([other[clock] / own[clock] for own, other in zip(*times.values(), strict=True)]) for clock in (0, 1)),
        *(own_p, their_p, own_gradient, their_gradient),
    ]


def appendix_c(theirs: Any) -> list[list[str]]:
    """Errors of the value and of the gradient over 1,000 draws, by number of samples."""
    exact, rows = by_mpmath(), []
    for samples in SAMPLES:
        mean = torch.tensor(MEAN, dtype=torch.float64).repeat(N_DRAWS, 1)
        drawn = [Estimate(*theirs.integral.integral(mean, n=samples)), *(drawing(name, samples)(N_DRAWS) for name in METHODS)]
        pairs = [(_rms(found.value - exact.value), _rms(found.gradient - exact.gradient)) for found in drawn]
        rows.append([str(samples), *(f"{error:.1e}" for place in (0, 1) for error in (pair[place] for pair in pairs))])
    return rows


def _ratio(ratios: list[float]) -> str:
    low, _, high = statistics.quantiles(ratios, n=4)
    return f"{statistics.median(ratios):.0f} ({low:.0f} to {high:.0f})"


def _rms(numbers: Tensor) -> float:
    return float(numbers.square().mean().sqrt())


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--theirs", type=Path, required=True, help="a checkout of github tinkoff-ai/exact")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    theirs, rows = import_theirs(options.theirs), []
    for n_classes in CLASSES:
        rows.append(measure(theirs, n_classes, options.seconds))
        print(" | ".join(rows[-1]), flush=True)
    heads = [
        *("classes", "ours, ms", "theirs, ms", "theirs / ours (quartiles)", "by the processor's time"),
        *("p, ours off by", "theirs off by", "gradient, ours off by", "theirs off by"),
    ]
    other_rows = appendix_c(theirs)
    names = ("theirs", *METHODS)
    other_heads = ["samples", *(f"value, {name}" for name in names), *(f"gradient, {name}" for name in names)]
    text = (
        f"{table(heads, rows)}\n\nBatch {BATCH}, forward and backward, medians. Theirs is github "
        f"tinkoff-ai/exact, of September 2022. {written_by()}\n\n"
        "The error of one orthant integral in ten dimensions (appendix C of the paper), root mean square over "
        f"{N_DRAWS:,} draws. *Genz*, *plain Genz* and *Monte-Carlo* are those of `exact-integral`.\n\n"
        f"{table(other_heads, other_rows)}"
    )
    write_page(options.out, "authors_code.md", text)


if __name__ == "__main__":
    main()
