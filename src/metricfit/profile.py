"""A look at a table before anything is trained: its columns, how each is used, and what may mislead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ColumnProfile:
    """A column: its type in the file, how it is used, and what is strange about it."""

    name: str
    type: str  # as it was read, in words: "number", "number (€ 1.234,56)", "date (31.12.2024)", "text"
    use: str  # "number", "12 categories", "words", "date", "not used: constant", "dropped by --drop"
    n_missing: int
    n_distinct: int
    examples: tuple[str, ...]
    note: str = ""  # a warning about this column, in one sentence


@dataclass(frozen=True)
class TableProfile:
    """All columns of a file, and warnings in sentences."""

    columns: tuple[ColumnProfile, ...]
    n_rows: int
    n_copies: int  # rows that equal an earlier row in all features
    warnings: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        raise NotImplementedError
