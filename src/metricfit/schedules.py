"""Schedules: functions from a step to a value. Nothing to register, nothing to save.

    scale = schedules.geometric(10, 0.01, steps=8000)
    for step, (x, y) in enumerate(batches):
        loss(model(x), y, scale=scale(step)).backward()

Steps before 0 return the first value, and steps after the last one return the last value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from metricfit._checks import check_number

__all__ = ["Schedule", "constant", "cosine", "geometric", "join", "linear"]

Schedule = Callable[[float], float]


def constant(value: float) -> Schedule:
    """The same value at every step.

    Parameters
    ----------
    value : float
        The value.

    Returns
    -------
    Schedule
        A function from a step to the value.

    Examples
    --------
    >>> from metricfit.schedules import constant
    >>> constant(0.5)(100)
    0.5
    """
    check_number(value, "value", -math.inf)
    return lambda step: float(value)


def linear(start: float, stop: float, steps: int) -> Schedule:
    """Equal differences: start + (stop - start) t, where t goes from 0 to 1 in ``steps``.

    Parameters
    ----------
    start, stop : float
        The first and the last value, which earlier and later steps keep.
    steps : int
        The number of steps.

    Returns
    -------
    Schedule
        A function from a step to a value.

    Examples
    --------
    >>> from metricfit.schedules import linear
    >>> linear(10, 0, steps=4)(1)
    7.5
    """
    return _interpolate(start, stop, steps, lambda t: start + (stop - start) * t)


def geometric(start: float, stop: float, steps: int) -> Schedule:
    """Equal ratios: start (stop / start)**t, where t goes from 0 to 1 in ``steps``.

    Parameters
    ----------
    start, stop : float
        The first and the last value, which earlier and later steps keep.
    steps : int
        The number of steps.

    Returns
    -------
    Schedule
        A function from a step to a value.

    References
    ----------
    EXACT's scale goes from 10 to 0.01 or 1 (arXiv 2205.09615, section 5.4). EAST's temperature is 0.2 r**k (arXiv 2405.20954,
    section 4.3).

    Examples
    --------
    >>> from metricfit.schedules import geometric
    >>> round(geometric(10, 0.1, steps=4)(2), 12)
    1.0
    """
    check_number(start, "start", 0.0, open_low=True)
    check_number(stop, "stop", 0.0, open_low=True)
    return _interpolate(start, stop, steps, lambda t: start * (stop / start) ** t)


def cosine(start: float, stop: float, steps: int) -> Schedule:
    """Half a cosine wave, which changes slowly at both ends.

    Parameters
    ----------
    start, stop : float
        The first and the last value, which earlier and later steps keep.
    steps : int
        The number of steps.

    Returns
    -------
    Schedule
        A function from a step to a value.

    Examples
    --------
    >>> from metricfit.schedules import cosine
    >>> round(cosine(1, 0, steps=2)(1), 12)
    0.5
    """
    return _interpolate(start, stop, steps, lambda t: stop + (start - stop) * 0.5 * (1.0 + math.cos(math.pi * t)))


def join(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """One schedule after another; each counts its steps from its boundary.

    Parameters
    ----------
    schedules : sequence of Schedule
        The schedules.
    boundaries : sequence of int
        The first step of each schedule but the first.

    Returns
    -------
    Schedule
        A function from a step to a value.

    Examples
    --------
    >>> from metricfit.schedules import constant, join, linear
    >>> warm = join([linear(0, 1, steps=10), constant(1)], boundaries=[10])
    >>> warm(5), warm(50)
    (0.5, 1.0)
    """
    schedules, boundaries = list(schedules), list(boundaries)
    for schedule in schedules:
        if not callable(schedule):
            raise TypeError(f"`schedules` should be functions of a step, got {schedule!r}. Try `constant({schedule!r})`.")
    if len(boundaries) != len(schedules) - 1 or boundaries != sorted(boundaries):
        raise ValueError(
            f"`boundaries` should be rising and one fewer than the {len(schedules)} schedules, got {boundaries!r}."
        )

    def value_at(step: float) -> float:
        index = sum(step >= boundary for boundary in boundaries)
        return schedules[index](step - (boundaries[index - 1] if index else 0))

    return value_at


def _interpolate(start: float, stop: float, steps: int, curve: Callable[[float], float]) -> Schedule:
    check_number(start, "start", -math.inf)
    check_number(stop, "stop", -math.inf)
    check_number(steps, "steps", 1)
    return lambda step: float(curve(min(max(step / steps, 0.0), 1.0)))
