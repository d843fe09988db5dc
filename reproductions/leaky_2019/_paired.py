"""Tables and claims about LEErr over NegLog, of cells that train both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from metricfit.comparison._statistics import corrected_estimate
from reproductions._claims import Claim, Runs, claim
from reproductions._experiment import Cell, Results
from reproductions._markdown import mean_and_std, table
from reproductions._results import differences, distinct_values, values
from reproductions.leaky_2019._networks import METHODS, Size

Published = Mapping[str, tuple[float, float]]  # by loss: mean and standard deviation


@dataclass(frozen=True)
class Line:
    """One line of a table: which cells, which measure, and the paper's numbers, if it has any."""

    text: str
    measure: str
    cell: Mapping[str, str]
    published: Published | None = None
    n_sentences: tuple[int, int] = (0, 0)  # to train on and to test on; a quick run has fewer

    def gains(self, found: Results) -> list[float]:
        base, other = (values(found, f"{method}_{self.measure}", **self.cell) for method in METHODS)
        return differences(other, base)

    def runs(self, found: Results) -> Runs:
        n_train, n_test = self.n_sentences
        return Runs(seeds=len(self.gains(found)), test_rows=n_test, train_rows=n_train)

    def reported_gain(self) -> float | None:
        return None if self.published is None else self.published["LEErr"][0] - self.published["NegLog"][0]


def gains_table(found: Results, lines: list[Line]) -> str:
    """Published and ours, with intervals over seeds and over the sentences of the test part."""
    size, rows = distinct_values(found, "size")[0], []
    for line in lines:
        row = [line.text]
        for method in METHODS:
            reported = f"{line.published[method][0]:.2f} ± {line.published[method][1]:.2f}" if line.published else "—"
            row += [reported, mean_and_std(values(found, f"{method}_{line.measure}", **line.cell))]
        gain = corrected_estimate(line.gains(found), 0.0)
        reach = 1.96 * float(np.mean(values(found, f"{line.measure}_sentence_error", **line.cell)))
        reported_gain = line.reported_gain()
        row += ["—" if reported_gain is None else f"{reported_gain:+.2f}", f"{gain.mean:+.2f}", f"{gain.p:.3f}"]
        rows.append([*row, f"{gain.mean - reach:+.2f} … {gain.mean + reach:+.2f}"])
    heads = ["", *(head for method in METHODS for head in (f"{method}, paper", f"ours, {size}"))]
    heads += ["gain, paper", f"ours, {size}", "p, paired t-test", "interval over sentences"]
    return table(heads, rows)


def epochs_text(found: Results, size_of: Callable[[Cell], Size]) -> str:
    """How to read the table, and how many networks might have gained from more epochs."""
    ends = [
        numbers[f"{method}_{name.removesuffix('_sentence_error')}_epoch"] >= size_of(cell).epochs
        for cell, numbers in found
        for name in numbers
        if name.endswith("_sentence_error")
        for method in METHODS
    ]
    return (
        f"In {sum(ends)} of {len(ends)} choices the best epoch on development is the last one that was trained. "
        "The p-value is over seeds. The last interval is of 95 % over the sentences of the test part, by the delta method; "
        "its width is the mean of the seeds' widths."
    )


def gain_claims(found: Results, lines: list[Line], group: str = "") -> list[Claim]:
    """The lines that the paper has numbers for. Rows are sentences: words of one sentence are not independent.

    All seeds have the same test sentences, so they do not count as splits, even where the other sentences are divided again.
    """
    size = distinct_values(found, "size")[0]
    return [
        claim(
            f"LEErr over NegLog, {line.text} ({size})", line.reported_gain(), line.gains(found), line.runs(found), group=group
        )
        for line in lines
        if line.published is not None and line.gains(found)
    ]
