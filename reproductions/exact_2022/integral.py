"""Figures 7, 8 and 9: how far off the estimates of EXACT's integral are, and what they cost.

Appendix C estimates one orthant integral by Genz's algorithm and by Monte-Carlo, 1000 times each, and reports the
root-mean-square error (RMSE) of the value and of the gradient. Beside the two stand the quadrature that metricfit trains with,
and a plainer form of Genz's algorithm, which may be what the paper measured. The paper shows curves only: what can be compared
is its text.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch

import metricfit as mf
from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions._figure import empty_figure
from reproductions._markdown import table
from reproductions._results import matching
from reproductions.exact_2022 import _cost as cost
from reproductions.exact_2022._estimates import Draw, Estimate, by_mpmath, by_smoothing, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RANDOM = ("Genz", "plain Genz", "Monte-Carlo")
EXACT = {"quadrature, float64": torch.float64, "quadrature, float32": torch.float32}
COSTS = ("cross-entropy", "quadrature", "Genz")
SIZES = tuple(2**index for index in range(11))
CLASSES, SAMPLES = (2, 4, 8, 16, 32, 64, 128), (1, 2, 4, 8, 16, 32, 64)
USUAL_SAMPLES, USUAL_CLASSES = 16, 32  # Section 6.3
REPEATS, QUICK_REPEATS = 1000, 100
ROUNDS = 11
CHUNK = 2**16  # rows x samples in flight at once
HITS = 10  # fewer in all its draws, and Monte-Carlo's error is luck


def cells(scope: Scope) -> list[Cell]:
    sizes = SIZES[::5] if scope.quick else SIZES
    errors = [("error", method, 11, samples) for method in RANDOM for samples in sizes]
    errors += [("error", method, 11, 0) for method in EXACT if not scope.quick]
    costs = [(n_classes, USUAL_SAMPLES) for n_classes in CLASSES] + [
        (USUAL_CLASSES, samples) for samples in SAMPLES if samples != USUAL_SAMPLES
    ]
    costs = [(2, USUAL_SAMPLES), (8, USUAL_SAMPLES)] if scope.quick else costs
    rows = errors + [("cost", "all", n_classes, samples) for n_classes, samples in costs]
    return [dict(zip(("what", "method", "classes", "samples"), row, strict=True)) for row in rows]


def run(cell: Cell, scope: Scope) -> Numbers:
    method, n_classes, samples = str(cell["method"]), int(cell["classes"]), int(cell["samples"])
    if cell["what"] == "cost":
        return cost.measure(n_classes, samples, 3 if scope.quick else ROUNDS)
    if method in EXACT:
        return _errors(by_smoothing(mf.smoothing.Normal(), dtype=EXACT[method]), by_mpmath())
    repeats = QUICK_REPEATS if scope.quick else REPEATS
    found = _errors(_all(drawing(method, samples), samples, repeats), by_smoothing(mf.smoothing.Normal()))
    return found | {"repeats": repeats}


def _all(draw: Draw, samples: int, repeats: int) -> Estimate:
    """In chunks, to keep memory small."""
    parts = [draw(len(chunk)) for chunk in torch.arange(repeats).split(max(1, CHUNK // samples))]
    return Estimate(*map(torch.cat, zip(*parts, strict=True)))


def _errors(estimates: Estimate, truth: Estimate) -> Numbers:
    """RMSE; the gradient's is per component: its norm is off by sqrt(10) times as much."""
    value, gradient = ((guess - exact).square().mean().sqrt().item() for guess, exact in zip(estimates, truth, strict=True))
    return {"value": value, "gradient": gradient}


def summary(found: Results) -> str:
    return "\n\n".join([_error_table(found), _error_claims(found), _cost_table(found), _exponents(found)]) + "\n"


def _of(found: Results, what: str, method: str) -> dict[int, Numbers]:
    return {int(cell["samples"]): numbers for cell, numbers in matching(found, what=what, method=method)}


def _trusted_nodes(found: Results) -> int:
    """The least sample size at which Monte-Carlo's error is known."""
    truth = by_smoothing(mf.smoothing.Normal()).value.item()
    sizes = _of(found, "error", "Monte-Carlo")
    return min(max(sizes), math.ceil(HITS / (next(iter(sizes.values()))["repeats"] * truth)))


def _error_table(found: Results) -> str:
    errors, trusted = {method: _of(found, "error", method) for method in RANDOM}, _trusted_nodes(found)
    rows = [
        [
            f"{samples}{'' if samples >= trusted else ' *'}",
            *(f"{errors[method][samples][what]:.2e}" for what in ("value", "gradient") for method in RANDOM),
        ]
        for samples in errors["Genz"]
    ]
    heads = ["samples", *(f"{what}: {method}" for what in ("value", "gradient") for method in RANDOM)]
    exact = [
        f"{method}: {numbers['value']:.1e} and {numbers['gradient']:.1e}"
        for method in EXACT
        for numbers in _of(found, "error", method).values()
    ]
    by_digits = f"\n\nWithout any randomness, against twenty digits by mpmath, {'; '.join(exact)}." if exact else ""
    return (
        f"## Figures 8 and 9: RMSE of the value and, per component, of the gradient\n\n{table(heads, rows)}\n\n"
        f"\\* Monte-Carlo expects fewer than {HITS} hits in all its draws; its error is luck and enters no claim below."
        f"{by_digits}"
    )


def _error_claims(found: Results) -> str:
    """The two sentences of Appendix C, and whether they hold here, for either form of Genz's algorithm."""
    monte_carlo, trusted = _of(found, "error", "Monte-Carlo"), _trusted_nodes(found)
    largest = max(monte_carlo)
    lines = []
    for method in RANDOM[:2]:
        errors = _of(found, "error", method)
        for what in ("value", "gradient"):
            ratios = [monte_carlo[size][what] / errors[size][what] for size in errors if size >= trusted]
            lines.append(
                f"{method}, an error an order of magnitude below Monte-Carlo's, {what}: {_holds(min(ratios) >= 10.0)}. "
                f"Monte-Carlo's is {min(ratios):,.1f} to {max(ratios):,.1f} times as large."
            )
        # the error of a mean of N draws falls as 1 / sqrt(N); the largest size knows it best
        size = largest * (monte_carlo[largest]["gradient"] / errors[1]["gradient"]) ** 2
        lines.append(
            f"{method}, Monte-Carlo needs 256 samples for the gradient error that EXACT has with one: "
            f"{_holds(128 < size <= 256)}. It takes about {float(f'{size:.2g}'):,.0f}."
        )
    return "## What Appendix C says\n\n" + "\n".join(f"- {line}" for line in lines)


def _holds(claim: bool) -> str:
    return "holds" if claim else "does not hold"


def _costs(found: Results, by: str) -> Results:
    """Those in which the number of classes, or that of samples, varies."""
    other, usual = ("samples", USUAL_SAMPLES) if by == "classes" else ("classes", USUAL_CLASSES)
    return sorted(matching(found, what="cost", **{other: usual}), key=lambda one: one[0][by])


def _cost_table(found: Results) -> str:
    tables = []
    for by in ("classes", "samples"):
        heads = [by, *(f"{method}, {unit}" for unit in ("ms", "MB") for method in COSTS), "quadrature : Genz"]
        rows = [
            [
                str(cell[by]),
                *(f"{numbers[f'{method} {unit}']:.2g}" for unit in ("ms", "MB") for method in COSTS),
                f"1 : {numbers['Genz ms'] / numbers['quadrature ms']:.0f}",
            ]
            for cell, numbers in _costs(found, by)
        ]
        if rows:
            tables.append(table(heads, rows))
    head = f"## Figure 7: per element of a batch of {cost.BATCH}, forward and backward, one thread"
    return "\n\n".join([head, *tables])


def _exponents(found: Results) -> str:
    """Slopes on doubly logarithmic axes over the larger half of the classes."""
    rows = _costs(found, "classes")
    rows = rows[len(rows) // 2 :]
    if len(rows) < 2:
        return "Too few numbers of classes for a law."
    x = np.log([int(cell["classes"]) for cell, _ in rows])
    slopes = {
        (method, unit): np.polyfit(x, np.log([numbers[f"{method} {unit}"] for _, numbers in rows]), 1)[0]
        for method in ("Genz", "quadrature")
        for unit in ("ms", "MB")
    }
    return (
        f"From {rows[0][0]['classes']} to {rows[-1][0]['classes']} classes C, Genz's time grows as C to the "
        f"{slopes['Genz', 'ms']:.1f} and its memory as C to the {slopes['Genz', 'MB']:.1f} (the paper: 2 and 2), the "
        f"quadrature's as {slopes['quadrature', 'ms']:.1f} and {slopes['quadrature', 'MB']:.1f}."
    )


def figure(found: Results) -> Figure:
    drawing = empty_figure(11.0, 3.4)
    panels = drawing.subplots(1, 4)
    for axes, what in zip(panels[:2], ("value", "gradient"), strict=True):
        for method in RANDOM:
            errors = _of(found, "error", method)
            axes.plot(list(errors), [numbers[what] for numbers in errors.values()], "o-", markersize=3, label=method)
        _logarithmic(axes, f"RMSE of the {what}", "sample size")
    rows = _costs(found, "classes")
    for axes, unit in zip(panels[2:], ("ms", "MB"), strict=True):
        for method in COSTS:
            values = [numbers[f"{method} {unit}"] for _, numbers in rows]
            axes.plot([int(cell["classes"]) for cell, _ in rows], values, "o-", markersize=3, label=method)
        _logarithmic(axes, f"{unit} per element", "classes")
    return drawing


def _logarithmic(axes: Axes, title: str, label: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(label)
    axes.legend(frameon=False, fontsize=7)


EXPERIMENT = Experiment(
    name="exact-integral",
    title="EXACT, Figures 7 to 9 (arXiv 2205.09615): error and cost of the integral",
    datasets=(),
    cells=cells,
    run=run,
    summary=summary,
    figure=figure,
    seeds=1,
)
