"""What the cells say together: a section per paper, and the one claim that a paper makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from metricfit.comparison._statistics import corrected_estimate
from reproductions._claims import Claim, Runs, claim, mean_with_interval
from reproductions._experiment import Results
from reproductions._markdown import NEAR, but, mean_and_std, table
from reproductions._results import distinct_values, values
from reproductions.beyond._linear import METHODS
from reproductions.beyond._network import CROSS_ENTROPY, NETWORKS
from reproductions.east_2024._protocol import courses
from reproductions.east_2024.published import TABLE_1
from reproductions.east_2024.tabular import SCORES
from reproductions.exact_2022 import published as exact
from reproductions.leaky_2019 import published as leaky

N_ROWS = {"adult": 48_842, "mammography": 11_183}  # of EAST's sets
OURS, THRESHOLD, PLAIN = "MetricClassifier", "cross-entropy + threshold", "cross-entropy"


@dataclass(frozen=True)
class Comparison:
    """What one method gains over another, by a score of test rows each, on all sets that have both."""

    text: str
    method: tuple[str, str]
    other: tuple[str, str]
    direction: int = 0  # 1 where a paper says that it does gain

    def gains(self, found: Results, name: str) -> list[float]:
        """Over seeds, a method without seeds being the same in all; empty if one is missing."""
        pairs = (self.method, self.other)
        ours, theirs = (values(found, score, paper="east", set=name, method=method) for method, score in pairs)
        return np.subtract(ours, theirs).tolist() if ours and theirs else []


def _comparisons() -> Iterator[Comparison]:
    """The only one that a paper speaks of is about batches (EAST, Section 6.1)."""
    for score in ("f1", "mcc"):
        title, as_it_is, tuned = SCORES[score], (CROSS_ENTROPY, score), (CROSS_ENTROPY, f"{score}_tuned")
        east, noise = (f"EAST for {score}", score), (f"EXACT's noise for {score}", score)
        yield Comparison(f"{THRESHOLD} over {PLAIN}, {title}", tuned, as_it_is)
        yield Comparison(f"EAST over {THRESHOLD}, {title}", east, tuned)
        yield Comparison(f"EXACT's noise over EAST's soft sets, {title}", noise, east)
        yield Comparison(f"EXACT's noise over {THRESHOLD}, {title}", noise, tuned)
        yield Comparison(f"linear {OURS} over EAST, {title}", (f"linear, {OURS} for {score}", score), east)
    large, small, free = ((f"EAST for f1{batch}", "f1") for batch in ("", ", batch 64", ", batch 64, batch-size-free"))
    yield Comparison("EAST with batches of 1024 over 64, F1", large, small, 1)
    yield Comparison("EAST with batches of 64 and a memory over 64, F1", free, small)
    yield Comparison("EAST with batches of 64 and a memory over 1024, F1", free, large)


def summary(found: Results) -> str:
    sections = {"exact": _of_exact, "leaky": _of_leaky, "east": _of_east}
    parts = []
    for paper, section in sections.items():
        if sets := distinct_values(found, "set", paper=paper):
            parts.append(section(found, sets))
    return "\n\n".join(parts) + "\n"


def _of_exact(found: Results, sets: list[str]) -> str:
    text = []
    for part, paper in (("train", exact.TRAIN), ("test", exact.TEST)):
        rows = []
        for name in sets:
            reported = (paper[method][exact.SETS.index(name)] for method in ("Sklearn", "EXACT"))
            rows.append([name, *(f"{value:.2f}" for value in (*reported, *_by_method(found, "exact", name, part).values()))])
        heads = ["set", "Sklearn, paper", "EXACT, paper", *METHODS]
        text.append(f"## EXACT's sets, linear models: accuracy on {part}, %\n\n{table(heads, rows)}")
    means = {name: _by_method(found, "exact", name, "test") for name in sets}
    near = [name for name in sets if means[name][OURS] >= exact.TEST["EXACT"][exact.SETS.index(name)] - NEAR]
    above = [name for name in sets if means[name][OURS] >= means[name][THRESHOLD] - 0.005]
    text.append(
        f"{OURS} has the test accuracy published for EXACT (within {NEAR} points, or above) on {_count(sets, near)}, and "
        f"that of {THRESHOLD}, or more, on {_count(sets, above)}."
    )
    return "\n\n".join(text)


def _of_leaky(found: Results, sets: list[str]) -> str:
    """p is Nadeau and Bengio's: the folds' training rows overlap."""
    rows = []
    for name in sets:
        row = [name]
        for method in ("NegLog", "LEErr"):
            row.append("{:.2f} ± {:.2f}".format(*leaky.tabular_error(name, method)))
        errors = {method: values(found, "test_error", paper="leaky", set=name, method=method) for method in METHODS}
        row += [mean_and_std(one) for one in errors.values()]
        for other in (PLAIN, THRESHOLD):
            gain = corrected_estimate(np.subtract(errors[other], errors[OURS]).tolist(), 1.0)
            row += [f"{gain.mean:+.2f}", f"{gain.p:.3f}"]
        rows.append(row)
    heads = ["set", "NegLog, paper", "LEErr, paper", *METHODS]
    heads += [head for other in (PLAIN, THRESHOLD) for head in (f"{OURS} over {other}", "p, corrected")]
    means = {name: _by_method(found, "leaky", name, "test_error") for name in sets}
    near = [name for name in sets if means[name][OURS] <= leaky.tabular_error(name, "LEErr")[0] + NEAR]
    least = [name for name in sets if means[name][OURS] <= min(means[name].values()) + 0.005]
    return (
        f"## İrsoy's sets, linear models: error on test, %\n\n{table(heads, rows)}\n\n"
        f"{OURS} has the error published for LEErr (within {NEAR} points, or less) on {_count(sets, near)}, and the least "
        f"of ours on {_count(sets, least)}."
    )


def _of_east(found: Results, sets: list[str]) -> str:
    """A table per set, and the gains of which no paper has a number."""
    text = []
    for name in sets:
        rows = [_east_row(found, name, method) for method in distinct_values(found, "method", paper="east", set=name)]
        heads = ["method", *(head for title in SCORES.values() for head in (f"{title}, paper", "ours", "with threshold"))]
        positives = int(values(found, "positives", paper="east", set=name, method=CROSS_ENTROPY)[0])
        text.append(f"## EAST's {name}: test, %\n\n{table(heads, rows)}\n\n{positives} of the test rows are positive.")
    rows = []
    for one, name, gains in _compare(found):
        if not one.direction:
            rows.append([f"{one.text}, {name}", mean_with_interval(gains)])
    heads = ["gain, in points", "ours (95 % interval over seeds)"]
    text.append(courses(found))
    return "\n\n".join([*text, f"## Of which no paper says anything\n\n{table(heads, rows)}"])


def _east_row(found: Results, name: str, method: str) -> list[str]:
    """A linear fit has no seeds to spread over, and its threshold already."""
    reported = TABLE_1[name].get(NETWORKS[method].published) if method in NETWORKS else None
    row = [method]
    for score in SCORES:
        ours = values(found, score, paper="east", set=name, method=method)
        row.append("" if reported is None else f"{100.0 * getattr(reported, score):.1f}")
        if method in NETWORKS:
            row += [mean_and_std(ours), mean_and_std(values(found, f"{score}_tuned", paper="east", set=name, method=method))]
        else:
            row += [f"{ours[0]:.2f}", ""]
    return row


def _by_method(found: Results, paper: str, name: str, score: str) -> dict[str, float]:
    return {method: float(np.mean(values(found, score, paper=paper, set=name, method=method))) for method in METHODS}


def _count(sets: Sequence[str], some: Sequence[str]) -> str:
    return f"{len(some)} of {len(sets)} sets{but(sets, some)}"


def _compare(found: Results) -> list[tuple[Comparison, str, list[float]]]:
    sets = distinct_values(found, "set", paper="east")
    every = [(one, name, one.gains(found, name)) for name in sets for one in _comparisons()]
    return [(one, name, gains) for one, name, gains in every if gains]


def _runs(name: str, n_seeds: int) -> Runs:
    """One split of EAST's sets: 64 % of the rows to train, 20 % to test."""
    return Runs(n_seeds, test_rows=round(0.2 * N_ROWS[name]), train_rows=round(0.64 * N_ROWS[name]))


def claims(found: Results) -> list[Claim]:
    """Of networks, where a paper says in which direction it should go."""
    return [
        claim(f"{one.text}, network, {name}", None, gains, _runs(name, len(gains)), direction=one.direction)
        for one, name, gains in _compare(found)
        if one.direction
    ]
