"""How far off are the estimates of EXACT's integral? Appendix C of arXiv 2205.09615, figures 8 and 9.

    python reproductions/exact_2022/integral_error.py [--repeats 1000] [--out errors.csv] [--plot errors.png]

The paper estimates one orthant integral, mean m below and covariance I + 11^T, by Genz's algorithm and by Monte-Carlo, 1000
times each, and reports the root-mean-square error (RMSE) of the value and of the gradient with respect to m. As scores it is
11 classes: 0 for the label, -m for the others, scale 1. Beside the two stand the quadrature that metricfit trains with, and
a plainer form of Genz's algorithm, which may be what the paper measured.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

import metricfit as mf

MEAN = (1.0, 2.0, 0.5, 10.0, 6.0, -3.0, -4.0, 5.0, 1.0, 0.0)
SIZES = [2**i for i in range(11)]
METHODS = {"genz": "Genz", "plain_genz": "plain Genz", "monte_carlo": "Monte-Carlo"}
CHUNK = 2**16  # rows x samples in flight at once


class Estimate(NamedTuple):
    """Of the integral (n,) and of its gradient with respect to m (n, 10)."""

    value: Tensor
    gradient: Tensor


class Errors(NamedTuple):
    """RMSE of a method. The gradient's is per component: its norm is off by sqrt(10) times as much."""

    method: str
    samples: int
    value: float
    gradient: float


Results = dict[str, list[Errors]]  # by method, one entry per sample size


def estimate(smoothing: mf.smoothing.Normal, n_rows: int = 1, dtype: torch.dtype = torch.float64) -> Estimate:
    """One estimate per row; with a random method each row draws its own noise."""
    mean = torch.tensor(MEAN, dtype=dtype).repeat(n_rows, 1).requires_grad_()
    scores = torch.cat([mean.new_zeros(n_rows, 1), -mean], 1)
    value = smoothing.label_probability(scores, torch.zeros(n_rows, dtype=torch.long))
    (gradient,) = torch.autograd.grad(value.sum(), mean)
    return Estimate(value.detach(), gradient)


def mpmath_truth() -> Estimate:
    """Thirty digits, independent of metricfit: given the label's noise z, the comparisons are independent."""
    import mpmath as mp

    mp.mp.dps = 30

    def integral(by: int | None = None) -> float:
        """Of phi(z) prod_i Phi(z + m_i), or of its derivative by one m_i."""
        factors = [mp.npdf if i == by else mp.ncdf for i in range(len(MEAN))]
        pieces = mp.linspace(-10, 15, 11)
        return float(mp.quad(lambda z: mp.npdf(z) * mp.fprod(f(z + m) for f, m in zip(factors, MEAN, strict=True)), pieces))

    value, gradient = integral(), [integral(i) for i in range(len(MEAN))]
    return Estimate(torch.tensor([value], dtype=torch.float64), torch.tensor([gradient], dtype=torch.float64))


def errors(method: str, samples: int, estimates: Estimate, truth: Estimate) -> Errors:
    value, gradient = ((guess - exact).square().mean().sqrt().item() for guess, exact in zip(estimates, truth, strict=True))
    return Errors(method, samples, value, gradient)


def plain_genz(n_rows: int, samples: int, generator: torch.Generator) -> Estimate:
    """Genz's algorithm without two refinements of ours: variables in the order given, one sample for value and gradient.

    The derivative by m_i is the same integral with variable i held at zero and its density in place of its probability
    (Theorem 4.3). Here the variables before i are drawn before that is known. The last of the 11 columns is the value.
    """
    factor = torch.linalg.cholesky(torch.eye(len(MEAN), dtype=torch.float64) + 1.0)
    weight = torch.ones(n_rows, samples, len(MEAN) + 1, dtype=torch.float64)
    shift = torch.zeros_like(weight)
    for i, m in enumerate(MEAN):
        room = (m + shift) / factor[i, i]
        uniform = torch.rand(n_rows, samples, 1, generator=generator, dtype=torch.float64)
        mass = torch.special.ndtr(room)
        noise = -torch.special.ndtri((mass * (1.0 - uniform)).clamp(min=1e-300))
        noise[..., i] = -room[..., i]
        mass[..., i] = torch.exp(-0.5 * room[..., i].square()) / (math.sqrt(2.0 * math.pi) * factor[i, i])
        weight *= mass
        shift += factor[-1, i] * noise
    means = weight.mean(1)
    return Estimate(means[:, -1], means[:, :-1])


def estimator(method: str, samples: int) -> Callable[[int], Estimate]:
    """A random method as a function of how many estimates to make, with a generator of its own."""
    generator = torch.Generator().manual_seed(samples)
    if method == "plain_genz":
        return lambda n_rows: plain_genz(n_rows, samples, generator)
    smoothing = mf.smoothing.Normal(method=method, samples=samples, generator=generator)
    return lambda n_rows: estimate(smoothing, n_rows)


def measure(method: str, samples: int, repeats: int, truth: Estimate) -> Errors:
    """The errors of a random method; its rows go through in chunks to keep memory small."""
    draw = estimator(method, samples)
    parts = [draw(len(chunk)) for chunk in torch.arange(repeats).split(max(1, CHUNK // samples))]
    return errors(method, samples, Estimate(*map(torch.cat, zip(*parts, strict=True))), truth)


def table(results: Results, trusted: int) -> str:
    """Figures 8 and 9 as one table; a star where Monte-Carlo met too few hits for its error to be known."""
    names = list(METHODS.values())
    lines = [
        "| samples | " + " | ".join([f"value: {name}" for name in names] + [f"gradient: {name}" for name in names]) + " |",
        "|---:|" + "---:|" * (2 * len(names)),
    ]
    for row in zip(*results.values(), strict=True):
        samples = row[0].samples
        cells = [f"{cell:.2e}" for cell in [e.value for e in row] + [e.gradient for e in row]]
        lines.append(f"| {samples}{'' if samples >= trusted else ' *'} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def claims(results: Results, trusted: int) -> str:
    """The two sentences of appendix C, and whether they hold here, for either form of Genz's algorithm."""
    lines = []
    monte_carlo = results["monte_carlo"]
    for method in ("genz", "plain_genz"):
        for what in ("value", "gradient"):
            pairs = zip(results[method], monte_carlo, strict=True)
            ratios = [getattr(m, what) / getattr(g, what) for g, m in pairs if m.samples >= trusted]
            lines.append(
                f'{METHODS[method]}, "an order of magnitude smaller error", {what}: {holds(min(ratios) >= 10.0)}. '
                f"Monte-Carlo's is {min(ratios):,.1f} to {max(ratios):,.1f} times as large."
            )
        # the error of a mean of N draws falls as 1 / sqrt(N); the largest size knows it best
        size = monte_carlo[-1].samples * (monte_carlo[-1].gradient / results[method][0].gradient) ** 2
        lines.append(
            f'{METHODS[method]}, "Monte-Carlo requires a sample size 256 to achieve the gradient error of EXACT with sample '
            f'size 1": {holds(128 < size <= 256)}. It takes about {float(f"{size:.2g}"):,.0f}.'
        )
    return "\n".join(f"- {line}" for line in lines)


def holds(claim: bool) -> str:
    return "holds" if claim else "DOES NOT HOLD"


def plot(results: Results, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.5), dpi=120, layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, what in zip(panels, ("value", "gradient"), strict=True):
        for method, rows in results.items():
            axes.plot(SIZES, [getattr(row, what) for row in rows], "o-", label=METHODS[method])
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set(title=f"RMSE of the {what}", xlabel="sample size")
        axes.grid(alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(results), frameon=False)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--repeats", type=int, default=1000, help="estimates per method and sample size (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, metavar="CSV", help="write every error to this file")
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw figures 8 and 9")
    options = parser.parse_args()

    truth, reference = estimate(mf.smoothing.Normal()), mpmath_truth()
    quadrature = [
        errors("quadrature, float64", 64, truth, reference),
        errors("quadrature, float32", 24, estimate(mf.smoothing.Normal(), dtype=torch.float32), reference),
    ]
    results = {method: [measure(method, samples, options.repeats, truth) for samples in SIZES] for method in METHODS}
    trusted = min(SIZES[-1], math.ceil(10 / (options.repeats * truth.value.item())))

    print(f"Integral {truth.value.item():.10e}, norm of its gradient {truth.gradient.norm().item():.10e}\n")
    print(f"RMSE over {options.repeats} seeds, the gradient's per component:\n")
    print(table(results, trusted))
    print("\n* Monte-Carlo expects fewer than ten hits in all its draws; its error there is luck and enters no claim below.\n")
    for row in quadrature:
        print(f"{row.method}, {row.samples} nodes, against mpmath: value {row.value:.1e}, gradient {row.gradient:.1e}")
    print(f"\nThe paper's claims:\n\n{claims(results, trusted)}")
    if options.out:
        with options.out.open("w", newline="") as file:
            csv.writer(file).writerows([Errors._fields, *quadrature, *chain.from_iterable(results.values())])
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
