"""What the runs with wrong labels say together: accuracies, and gains over cross-entropy with tests over sets."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from metricfit.comparison._statistics import Estimate, holm
from reproductions._experiment import Results
from reproductions._markdown import table, with_interval
from reproductions._results import distinct_values, values
from reproductions.beyond._noise_gains import Gain, Scores, by_method, choose, gain
from reproductions.beyond._noise_methods import (
    CROSS_ENTROPY,
    EXACT,
    GENERALISED,
    LEAKY,
    MIXUP,
    NORMALISED,
    SMOOTHING,
    SYMMETRIC,
)
from reproductions.beyond._noise_sets import ADDED, NOISES

WRONG = tuple(name for name, noise in NOISES.items() if noise.rate > 0.0)
BETTER = "the better of leaky and EXACT"
CHOICES = {BETTER: (LEAKY, EXACT), "the best of these and cross-entropy": (CROSS_ENTROPY, LEAKY, EXACT)}
EARLIER_SYMMETRIC = (  # noises, and points over cross-entropy, over four sets
    ("symmetric 20 %", "symmetric 40 %"),
    {SMOOTHING: 0.2, GENERALISED: -0.4, MIXUP: -1.5, LEAKY: 1.0, EXACT: 1.5, BETTER: 1.5},
)
EARLIER_PAIR = ("pair 20 %", "pair 40 %"), {LEAKY: 5.9, EXACT: 12.6}  # over one set
PAIRS = ((EXACT, LEAKY), (EXACT, NORMALISED), (LEAKY, SYMMETRIC), (LEAKY, GENERALISED))


def summary(found: Results) -> str:
    scores = by_method(found)
    base, others = scores[CROSS_ENTROPY], [name for name in scores if name != CROSS_ENTROPY]
    gains = {name: gain(scores[name], base, WRONG) for name in others}
    chosen = {name: gain(choose(scores, among), base, WRONG) for name, among in CHOICES.items()}
    pairs = {f"{one} over {other}": gain(scores[one], scores[other], WRONG) for one, other in PAIRS}
    n_sets = len(gains[EXACT].means)
    return f"""## Gain over cross-entropy, in points: both stopped, mean over all noises but "none"

{_tests(gains)}

Sets are the units: intervals and p-values are over {n_sets} sets. p is Student's, and Holm's correction is over the
{len(gains)} methods. Wilcoxon's p is at least {2.0 ** (1 - n_sets):.3f} with {n_sets} sets. The interval over seeds speaks of
these sets only.

{_as_planned(gains)}## The same by noise (95 % interval over sets)

{_by_noise(scores)}

## The same by set (95 % interval over seeds)

{_by_set(gains)}

## Noisy validation accuracy chooses the loss

{_tests(chosen)}

These train two or three networks instead of one.

## Between methods

{_tests(pairs)}

## What stopping does: last epoch minus stopped epoch, mean over all noises but "none"

{_stopping(scores)}

## Beside an earlier study of four small sets

{_earlier(scores)}

It redrew 20 and 40 % of the labels among all classes, and moved 30 % to the next class in a set that is not here.

## Test accuracy, %: stopped / last, mean over seeds

{_accuracies(found)}
"""


def _tests(gains: Mapping[str, Gain]) -> str:
    """A row per gain, with Holm's correction over the rows."""
    estimates = {name: one.over_sets for name, one in gains.items()}
    adjusted = holm([estimate.p for estimate in estimates.values()])
    rows = []
    for (name, one), p in zip(gains.items(), adjusted, strict=True):
        ahead = sum(mean > 0.0 for mean in one.means.values())
        rows.append(
            [
                name,
                with_interval(estimates[name]),
                _interval(*one.over_seeds),
                f"{estimates[name].p:.4f}",
                f"{p:.4f}",
                f"{one.wilcoxon:.4f}",
                f"{ahead} of {len(one.means)}",
                f"{one.means[one.worst]:+.2f} ({one.worst})",
            ]
        )
    heads = ["method", "mean (95 % over sets)", "95 % over seeds", "p", "p, Holm", "p, Wilcoxon", "sets ahead", "worst set"]
    return table(heads, rows)


def _as_planned(gains: Mapping[str, Gain]) -> str:
    """The same tests without the sets that were added to the plan, if they are there and others too."""
    planned = {name: one.without(ADDED) for name, one in gains.items()}
    n_planned, n_sets = (len(one[EXACT].by_set) for one in (planned, gains))
    if not 0 < n_planned < n_sets:
        return ""
    return f"## The same without {' and '.join(ADDED)}, which were added to the plan\n\n{_tests(planned)}\n\n"


def _interval(low: float, high: float) -> str:
    return f"({low:+.2f} … {high:+.2f})" if math.isfinite(low) else ""


def _noises(scores: Scores) -> list[str]:
    present = {noise for _, noise, _ in scores[CROSS_ENTROPY]}
    return [noise for noise in NOISES if noise in present]


def _by_noise(scores: Scores) -> str:
    noises = _noises(scores)
    rows = [
        [name, *(with_interval(gain(scores[name], scores[CROSS_ENTROPY], [noise]).over_sets) for noise in noises)]
        for name in scores
        if name != CROSS_ENTROPY
    ]
    return table(["method", *noises], rows)


def _by_set(gains: Mapping[str, Gain]) -> str:
    sets = list(next(iter(gains.values())).by_set)
    rows = [
        [name, *(with_interval(_fixed(Gain({one: gained.by_set[one]}))) for one in sets)] for name, gained in gains.items()
    ]
    return table(["method", *sets], rows)


def _fixed(one: Gain) -> Estimate:
    low, high = one.over_seeds
    return Estimate(one.over_sets.mean, low, high, 1.0)


def _stopping(scores: Scores) -> str:
    rows = []
    for name, runs in scores.items():
        own = gain(runs, runs, WRONG, ("last", "stopped")).over_sets
        to_stopped = gain(runs, scores[CROSS_ENTROPY], WRONG, ("last", "stopped")).over_sets
        epochs = [numbers["epoch"] for (_, noise, _), numbers in runs.items() if noise in WRONG]
        rows.append([name, with_interval(own), with_interval(to_stopped), f"{np.mean(epochs):.1f}"])
    heads = ["method", "last - own stopped", "last - cross-entropy's stopped", "stopped at epoch, mean"]
    return table(heads, rows)


def _accuracies(found: Results) -> str:
    methods = distinct_values(found, "method")
    rows = []
    for name in distinct_values(found, "set"):
        for noise in distinct_values(found, "noise", set=name):
            row = [f"{name}, {noise}"]
            for method in methods:
                of = (np.mean(values(found, score, set=name, noise=noise, method=method)) for score in ("stopped", "last"))
                row.append(" / ".join(f"{mean:.1f}" for mean in of))
            rows.append(row)
    return table(["set, noise", *methods], rows)


def _earlier(scores: Scores) -> str:
    """Its noise was 20 and 40 %, redrawn among all classes, and 30 % moved to the next class in a set that is not here."""
    runs = scores | {name: choose(scores, among) for name, among in CHOICES.items()}
    rows = []
    for noises, reported in (EARLIER_SYMMETRIC, EARLIER_PAIR):
        for name, number in reported.items():
            ours = gain(runs[name], scores[CROSS_ENTROPY], noises)
            rows.append([f"{name}, {' and '.join(noises)}", f"{number:+.1f}", with_interval(ours.over_sets)])
    return table(["gain over cross-entropy", "earlier study", "ours (95 % over sets)"], rows)
