"""Whether new rows look like the training table: unseen categories, numbers outside the range, more missing values.

A count gets a note if rows from the same source would hardly ever produce it. Numbers: the chance that k of m new rows lie
beyond the range of n training rows is at most (k + 1) (m / (n + m))^k, for any distribution. Categories: the share of training
rows whose category occurs once estimates the share of unseen ones (Good and Turing). In addition to chance, 1 % of the rows is
tolerated, and 5 % of missing values.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metricfit._printable import quoted
from metricfit.data._schema import TableSchema, ValueSummary

MOST_CATEGORIES, LONGEST_CATEGORY = 1000, 200  # beyond these, a column holds IDs or texts, which are always new
MOST_NEW = 0.3  # expected share of new categories, above which a new one means nothing
TOLERANCE, TOLERANCE_MISSING = 0.01, 0.05  # shares of rows
RARE = 1e-4  # probability below which a count gets a note
STANDARD_ERRORS = 3.0  # by which a share may exceed that of the training table
N_EXAMPLES = 3


def describe_values(schema: TableSchema, features: pa.Table) -> TableSchema:
    """The schema with a summary of these rows, for a comparison with new rows."""
    columns = tuple(replace(column, seen=_summarize(features[column.name], column.type)) for column in schema.columns)
    return replace(schema, columns=columns)


def _summarize(values: pa.ChunkedArray, kind: str) -> ValueSummary:
    n_rows, missing = max(1, len(values)), values.null_count / max(1, len(values))
    if kind == "number" and values.null_count < len(values):
        ends = pc.min_max(values).as_py()
        return ValueSummary(n_rows, missing, float(ends["min"]), float(ends["max"]))
    if kind != "string" or values.null_count == len(values):
        return ValueSummary(n_rows, missing)
    found = pc.value_counts(pc.drop_null(values.cast(pa.string())))
    names, counts = found.field("values"), np.asarray(found.field("counts"))
    new = float((counts == 1).sum() / counts.sum())
    longest = pc.max(pc.utf8_length(names)).as_py()
    if len(names) > MOST_CATEGORIES or longest > LONGEST_CATEGORY or new > MOST_NEW:
        return ValueSummary(n_rows, missing)
    return ValueSummary(n_rows, missing, categories=tuple(names.to_pylist()), new=new)


@dataclass
class Counts:
    """Counts over the new rows of a column."""

    n_rows: int = 0
    n_missing: int = 0
    n_outside: int = 0
    n_unseen: int = 0
    low: float = np.inf
    high: float = -np.inf
    examples: list[str] = field(default_factory=list)

    def add(self, other: Counts) -> None:
        self.n_rows += other.n_rows
        self.n_missing += other.n_missing
        self.n_outside += other.n_outside
        self.n_unseen += other.n_unseen
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.examples = [*dict.fromkeys([*self.examples, *other.examples])][:N_EXAMPLES]


class Drift:
    """Compare new rows with the training table, chunk by chunk, in constant memory."""

    def __init__(self, schema: TableSchema) -> None:
        self.seen = {column.name: column.seen for column in schema.columns if column.seen is not None}
        self.counts = {name: Counts() for name in self.seen}

    def add(self, features: pa.Table) -> None:
        for name, seen in self.seen.items():
            self.counts[name].add(_count(features[name], seen))

    def join(self, other: Drift) -> None:
        for name, counts in other.counts.items():
            self.counts[name].add(counts)

    def notes(self) -> list[str]:
        """A sentence for each column and kind of change."""
        return [note for name, seen in self.seen.items() for note in _notes(f"Column {quoted(name)}", seen, self.counts[name])]


def _count(values: pa.ChunkedArray, seen: ValueSummary) -> Counts:
    counts, known = Counts(len(values), values.null_count), pc.drop_null(values)
    if not len(known):
        return counts
    if seen.low is not None and seen.high is not None:
        ends = pc.min_max(known).as_py()
        outside = pc.or_(pc.less(known, seen.low), pc.greater(known, seen.high))
        counts.n_outside, counts.low, counts.high = pc.sum(outside).as_py(), ends["min"], ends["max"]
    elif seen.categories is not None:
        unseen = known.filter(pc.invert(pc.is_in(known, pa.array(seen.categories, pa.string()))))
        counts.n_unseen, counts.examples = len(unseen), pc.unique(unseen)[:N_EXAMPLES].to_pylist()
    return counts


def _notes(name: str, seen: ValueSummary, counts: Counts) -> list[str]:
    notes, n_known = list[str](), counts.n_rows - counts.n_missing
    if seen.low is not None and _are_outside(counts.n_outside, n_known, seen.n_rows):
        notes.append(
            f"{name}: {_share(counts.n_outside, n_known, 'numbers')} are outside the training range, {seen.low:g} to "
            f"{seen.high:g}. They are from {counts.low:g} to {counts.high:g}."
        )
    if seen.categories is not None and _are_more(counts.n_unseen, n_known, seen.new, seen.n_rows, TOLERANCE):
        shown = ", ".join(map(quoted, counts.examples))
        notes.append(f"{name}: {_share(counts.n_unseen, n_known, 'cells')} have categories without a training row: {shown}.")
    if _are_more(counts.n_missing, counts.n_rows, seen.missing, seen.n_rows, TOLERANCE_MISSING):
        before = "none" if not seen.missing else f"{100 * seen.missing:.1f} %"
        notes.append(
            f"{name}: {_share(counts.n_missing, counts.n_rows, 'cells')} are missing, {before} in the training table."
        )
    return notes


def _are_outside(count: int, n_rows: int, n_training: int) -> bool:
    ratio = n_rows / (n_training + n_rows) if n_rows else 0.0
    return count > TOLERANCE * n_rows and float((count + 1) * ratio**count) < RARE


def _are_more(count: int, n_rows: int, share: float, n_training: int, tolerance: float) -> bool:
    """Whether so many rows are improbable, given the share in the training table, its standard error and the tolerance."""
    from scipy.special import bdtrc

    largest = share + STANDARD_ERRORS * ((share + 1.0 / n_training) / n_training) ** 0.5 + tolerance
    return count > 0 and largest < 1.0 and float(bdtrc(count - 1, n_rows, largest)) < RARE


def _share(count: int, n_rows: int, what: str) -> str:
    return f"{count:,} of {n_rows:,} {what} ({100 * count / n_rows:.0f} %)"
