"""Categories by count: which of a column's texts have a column or a code of their own, by the rules of scikit-learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metricfit._errors import DataError
from metricfit._printable import quoted
from metricfit.estimators._kinds import DISTINCT_TEXT, TEXT_WORDS
from metricfit.estimators._preprocess import MAX_CATEGORIES, MAX_CODES, MIN_FREQUENCY
from metricfit.shards._rows import Batch

MOST_VALUES = 200_000  # different texts of a column that are counted


@dataclass(frozen=True)
class CountTexts:
    """Counts of the texts of each column."""

    places: list[int]

    def __call__(self, batch: Batch) -> list[Counter[Any]]:
        return [_count(batch.features.column(place)) for place in self.places]


def _count(column: pa.ChunkedArray) -> Counter[Any]:
    found = pc.value_counts(column)
    return Counter(dict(zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True)))


def refuse_texts(names: Sequence[str], counters: Sequence[Counter[Any]]) -> None:
    """Raise a DataError for a column of free text, or of more different texts than are counted."""
    for name, counter in zip(names, counters, strict=True):
        _refuse_text(name, counter)


def _refuse_text(name: str, counter: Counter[Any]) -> None:
    words = sum(count * len(value.split()) for value, count in counter.items() if value is not None)
    n_values = counter.total() - counter[None]
    n_distinct = len(counter) - (None in counter)
    if n_values and words > TEXT_WORDS * n_values and n_distinct > DISTINCT_TEXT * n_values:
        raise DataError(
            f"Column {quoted(name)} is free text, which is not read from several files. Pass --drop {quoted(name)}."
        )
    if n_distinct > MOST_VALUES:
        raise DataError(
            f"Column {quoted(name)} has {n_distinct:,} different texts, at most {MOST_VALUES:,} are counted. "
            f"Pass --drop {quoted(name)}."
        )


def plain_categories(counter: Counter[Any]) -> dict[str, Any]:
    """The categories with a column of their own, and whether others share one: the rule of ``OneHotEncoder``.

    >>> plain_categories(Counter({"b": 5, "a": 3, None: 3, "rare": 2}))
    {'frequent': ['a', 'b', None], 'rare': True}
    """
    frequent, rare = _split_rare(counter, MIN_FREQUENCY, MAX_CATEGORIES)
    return {"frequent": frequent, "rare": bool(rare)}


def plain_codes(counter: Counter[Any]) -> dict[str, Any]:
    """The categories with a code of their own, and those that share one: the rule of ``OrdinalEncoder``.

    >>> plain_codes(Counter({"b": 5, "a": 3, None: 3, "rare": 2}))
    {'frequent': ['a', 'b', 'rare'], 'rare': []}
    """
    known = Counter({value: n for value, n in counter.items() if value is not None})
    frequent, rare = _split_rare(known, 1, MAX_CODES)
    return {"frequent": frequent, "rare": rare}


def _split_rare(counter: Counter[Any], fewest: int, most: int) -> tuple[list[Any], list[Any]]:
    """Frequent and rare values, each sorted: rare ones have fewer rows than ``fewest``, or are no more among the ``most``."""
    values = [*sorted(value for value in counter if value is not None), *([None] if None in counter else [])]
    counts = np.array([counter[value] for value in values])
    rare = counts < fewest
    if len(counts) - rare.sum() + 1 > most:
        rare[np.argsort(counts, kind="stable")[: -(most - 1)]] = True
    chosen = list(zip(values, rare.tolist(), strict=True))
    return [value for value, is_rare in chosen if not is_rare], [value for value, is_rare in chosen if is_rare]
