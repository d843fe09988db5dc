r"""What a method gains over another, with sets as units.

A set's gain is the mean over its seeds and noises of paired differences in test accuracy. The interval of the mean over sets
is Student's, with one number per set: it speaks of a new set. The interval over seeds speaks of these sets only; no test uses
it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from metricfit.comparison._statistics import Estimate, corrected_estimate
from reproductions._experiment import Results

Run = tuple[str, str, int]  # set, noise, seed
Scores = dict[str, dict[Run, dict[str, float]]]  # by method and run


def by_method(found: Results) -> Scores:
    """The numbers of each method in each run."""
    scores: Scores = {}
    for cell, numbers in found:
        run = str(cell["set"]), str(cell["noise"]), int(cell["seed"])
        scores.setdefault(str(cell["method"]), {})[run] = numbers
    return scores


def choose(scores: Scores, methods: Sequence[str]) -> dict[Run, dict[str, float]]:
    """In each run the numbers of the method with the best validation accuracy; in a tie, of the first one.

    >>> run = ("car", "none", 0)
    >>> choose({"a": {run: {"validation": 50.0, "stopped": 80.0}}, "b": {run: {"validation": 51.0, "stopped": 79.0}}}, "ab")
    {('car', 'none', 0): {'validation': 51.0, 'stopped': 79.0}}
    """
    runs = scores[methods[0]]
    return {run: max((scores[method][run] for method in methods), key=lambda one: one["validation"]) for run in runs}


@dataclass(frozen=True)
class Gain:
    """Paired differences in points: a list for each set, with one number per seed."""

    by_set: dict[str, list[float]]

    @property
    def means(self) -> dict[str, float]:
        """One number per set."""
        return {name: float(np.mean(values)) for name, values in self.by_set.items()}

    @property
    def over_sets(self) -> Estimate:
        return corrected_estimate(list(self.means.values()), 0.0)

    @property
    def over_seeds(self) -> tuple[float, float]:
        r"""The interval of the same mean if the sets are fixed: the variance is :math:`\sum_i s_i^2 / n_i` over the squared
        number of sets, with Welch and Satterthwaite's degrees of freedom.

        With one set it is Student's interval: for 1, 2, 3 the mean is 2, and the half width 4.303 / sqrt 3.

        >>> [round(end, 3) for end in Gain({"car": [1.0, 2.0, 3.0]}).over_seeds]
        [-0.484, 4.484]
        """
        mean = float(np.mean(list(self.means.values())))
        if min(map(len, self.by_set.values())) < 2:
            return -math.inf, math.inf
        shares = np.array([np.var(values, ddof=1) / len(values) for values in self.by_set.values()])
        if not shares.any():
            return mean, mean
        freedom = shares.sum() ** 2 / sum(shares**2 / [len(values) - 1 for values in self.by_set.values()])
        reach = float(stats.t.ppf(0.975, freedom) * math.sqrt(shares.sum()) / len(shares))
        return mean - reach, mean + reach

    @property
    def wilcoxon(self) -> float:
        """Two-sided p of the signed ranks of the sets; 1 if no set differs.

        >>> Gain({name: [1.0 + index] for index, name in enumerate("abcdefg")}).wilcoxon        # 2 / 2**7
        0.015625
        """
        means = np.array([mean for mean in self.means.values() if mean != 0.0])
        return float(stats.wilcoxon(means, method="exact").pvalue) if len(means) else 1.0

    def without(self, sets: Iterable[str]) -> Gain:
        """The same on the other sets."""
        return Gain({name: values for name, values in self.by_set.items() if name not in set(sets)})

    @property
    def worst(self) -> str:
        """The set where the method gains least."""
        return min(self.means, key=lambda name: self.means[name])


def gain(
    ours: dict[Run, dict[str, float]],
    theirs: dict[Run, dict[str, float]],
    noises: Iterable[str],
    columns: tuple[str, str] = ("stopped", "stopped"),
) -> Gain:
    """Of the first method over the second at these noises, in the runs that both have."""
    wanted = set(noises)
    values: dict[str, dict[int, list[float]]] = {}
    for name, noise, seed in ours:
        if noise in wanted:
            run = name, noise, seed
            difference = ours[run][columns[0]] - theirs[run][columns[1]]
            values.setdefault(name, {}).setdefault(seed, []).append(difference)
    return Gain({name: [float(np.mean(one)) for one in seeds.values()] for name, seeds in values.items()})
