"""Looking up what was found."""

from __future__ import annotations

from reproductions._experiment import Found


def distinct(found: Found, key: str, **wanted: str) -> list[str]:
    """What the cells have there, in their order.

    >>> distinct([({"set": "car", "seed": 0}, {}), ({"set": "car", "seed": 1}, {})], "set")
    ['car']
    """
    return list(dict.fromkeys(str(cell[key]) for cell, _ in found if wanted.items() <= cell.items()))


def values(found: Found, score: str, **wanted: str) -> list[float]:
    """Of the cells with these entries: over seeds, in their order.

    >>> found = [({"set": "car", "seed": 0}, {"test": 95.0}), ({"set": "wine", "seed": 0}, {"test": 100.0})]
    >>> values(found, "test", set="car")
    [95.0]
    """
    return [numbers[score] for cell, numbers in found if wanted.items() <= cell.items()]


def differences(first: list[float], second: list[float]) -> list[float]:
    """Seed by seed.

    >>> differences([3.0, 2.0], [1.0, 1.0])
    [2.0, 1.0]
    """
    return [a - b for a, b in zip(first, second, strict=True)]
