"""What a look at a table found: one entry per column, and warnings in sentences."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class ColumnProfile:
    """A column: its type in the file, how it is used, and what is strange about it."""

    name: str
    type: str  # as it was read, in words: "number", "number (1.234,56 €)", "date (31.12.2024)", "text"; "" if it was not read
    use: str  # "number", "12 categories", "words", "date", "not used: constant", "dropped by --drop"
    n_missing: int
    n_distinct: int
    examples: tuple[str, ...]
    note: str = ""  # a warning about this column, in one or two sentences


@dataclass(frozen=True)
class TableProfile:
    """All columns of a file except the target, and warnings in sentences."""

    columns: tuple[ColumnProfile, ...]
    n_rows: int
    n_copies: int  # rows that equal an earlier row in all features, IDs apart
    warnings: tuple[str, ...] = ()
    n_contradictory: int = 0  # copies with another label than the earlier row

    def lines(self) -> list[str]:
        """The warnings, one per line, for stderr."""
        return list(self.warnings)

    def as_json(self) -> dict[str, Any]:
        """Everything as dicts, lists, strings and numbers."""
        return {
            "n_rows": self.n_rows,
            "n_copies": self.n_copies,
            "n_contradictory": self.n_contradictory,
            "columns": [{**asdict(column), "examples": list(column.examples)} for column in self.columns],
            "warnings": list(self.warnings),
        }
