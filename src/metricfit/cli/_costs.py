"""``--cost``: what wrong answers cost, as text or as a file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metricfit._errors import DataError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metricfit.metrics import Cost

OTHERWISE = "otherwise"
LONG_HEADER = ["true", "predicted", "cost"]
EXAMPLE = '--cost "bad,good=5; good,bad=1": the true class, the predicted class, the cost'


def parse_cost(given: str, classes: NDArray[Any]) -> Cost:
    """Costs by name. ``given`` is a CSV file, or pairs such as ``bad,good=5; good,bad=1; otherwise=2``."""
    from metricfit.data import label_like
    from metricfit.metrics import Cost

    pairs = _read_file(Path(given)) if _is_file(given) else _parse_pairs(given)
    otherwise = pairs.pop((OTHERWISE, OTHERWISE), None)
    named = {tuple(label_like(name, classes, "--cost") for name in pair): cost for pair, cost in pairs.items()}
    if not named:
        raise UsageError(f"--cost names no pair of classes. Example: {EXAMPLE}.")
    costs = Cost(named, otherwise=otherwise)
    try:
        costs.for_classes(classes.tolist())
    except ValueError as error:
        text = str(error).replace("`Cost`", "--cost").replace("pass `otherwise`", "add otherwise=...")
        raise UsageError(text) from error
    return costs


def describe_cost(costs: Cost) -> str:
    """The costs by name, in one line."""
    pairs = [(*pair, cost) for pair, cost in dict(costs.matrix).items()]  # type: ignore[arg-type]
    if costs.otherwise is not None:
        pairs.append(("others", "others", costs.otherwise))
    listed = "; ".join(f"{true}, {predicted} = {cost:g}" for true, predicted, cost in pairs)
    return f"Costs (true class, predicted class): {listed}."


def _is_file(given: str) -> bool:
    return "=" not in given or Path(given).is_file()


def _parse_pairs(given: str) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for part in filter(None, (part.strip() for part in given.split(";"))):
        names, _, cost = part.rpartition("=")
        pair = [name.strip() for name in next(csv.reader([names]), [])]
        pair = [OTHERWISE, OTHERWISE] if pair == [OTHERWISE] else pair
        if len(pair) != 2:
            raise UsageError(f"--cost should have parts such as {EXAMPLE.split(': ')[0]}, got {part!r}.")
        _add(found, pair, cost, "--cost")
    return found


def _read_file(path: Path) -> dict[tuple[str, str], float]:
    """A table with a row per true class and a column per predicted class, or one with columns true, predicted, cost."""
    if not path.is_file():
        raise UsageError(f"--cost {str(path)!r} is neither a file nor a list of costs. Example: {EXAMPLE}.")
    try:
        text = path.read_text(encoding="utf-8-sig")
        records = [[cell.strip() for cell in record] for record in csv.reader(io.StringIO(text)) if any(record)]
    except (UnicodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as a table of costs: {error}.") from error
    if len(records) < 2:
        raise DataError(f"{path} should have a header and a row per true class, got {len(records)} lines.")
    header, rows = records[0], records[1:]
    found: dict[tuple[str, str], float] = {}
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise DataError(f"{path}, line {number} has {len(row)} cells, expected {len(header)} as in the header.")
        if [name.lower() for name in header] == LONG_HEADER:
            _add(found, row[:2], row[2], f"{path}, line {number}")
        else:
            for predicted, cost in zip(header[1:], row[1:], strict=True):
                _add(found, (row[0], predicted), cost, f"{path}, line {number}")
    return found


def _add(found: dict[tuple[str, str], float], pair: Sequence[str], cost: str, where: str) -> None:
    true, predicted = pair
    try:
        value = float(cost)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{where}: the cost of {true},{predicted} should be a number, got {cost.strip()!r}.")
    if (true, predicted) in found:
        raise DataError(f"{where}: {true},{predicted} has a cost already.")
    found[true, predicted] = value
