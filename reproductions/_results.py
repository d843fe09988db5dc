"""Select values from results."""

from __future__ import annotations

from reproductions._experiment import Cell, Results


def matching(found: Results, **wanted: str | int) -> Results:
    """The cells that match ``wanted``, and their numbers."""
    return [(cell, numbers) for cell, numbers in found if wanted.items() <= cell.items()]


def distinct_values(found: Results, key: str, **wanted: str | int) -> list[str]:
    """The distinct values of ``key`` in the cells that match ``wanted``, in the order of the cells.

    >>> distinct_values([({"set": "car", "seed": 0}, {}), ({"set": "car", "seed": 1}, {})], "set")
    ['car']
    """
    return list(dict.fromkeys(str(cell[key]) for cell, _ in matching(found, **wanted)))


def values(found: Results, score: str, **wanted: str | int) -> list[float]:
    """The scores of the cells that match ``wanted``, in the order of the cells.

    >>> found = [({"set": "car", "seed": 0}, {"test": 95.0}), ({"set": "wine", "seed": 0}, {"test": 100.0})]
    >>> values(found, "test", set="car")
    [95.0]
    """
    return [numbers[score] for _, numbers in matching(found, **wanted)]


def differences(first: list[float], second: list[float]) -> list[float]:
    """Paired differences.

    >>> differences([3.0, 2.0], [1.0, 1.0])
    [2.0, 1.0]
    """
    return [a - b for a, b in zip(first, second, strict=True)]


def paired_differences(found: Results, score: str, first: Cell, second: Cell) -> list[float]:
    """Differences between the cells that match ``first`` and those that match ``second``, for the seeds that both have.

    >>> found = [({"loss": loss, "seed": 0}, {"test": value}) for loss, value in (("a", 95.0), ("b", 94.0))]
    >>> paired_differences([*found, ({"loss": "a", "seed": 1}, {"test": 96.0})], "test", {"loss": "a"}, {"loss": "b"})
    [1.0]
    """
    own, other = ({cell["seed"]: row[score] for cell, row in matching(found, **wanted)} for wanted in (first, second))
    return [own[seed] - other[seed] for seed in own if seed in other]
