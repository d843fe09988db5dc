"""Schedules of the learning rate: functions of the step, or those of torch, which have a state."""

from __future__ import annotations

import contextlib
import copy
import math
import warnings
from typing import Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from metricfit.schedules import Schedule
from metricfit.training._checkpoint import one_line
from metricfit.training._state import State, check_like_own

Rate = Schedule | LRScheduler


def check_rate(lr: Rate | None, optimizer: Optimizer) -> None:
    """Raise a ValueError unless this schedule can be advanced after every step."""
    if isinstance(lr, ReduceLROnPlateau):
        raise ValueError("`lr` should depend on the step alone, got ReduceLROnPlateau, which needs a metric.")
    if isinstance(lr, LRScheduler) and lr.optimizer is not optimizer:
        raise ValueError("`lr` should be a schedule of this `optimizer`, got one of another optimizer.")


def check_schedule(found: Any, schedule: LRScheduler, groups: list[State]) -> None:
    """A state like the schedule's own, with which a step gives usable rates; ``groups`` are those of the loaded optimizer."""
    check_like_own(found, schedule.state_dict(), "the schedule")
    optimizer = copy.copy(schedule.optimizer)
    optimizer.param_groups = copy.deepcopy(groups)
    trial = copy.deepcopy(schedule, {id(schedule.optimizer): optimizer})
    with warnings.catch_warnings(), contextlib.suppress(ValueError):  # so does a schedule say that it has ended
        warnings.simplefilter("ignore")
        load_schedule(trial, copy.deepcopy(found))
        trial.step()
    rates = [float(group["lr"]) for group in optimizer.param_groups]
    if not all(math.isfinite(rate) and rate >= 0.0 for rate in rates):
        raise ValueError(f"the schedule should have rates that are finite and not negative, got {one_line(rates)}")


def load_schedule(schedule: LRScheduler, state: State) -> None:
    own = schedule.state_dict()
    schedule.load_state_dict({name: _as_own(value, own[name]) for name, value in state.items()})


def _as_own(value: Any, own: Any) -> Any:
    """A dictionary of the schedule's own kind, which a file does not keep."""
    return type(own)(value) if isinstance(own, dict) else value
