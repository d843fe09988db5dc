"""The columns that a model was fitted to, and where they are in another file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from metricfit._errors import DataError
from metricfit._printable import listed, quoted
from metricfit._words import did_you_mean
from metricfit.data._layout import Layout
from metricfit.data._numbers import is_number_format

DATE_FORMATS = ("%d.%m.%Y", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%Y%m%dT%H%M%S")
TYPES = {"number": "a number", "boolean": "true or false", "date": "a date", "time": "a time of day", "string": "text"}


@dataclass(frozen=True)
class Seen:
    """What a column held in the training table, for a comparison with new rows."""

    n_rows: int
    missing: float  # share of the cells
    low: float | None = None  # of numbers
    high: float | None = None
    categories: tuple[str, ...] | None = None
    new: float = 0.0  # share of the cells whose category occurs once: as many of new rows are unseen

    def is_valid(self) -> bool:
        numbers = (self.missing, self.new, *(end for end in (self.low, self.high) if end is not None))
        return self.n_rows > 0 and all(map(isfinite, numbers)) and (self.low is None) == (self.high is None)


@dataclass(frozen=True)
class Column:
    """A column that a model was fitted to; ``position`` counts from 0.

    ``format`` is a date format, or how numbers are written; it is empty for ISO dates and plain numbers. In a ``lenient``
    column of numbers, cells that are no numbers are missing values.
    """

    name: str
    type: str
    position: int
    format: str = ""
    lenient: bool = False
    seen: Seen | None = None

    def is_valid(self) -> bool:
        """Whether type and format are known."""
        if self.seen is not None and not self.seen.is_valid():
            return False
        if self.type == "number":
            return not self.format or is_number_format(self.format)
        return self.type in TYPES and (not self.format or (self.type == "date" and self.format in DATE_FORMATS))

    def expected(self) -> str:
        """What a cell should be, in words."""
        if self.type == "number" and self.format:
            return f"a number written as {self.format}"
        return TYPES[self.type]


@dataclass(frozen=True)
class TableSchema:
    """The columns of the table that a model was fitted to; ``n_columns`` also counts the target and dropped columns."""

    columns: tuple[Column, ...]
    header: bool
    n_columns: int

    def as_json(self) -> dict[str, Any]:
        columns = [asdict(column) for column in self.columns]
        return {"header": self.header, "n_columns": self.n_columns, "columns": columns}

    @classmethod
    def from_json(cls, found: Any) -> TableSchema:
        """Raises KeyError, TypeError or ValueError if an entry is missing or invalid."""
        n_columns = found["n_columns"]
        columns = tuple(
            Column(
                str(item["name"]),
                str(item["type"]),
                range(n_columns).index(item["position"]),
                str(item["format"]),
                "lenient" in item and item["lenient"] is True,
                _seen_from_json(item.get("seen")),
            )
            for item in found["columns"]
        )
        if not all(column.is_valid() for column in columns) or len({column.name for column in columns}) < len(columns):
            raise ValueError("unknown types or formats, or repeated names")
        return cls(columns, bool(found["header"]), n_columns)


def _seen_from_json(found: Any) -> Seen | None:
    """None for a model that was saved without it."""
    if found is None:
        return None
    low, high = (None if found[name] is None else float(found[name]) for name in ("low", "high"))
    names = None if found["categories"] is None else tuple(map(str, found["categories"]))
    return Seen(int(found["n_rows"]), float(found["missing"]), low, high, names, float(found["new"]))


def column_positions(path: Path, layout: Layout, schema: TableSchema) -> list[int]:
    """The positions of the schema's columns in the file: by name, or by order if neither table has a header."""
    columns = schema.columns
    if not schema.header and not layout.header:
        if len(layout.names) == schema.n_columns:
            return [column.position for column in columns]
        if len(layout.names) == len(columns):  # the target is absent
            return list(range(len(columns)))
        wanted = f"{schema.n_columns} with the target or {len(columns)} without"
        raise DataError(f"{path} has {len(layout.names)} columns, expected {wanted}.")
    missing = [column.name for column in columns if column.name not in layout.names]
    if missing:
        near = did_you_mean(missing[0], layout.names)
        what = f"column {quoted(missing[0])}" if len(missing) == 1 else f"{len(missing)} columns ({listed(missing, 5)})"
        raise DataError(f"{path} lacks {what} that the model was fitted to.{near}")
    return [layout.names.index(column.name) for column in columns]
