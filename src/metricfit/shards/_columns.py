"""What preprocessing learns from the rows, by sums over shards: moments, gaps, medians and categories.

The in-memory fit learns the same from all rows at once. Here the numbers that a model file keeps are found in a few passes,
and the transformers are restored from them, as from a file. Medians are exact: a median is no sum, but the number of values
whose first bits are given is one, so that each pass finds some more bits of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from metricfit._typing import Floats, Ints
from metricfit.estimators._forms import FormReader
from metricfit.estimators._kinds import CATEGORIES, DATES, NUMBERS, columns_of, kind_of
from metricfit.estimators._plain import TABLE, restore_transformer
from metricfit.estimators._preprocess import CODES, MAX_DENSITY, READERS
from metricfit.learners import COLUMNS, MATRIX
from metricfit.shards._categories import CountTexts, plain_categories, plain_codes, refuse_texts
from metricfit.shards._rows import Batch, Passes

MOST_COUNTS = 2**23  # bins of all columns together: 64 MB
KEY_BITS = 64


@dataclass(frozen=True)
class Moments:
    """Number, mean and sum of squared deviations of columns; they add without loss of precision.

    >>> both = Moments.of(np.array([[1.0], [2.0]])) + Moments.of(np.array([[6.0], [np.nan]]))
    >>> both.n.tolist(), both.mean.tolist(), both.squares.tolist()
    ([3.0], [3.0], [14.0])
    """

    n: Floats
    mean: Floats
    squares: Floats

    @classmethod
    def of(cls, values: Floats) -> Moments:
        """Of the values (n, q) that are not NaN."""
        known = ~np.isnan(values)
        n = known.sum(0).astype(np.float64)
        if known.all():
            mean = values.mean(0)
            return cls(n, mean, ((values - mean) ** 2).sum(0))
        mean = np.where(known, values, 0.0).sum(0) / np.maximum(n, 1.0)
        return cls(n, mean, (np.where(known, values - mean, 0.0) ** 2).sum(0))

    @classmethod
    def constant(cls, n: Floats, value: Floats) -> Moments:
        return cls(n, value, np.zeros_like(value))

    def __add__(self, other: Moments) -> Moments:
        n = self.n + other.n
        share, shift = other.n / np.maximum(n, 1.0), other.mean - self.mean
        return Moments(n, self.mean + shift * share, self.squares + other.squares + shift**2 * share * self.n)

    def scale(self) -> Floats:
        """Standard deviations; 1 where they are no more than rounding errors, as scikit-learn has it."""
        variance, rounding = self.squares / self.n, self.n * np.finfo(np.float64).eps
        constant = variance <= rounding * variance + (rounding * self.mean) ** 2
        return np.where(constant, 1.0, np.sqrt(variance))


@dataclass(frozen=True)
class _Kinds:
    """The places of columns by their kind, as far as types say it: text may be categories."""

    numbers: list[int]
    dates: list[int]
    texts: list[int]

    def read_numbers(self, table: pa.Table) -> Floats:
        """Numbers and parts of dates side by side, (n, q)."""
        frame = nw.from_native(table, eager_only=True)
        parts = [READERS[kind](frame[:, places]) for kind, places in ((NUMBERS, self.numbers), (DATES, self.dates)) if places]
        return np.hstack([np.empty((table.num_rows, 0)), *parts])


def fit_reader(passes: Passes, names: list[str]) -> FormReader:
    """The preprocessing of all rows, for linear models. The shards' features are tables."""
    kinds = _find_kinds(passes)
    learned, counters = passes.total(_First(kinds), "moments and categories")
    medians = _find_medians(passes, kinds, learned.n) if len(learned.n) else np.zeros(0)
    n_rows = float(sum(len(shard.labels) for shard in passes.shards))
    parts, at = [], 0
    for kind, places in ((NUMBERS, kinds.numbers), (DATES, kinds.dates)):
        width = len(places) * (6 if kind == DATES else 1)
        if places:
            own = slice(at, at + width)
            moments = Moments(learned.n[own], learned.mean[own], learned.squares[own])
            parts.append({"kind": kind, "places": places, **_plain_numbers(moments, medians[own], n_rows)})
        at += width
    n_stored = n_cells = float(sum(len(part["mean"]) for part in parts))
    if kinds.texts:
        refuse_texts([names[place] for place in kinds.texts], counters)
        kept = [plain_categories(counter) for counter in counters]
        parts.append({"kind": CATEGORIES, "places": kinds.texts, "categories": kept})
        n_stored, n_cells = n_stored + len(kept), n_cells + sum(len(one["frequent"]) + one["rare"] for one in kept)
    plain = {"reads": TABLE, "sparse": bool(kinds.texts and n_stored < MAX_DENSITY * n_cells), "parts": parts}
    return FormReader({MATRIX: restore_transformer(plain, MATRIX, len(names))}, names)


def fit_code_reader(passes: Passes, names: list[str]) -> FormReader:
    """The preprocessing of all rows, for trees: codes of categories, then numbers and parts of dates as they are."""
    kinds = _find_kinds(passes)
    parts = list[dict[str, Any]]()
    if kinds.texts:
        counters = passes.total(CountTexts(kinds.texts), "categories")
        refuse_texts([names[place] for place in kinds.texts], counters)
        parts.append({"kind": CODES, "places": kinds.texts, "categories": [plain_codes(counter) for counter in counters]})
    parts += [{"kind": kind, "places": own} for kind, own in ((NUMBERS, kinds.numbers), (DATES, kinds.dates)) if own]
    plain = {"reads": TABLE, "sparse": False, "parts": parts}
    return FormReader({COLUMNS: restore_transformer(plain, COLUMNS, len(names))}, names)


def _find_kinds(passes: Passes) -> _Kinds:
    first = next(batch.features for shard in passes.shards for batch in shard.batches())
    found: dict[str, list[int]] = {NUMBERS: [], DATES: [], CATEGORIES: []}
    for place, column in enumerate(columns_of(first)):
        kind = CATEGORIES if column.dtype == nw.String else kind_of(column)
        found[kind if kind in found else CATEGORIES].append(place)
    return _Kinds(found[NUMBERS], found[DATES], found[CATEGORIES])


@dataclass(frozen=True)
class _First:
    """The first pass for linear models: moments of numbers, counts of texts."""

    kinds: _Kinds

    def __call__(self, batch: Batch) -> tuple[Moments, list[Counter[Any]]]:
        return Moments.of(self.kinds.read_numbers(batch.features)), CountTexts(self.kinds.texts)(batch)


def _plain_numbers(moments: Moments, medians: Floats, n_rows: float) -> dict[str, Any]:
    """Of columns with their gaps filled by the median, and of a column per column with gaps that says where."""
    n_missing = n_rows - moments.n
    gaps = np.flatnonzero(n_missing)
    filled = moments + Moments.constant(n_missing, medians)
    ones, zeros = np.ones(len(gaps)), np.zeros(len(gaps))
    where = Moments.constant(moments.n[gaps], zeros) + Moments.constant(n_missing[gaps], ones)
    return {
        "fill": medians.tolist(),
        "gaps": gaps.tolist(),
        "mean": np.append(filled.mean, where.mean).tolist(),
        "scale": np.append(filled.scale(), where.scale()).tolist(),
    }


def _find_medians(passes: Passes, kinds: _Kinds, n_values: Floats) -> Floats:
    """Medians of the columns (q,); 0 where a column has no values.

    The two middle values are found by their bits, as many per pass as there is memory to count.
    """
    n = n_values.astype(np.int64)
    ranks = np.stack([np.maximum(n - 1, 0) // 2, n // 2])  # from 0; the same where n is odd
    bits = max(1, min(16, int(np.log2(MOST_COUNTS / (2 * len(n))))))
    prefixes, left = np.zeros((2, len(n)), np.uint64), KEY_BITS
    while left:
        bits = min(bits, left)
        left -= bits
        counts = passes.total_of_shards(
            _CountDigits(kinds, prefixes, left, bits), f"medians, {KEY_BITS - left} of {KEY_BITS} bits"
        )
        before = np.cumsum(counts, 2)
        digits = (before <= ranks[:, :, None]).sum(2)
        digits = np.minimum(digits, counts.shape[2] - 1)  # a column without values
        reached = np.take_along_axis(before - counts, digits[:, :, None], 2)[:, :, 0]
        ranks = ranks - reached
        prefixes = (prefixes << np.uint64(bits)) | digits.astype(np.uint64)
    return np.where(n > 0, from_keys(prefixes).mean(0), 0.0)


@dataclass(frozen=True)
class _CountDigits:
    """How many values of each column continue a prefix by each digit, (2, q, 2 ** bits)."""

    kinds: _Kinds
    prefixes: NDArray[np.uint64]
    shift: int  # bits that follow the digit
    bits: int

    def __call__(self, batches: Iterator[Batch]) -> Ints:
        counts = np.zeros((*self.prefixes.shape, 2**self.bits), np.int64)
        for batch in batches:
            for place, column in enumerate(self.kinds.read_numbers(batch.features).T):
                self._count_column(column, place, counts)
        same = self.prefixes[0] == self.prefixes[1]
        counts[1, same] = counts[0, same]
        return counts

    def _count_column(self, column: Floats, place: int, counts: Ints) -> None:
        digits = to_keys(column[~np.isnan(column)]) >> np.uint64(self.shift)
        last = (digits & np.uint64(2**self.bits - 1)).astype(np.int64)
        first = digits >> np.uint64(self.bits)
        for rank, prefix in enumerate(np.unique(self.prefixes[:, place])):
            counts[rank, place] += np.bincount(last[first == prefix], minlength=2**self.bits)


def to_keys(values: Floats) -> NDArray[np.uint64]:
    """Integers in the order of the floats.

    >>> np.argsort(to_keys(np.array([0.5, -np.inf, -0.5, 2.0]))).tolist()
    [1, 2, 0, 3]
    """
    bits = (np.ascontiguousarray(values) + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    return np.where(bits >> np.uint64(63), ~bits, bits | np.uint64(2**63))


def from_keys(keys: NDArray[np.uint64]) -> Floats:
    """The floats of these integers.

    >>> from_keys(to_keys(np.array([0.5, -3.0]))).tolist()
    [0.5, -3.0]
    """
    return np.where(keys >> np.uint64(63), keys & np.uint64(2**63 - 1), ~keys).view(np.float64)
