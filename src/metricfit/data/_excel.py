"""The first sheet of an Excel or OpenDocument workbook."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metricfit._errors import DataError
from metricfit._extras import require


@dataclass(frozen=True)
class Sheet:
    """The cells of a sheet; ``first_row`` empty rows above them were left out."""

    name: str
    n_sheets: int
    first_row: int
    rows: list[list[Any]]


def read_sheet(path: Path) -> Sheet:
    """The first visible sheet of the workbook."""
    require("python_calamine", "excel", f"{path} is an Excel file, which")
    import python_calamine as calamine

    try:
        with calamine.CalamineWorkbook.from_path(str(path)) as book:
            visible = [
                sheet.name
                for sheet in book.sheets_metadata
                if sheet.typ == calamine.SheetTypeEnum.WorkSheet and sheet.visible == calamine.SheetVisibleEnum.Visible
            ]
            if not visible:
                raise DataError(f"{path} has no visible sheet.")
            sheet = book.get_sheet_by_name(visible[0])
            rows, start = sheet.to_python(), sheet.start
    except calamine.PasswordError as error:
        raise DataError(f"{path} is an Excel file with a password. Save it without one.") from error
    except (calamine.CalamineError, OSError) as error:
        raise DataError(f"{path} cannot be read as an Excel file: {error}.") from error
    while rows and all(cell == "" for cell in rows[-1]):
        rows.pop()
    if not rows or start is None:
        raise DataError(f"{path}, sheet {visible[0]!r} is empty.")
    return Sheet(visible[0], len(visible), start[0], rows)
