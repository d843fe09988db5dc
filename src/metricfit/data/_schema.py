"""The columns that a model was fitted to, and their positions in another file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from metricfit._errors import DataError
from metricfit._printable import did_you_mean, listed, quoted
from metricfit.data._layout import Layout
from metricfit.data._numbers import is_number_format

DATE_FORMATS = ("%d.%m.%Y", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%Y%m%dT%H%M%S")
CELLS = {"number": "a number", "boolean": "true or false", "date": "a date", "time": "a time of day", "string": "text"}
TYPE_NAMES = {type: cell.removeprefix("a ") for type, cell in CELLS.items()}  # the types of columns, in words


@dataclass(frozen=True)
class ValueSummary:
    """The values of a column in the training table, for a comparison with new rows."""

    n_rows: int
    missing: float  # share of the cells
    low: float | None = None  # of numbers
    high: float | None = None
    categories: tuple[str, ...] | None = None
    new: float = 0.0  # share of cells whose category occurs once, which estimates the share of unseen ones in new rows


@dataclass(frozen=True)
class Column:
    """A column that a model was fitted to; ``position`` counts from 0.

    ``format`` is a date format, or how numbers are written; it is empty for ISO dates and plain numbers. In a ``lenient``
    column of numbers, cells that are not numbers are missing values.
    """

    name: str
    type: str
    position: int
    format: str = ""
    lenient: bool = False
    seen: ValueSummary | None = None  # in training

    def __post_init__(self) -> None:
        known = is_number_format(self.format) if self.type == "number" else self.type == "date" and self.format in DATE_FORMATS
        if self.type not in CELLS or (self.format and not known):
            raise ValueError(f"column {self.name!r} has an unknown type or format: {self.type!r}, {self.format!r}")

    def expected(self) -> str:
        """What a cell should be, in words."""
        return f"a number written as {self.format}" if self.type == "number" and self.format else CELLS[self.type]


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
        """Raises KeyError, TypeError or ValueError if an entry is missing or unknown."""
        columns = tuple(Column(**{**item, "seen": _summary_from_json(item.get("seen"))}) for item in found["columns"])
        return cls(columns, bool(found["header"]), int(found["n_columns"]))


def _summary_from_json(found: Any) -> ValueSummary | None:
    """None for a model that was saved without it."""
    if found is None:
        return None
    names = found["categories"]
    return ValueSummary(**{**found, "categories": None if names is None else tuple(names)})


def column_positions(path: Path, layout: Layout, schema: TableSchema) -> list[int]:
    """The positions of the schema's columns in the file: by name, or by order if neither table has a header."""
    columns = schema.columns
    if not schema.header and not layout.header:
        if len(layout.names) == schema.n_columns:
            return [column.position for column in columns]
        if len(layout.names) == len(columns):  # the target is absent
            return list(range(len(columns)))
        expected = f"{schema.n_columns} with the target or {len(columns)} without"
        raise DataError(f"{path} has {len(layout.names)} columns, expected {expected}.")
    missing = [column.name for column in columns if column.name not in layout.names]
    if missing:
        near = did_you_mean(missing[0], layout.names)
        what = f"column {quoted(missing[0])}" if len(missing) == 1 else f"{len(missing)} columns ({listed(missing, 5)})"
        raise DataError(f"{path} lacks {what} that the model was fitted to.{near}")
    return [layout.names.index(column.name) for column in columns]
