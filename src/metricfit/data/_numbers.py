"""Numbers as people write them: 1,234.56 and 1.234,56, 12.3%, € 9.99, 1 234, (12.50).

The format of a column is the number 1234.56 as this column would write it, such as ``1.234,56 €``. All values of a column
decide it, never a single cell: ``1,234`` alone may be 1234 or 1.234. Once the decimal sign is known, the other signs can only
group thousands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, reduce

import pyarrow as pa
import pyarrow.compute as pc

MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "NULL", "null", "None")
SYMBOLS = "€$£¥₹₽₩₺₴₪"
CODES = (
    *("EUR", "USD", "GBP", "JPY", "CHF", "CNY", "INR", "AUD", "CAD", "NZD", "SEK", "NOK", "DKK"),
    *("PLN", "CZK", "HUF", "RUB", "TRY", "BRL", "MXN", "ZAR", "KRW", "SGD", "HKD"),
)
UNITS = ("", "%", *SYMBOLS, *CODES)
MINUS = "\u2212"
_SPACES = "[ \u00a0\u2009\u202f]"
_SIGN = f"[-+{MINUS}]"
_NOT_UNIT = f"[0-9.,'\u2019()+{MINUS} \u00a0\u2009\u202f-]"
_EXPONENT = r"([0-9.,])[eE][-+]?[0-9]+$"
_PLAIN = r"^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$"
_UNIT = "|".join(re.escape(unit) for unit in UNITS if unit)
_FORMAT = re.compile(
    rf"(?P<open>\()?{MINUS}?(?:(?P<before>{_UNIT}) )?"
    rf"1(?P<group>[.,' ]?)234(?P<decimal>[.,])56"
    rf"(?: ?(?P<after>{_UNIT}))?(?P<close>\))?"
)


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number, with a decimal point or comma."""
    try:
        return abs(float(cell.replace(",", "."))) < float("inf")
    except ValueError:
        return False


@dataclass(frozen=True)
class NumberStyle:
    """How the numbers in a text column are written."""

    format: str  # of most numbers; "" for plain ones
    share: float  # of the cells, in this format
    n_others: int  # cells that are not in this format
    others: tuple[str, ...]  # the most frequent of these
    example: str = ""
    any_share: float = 0.0  # of the cells, in any format
    choice: str = ""  # how the column is read, if a sign could separate decimals or thousands


def find_numbers(text: pa.ChunkedArray, file_decimal: str = ".") -> NumberStyle:
    """How the numbers in a trimmed text column are written; ``file_decimal`` decides where the values leave it open."""
    counts = pc.value_counts(pc.drop_null(text).combine_chunks())
    words, weights = counts.field(0), counts.field(1)
    total = pc.sum(weights).as_py() or 1
    plain = pc.match_substring_regex(words, _PLAIN)
    n_plain = _total(weights, plain)
    found = NumberStyle("", n_plain / total, total - n_plain, _others(words, weights, plain), _first(words, plain))
    residue = pc.replace_substring_regex(words, _EXPONENT, r"\1")
    residue = pc.replace_substring_regex(residue, _NOT_UNIT, "")
    units = {unit: _total(weights, pc.equal(residue, unit)) for unit in pc.unique(residue).to_pylist() if unit in UNITS}
    for unit in sorted(units, key=lambda name: -units[name]):
        other = _find_style(words, weights, residue, unit, file_decimal, total)
        found = other if other is not None and other.share > found.share else found
    numbers = [pc.match_substring_regex(words, _pattern(sign, unit)) for unit in units for sign in ".,"]
    return replace(found, any_share=_total(weights, reduce(pc.or_, numbers, plain)) / total)


def parse_numbers(text: pa.ChunkedArray, format: str) -> pa.ChunkedArray:
    """Floats; null for cells that are not written in this format."""
    style = _FORMAT.fullmatch(format)
    assert style is not None
    decimal, unit = style["decimal"], style["before"] or style["after"] or ""
    text = pc.if_else(pc.match_substring_regex(text, _pattern(decimal, unit)), text, None)
    number = pc.replace_substring(text, MINUS, "-")
    number = pc.replace_substring(number, unit, "") if unit else number
    number = pc.replace_substring_regex(number, f"[^0-9eE+{re.escape(decimal)}-]", "")
    values = pc.replace_substring(number, decimal, ".").cast(pa.float64())
    values = pc.divide(values, 100.0) if unit == "%" else values
    return pc.if_else(pc.match_substring(text, "("), pc.negate(values), values)


def is_number_format(format: str) -> bool:
    """Whether :func:`parse_numbers` knows this format.

    >>> [is_number_format(format) for format in ("1.234,56 €", "EUR 1,234.56", "1234.56%", "1234")]
    [True, True, True, False]
    """
    return _FORMAT.fullmatch(format) is not None


def grouped_by_point(text: pa.ChunkedArray) -> str:
    """A value such as 1.234, if all plain numbers of a column could also be integers with points between thousands."""
    words = pc.drop_null(text)
    pointed = words.filter(pc.match_substring(words, "."))
    in_doubt = len(pointed) and pc.all(pc.match_substring_regex(words, r"^[-+]?[1-9][0-9]{0,2}(?:\.[0-9]{3})?$")).as_py()
    return pointed[0].as_py() if in_doubt else ""


def _find_style(
    words: pa.Array, weights: pa.Array, residue: pa.Array, unit: str, file_decimal: str, total: int
) -> NumberStyle | None:
    """The best format with this unit; None if no value has it."""
    has_unit = pc.equal(residue, unit)
    fits = {sign: pc.and_(has_unit, pc.match_substring_regex(words, _pattern(sign, unit))) for sign in ".,"}
    n_fit = {sign: _total(weights, mask) for sign, mask in fits.items()}
    if not max(n_fit.values()):
        return None
    choice, decimal = "", "." if n_fit["."] > n_fit[","] else ","
    if n_fit["."] == n_fit[","]:
        decimal = file_decimal
        shown = words.filter(fits[decimal])
        signs = [sign for sign in ".," if pc.any(pc.match_substring(shown, sign)).as_py()]
        if len(signs) == 2:  # 1,234 and 1.234: neither reading is more likely
            return None
        if signs:
            decimal = signs[0] if unit == "%" else file_decimal
            example = shown.filter(pc.match_substring(shown, signs[0]))[0].as_py()
            choice = _describe_choice(example, signs[0], decimal)
    mask = fits[decimal]
    format = _format_like(words.filter(mask), decimal, unit)
    n_fits = n_fit[decimal]
    return NumberStyle(
        format, n_fits / total, total - n_fits, _others(words, weights, mask), _first(words, mask), choice=choice
    )


def _describe_choice(example: str, sign: str, decimal: str) -> str:
    name = "comma" if sign == "," else "point"
    number = re.sub(r"[^0-9.,]", "", example)
    groups, fraction = number.replace(sign, ""), number.replace(sign, ".")
    if sign == decimal:
        return f"{number!r} is read as {fraction}, not as {groups}. If the {name} groups thousands, remove it from the file."
    other = "point" if sign == "," else "comma"
    return f"{number!r} is read as {groups}, not as {fraction}. If the {name} is a decimal sign, write a {other} in the file."


def _format_like(words: pa.Array, decimal: str, unit: str) -> str:
    """The number 1234.56 as these values write it."""
    group = ""
    for sign in (".", ",", "'\u2019", _SPACES[1:-1]):
        if sign != decimal and pc.any(pc.match_substring_regex(words, f"[0-9][{sign}][0-9]{{3}}")).as_py():
            group = sign[0]
    number = f"1{group}234{decimal}56"
    if unit == "%":
        number += unit
    elif unit:
        before = pc.any(pc.match_substring_regex(words, f"{re.escape(unit)}.*[0-9]")).as_py()
        number = f"{unit} {number}" if before else f"{number} {unit}"
    if pc.any(pc.match_substring(words, "(")).as_py():
        return f"({number})"
    return MINUS + number if number == "1234.56" else number


@cache
def _pattern(decimal: str, unit: str) -> str:
    other = "," if decimal == "." else r"\."
    grouped = "|".join(f"[1-9][0-9]{{0,2}}(?:{sign}[0-9]{{3}})+" for sign in (other, _SPACES, "['\u2019]"))
    point = re.escape(decimal)
    number = f"(?:(?:0|[1-9][0-9]*|{grouped})(?:{point}[0-9]*)?|{point}[0-9]+)"
    name, gap = re.escape(unit), f"{_SPACES}*"
    if not unit:
        forms = [f"{_SIGN}?{gap}{number}(?:[eE][-+]?[0-9]+)?", f"\\({number}\\)"]
    else:
        forms = [f"{_SIGN}?{gap}{number}{gap}{name}", f"\\({number}{gap}{name}\\)", f"\\({number}\\){gap}{name}"]
    if unit not in ("", "%"):
        forms += [f"{_SIGN}?{gap}{name}{gap}{number}", f"{name}{gap}{_SIGN}{gap}{number}"]
        forms += [f"\\({name}{gap}{number}\\)", f"{name}{gap}\\({number}\\)"]
    return f"^(?:{'|'.join(forms)})$"


def _first(words: pa.Array, mask: pa.Array) -> str:
    index = pc.index(mask, True).as_py()
    return words[index].as_py() if index >= 0 else ""


def _total(weights: pa.Array, mask: pa.Array) -> int:
    return pc.sum(weights.filter(mask)).as_py() or 0


def _others(words: pa.Array, weights: pa.Array, mask: pa.Array) -> tuple[str, ...]:
    """The five most frequent values outside the mask."""
    rest = pc.invert(mask)
    words, weights = words.filter(rest), weights.filter(rest)
    order = pc.array_sort_indices(weights, order="descending")[:5]
    return tuple(words.take(order).to_pylist())
