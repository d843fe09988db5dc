"""A small writer of Excel files, so that tests need no package for it."""

import datetime
import zipfile
from xml.sax.saxutils import escape

_BOOK = """<?xml version="1.0"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"
xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>{}</sheets></workbook>"""
_LINKS = """<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>"""
_STYLES = """<?xml version="1.0"?><styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">
<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>"""
_SHEET = """<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">
<sheetData>{}</sheetData></worksheet>"""
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def write_workbook(path, first_row=1, **sheets):
    """Sheets by name, each a list of rows of text, numbers, booleans, dates and None."""
    with zipfile.ZipFile(path, "w") as file:
        names = list(enumerate(sheets, 1))
        file.writestr(
            "xl/workbook.xml", _BOOK.format("".join(f'<sheet name="{n}" sheetId="{i}" r:id="r{i}"/>' for i, n in names))
        )
        root = f'<Relationship Id="b" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
        file.writestr("_rels/.rels", _LINKS.format(root))
        links = [f'<Relationship Id="r{i}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{i}.xml"/>' for i, _ in names]
        links.append(f'<Relationship Id="s" Type="{_OFFICE}/styles" Target="styles.xml"/>')
        file.writestr("xl/_rels/workbook.xml.rels", _LINKS.format("".join(links)))
        file.writestr("xl/styles.xml", _STYLES)
        for index, name in names:
            rows = "".join(_row(row, number) for number, row in enumerate(sheets[name], first_row))
            file.writestr(f"xl/worksheets/sheet{index}.xml", _SHEET.format(rows))
    return path


def _row(cells, number):
    return f'<row r="{number}">{"".join(_cell(cell, f"{chr(65 + index)}{number}") for index, cell in enumerate(cells))}</row>'


def _cell(cell, name):
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return f'<c r="{name}" t="b"><v>{int(cell)}</v></c>'
    if isinstance(cell, datetime.date):
        return f'<c r="{name}" s="1"><v>{(cell - datetime.date(1899, 12, 30)).days}</v></c>'
    if isinstance(cell, str):
        return f'<c r="{name}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
    return f'<c r="{name}"><v>{cell}</v></c>'
