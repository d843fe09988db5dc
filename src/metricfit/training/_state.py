"""Whether the state in a file fits a trainer: names, shapes, dtypes and numbers, before any of it is applied."""

from __future__ import annotations

import contextlib
import copy
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter
from torch.optim import Optimizer

from metricfit.training._checkpoint import is_finite, one_line

State = dict[str, Any]

COUNTERS = ("step", "epoch", "since_best", "history", "best_value")
ROW = {"step", "surrogate", "scale", "lr", "gradient_norm", "live", "metric", "held_out_loss"}
OVERFLOWS = {"surrogate", "held_out_loss", "gradient_norm"}  # may be infinite in half precision; all but the step may be NaN
UNBEATEN = (-math.inf, -math.inf)
RULES = ("metric", "loss")  # by which the best weights are found, and training stops


def check_names(found: Any, wanted: set[str], where: str, optional: Sequence[str] = ()) -> None:
    """Raise a ValueError unless a dictionary has these names."""
    if not isinstance(found, dict):
        raise ValueError(f"{where} should be a dictionary, got {type(found).__name__}")
    missing, unknown = sorted(wanted - found.keys()), sorted(map(str, found.keys() - wanted - {*optional}))
    if missing or unknown:
        what = f"lacks {one_line(missing[0])!r}" if missing else f"has {one_line(unknown[0])!r}, which is not known here"
        raise ValueError(f"{where} {what}")


def check_module(found: Any, own: Mapping[str, Any], where: str, optional: Sequence[str] = ()) -> None:
    """The state of a module: the same names, shapes and dtypes as its own, and finite numbers where its own are finite."""
    check_names(found, set(own) - {*optional}, where, optional)
    for name, value in found.items():
        _check_like(value, own.get(name), f"{where} {name!r}")


def check_loss(found: Any, own: Mapping[str, Any]) -> None:
    """The state of a loss, whose memory has a shape only after the first batch."""
    names = found.keys() if isinstance(found, dict) else set[str]()
    memories = [name for name in {*names, *own} if str(name).rpartition(".")[2] == "running"]
    check_module(found, own, "the loss", memories)
    for name in set(memories) & found.keys() - own.keys():
        memory = found[name]
        if not isinstance(memory, Tensor) or not memory.is_floating_point() or not is_finite(memory):
            raise ValueError(f"the loss {name!r} should be a tensor of finite numbers")
        if memory.ndim not in (1, 2) or memory.shape[-1] < 2:  # sums over rows, or per class; the next batch knows how many
            raise ValueError(f"the loss {name!r} should be sums per class, got shape {tuple(memory.shape)}")


def check_normalizer(found: Any, own: Mapping[str, Any]) -> None:
    check_module(found, own, "the normalizer")
    if any(isinstance(value, Tensor) and bool((value < 0.0).any()) for value in found.values()):
        raise ValueError("the normalizer should have a norm that is not negative")


def check_random(found: Any) -> None:
    """The state of torch's generator."""
    own = torch.get_rng_state()
    if not isinstance(found, Tensor) or found.shape != own.shape or found.dtype != own.dtype:
        raise ValueError("the random state is not one of this version of torch")
    try:
        torch.Generator().set_state(found)
    except RuntimeError as error:
        raise ValueError(f"the random state is not one of torch ({one_line(error)})") from error


def check_like_own(found: Any, own: Any, where: str) -> None:
    """A tree of the same names, lengths and kinds as the trainer's own, with finite numbers and the same texts."""
    if isinstance(own, Mapping):
        check_names(found, set(own), where)
        for name, value in own.items():
            check_like_own(found[name], value, f"{where} {one_line(name)!r}")
    elif isinstance(own, list | tuple):
        if type(found) is not type(own) or len(found) != len(own):
            raise ValueError(f"{where} should be a {type(own).__name__} of {len(own)}, got {one_line(found)}")
        for value, mine in zip(found, own, strict=True):
            check_like_own(value, mine, where)
    elif isinstance(own, Tensor):
        _check_like(found, own, where)
    elif _kind(found) != _kind(own) or (isinstance(own, str) and found != own):
        raise ValueError(f"{where} should be like {one_line(own)}, got {one_line(found)}")
    else:
        _check_entry(found, where)


def check_counters(state: State) -> None:
    """Counters that a training can have, and a history of as many epochs."""
    step, epoch, since_best, history, best_value = (state[name] for name in COUNTERS)
    for name in ("step", "epoch", "since_best"):
        check_count(state[name], name)
    if since_best > epoch:
        raise ValueError(f"'since_best' should be at most 'epoch', {epoch}, got {since_best}")
    if not isinstance(history, list) or len(history) != epoch:
        raise ValueError(f"the history should have a row for each of {epoch} epochs")
    for place, row in enumerate(history):
        _check_row(row, history[place - 1]["step"] if place else 0, step, f"row {place} of the history")
    check_value(best_value, "best_value")
    if tuple(best_value) != UNBEATEN and not is_value_of(best_value, history):
        raise ValueError("'best_value' should be that of a row of the history")


def check_count(found: Any, name: str) -> None:
    if type(found) is not int or not 0 <= found < 2**63:
        raise ValueError(f"{name!r} should be a count, got {one_line(found)}")


def check_value(found: Any, name: str) -> None:
    """Two numbers by which epochs are compared, see :func:`value_of`."""
    if not isinstance(found, list | tuple) or len(found) != 2 or not all(type(one) is float for one in found):
        raise ValueError(f"{name!r} should be two floats")


def value_of(row: State, rule: str) -> tuple[float, float]:
    """What makes an epoch better than another: its metric, then its surrogate; or its held-out loss, then its metric."""
    return (row["metric"], -row["surrogate"]) if rule == "metric" else (-row["held_out_loss"], row["metric"])


def is_value_of(value: Sequence[float], history: list[State]) -> bool:
    return any(_same(value_of(row, rule), value) for row in history for rule in RULES)


def check_optimizer(found: Any, optimizer: Optimizer) -> None:
    """Groups with the optimizer's own options, and for each parameter the state that a step with these options makes."""
    check_names(found, {"state", "param_groups"}, "the optimizer")
    own, groups, state = optimizer.state_dict()["param_groups"], found["param_groups"], found["state"]
    if not isinstance(groups, list) or len(groups) != len(own):
        raise ValueError(f"the optimizer should have {len(own)} groups of parameters")
    for place, (group, mine) in enumerate(zip(groups, own, strict=True)):
        _check_group(group, mine, f"group {place} of the optimizer")
    if not isinstance(state, dict) or not all(type(key) is int for key in state):
        raise ValueError("the optimizer's state should be a dictionary by the number of a parameter")
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    inner = getattr(optimizer, "base_optimizer", optimizer)  # of SAM, which takes no step without another gradient
    made = _state_after_a_step(inner, groups)
    if made is None and _state_after_a_step(inner, own) is not None:
        raise ValueError("the optimizer cannot take a step with these options")
    made = made or optimizer.state_dict()["state"] or None  # some have their state before the first step
    for key, entry in state.items():
        if not 0 <= key < len(parameters):
            raise ValueError(f"the optimizer has {len(parameters)} parameters, got state of number {key}")
        where = f"the optimizer's state of parameter {key}"
        if made is None:
            _check_entry(entry, where)
        else:
            check_module(entry, made.get(key, {}), where)


def _state_after_a_step(optimizer: Optimizer, groups: list[State]) -> State | None:
    """The state that a copy of the optimizer has after a step; None if it cannot be copied or needs more than gradients.

    It takes the step without memory, on the device "meta"; with memory where an optimizer reads its numbers.
    """
    for device in ("meta", None):
        with contextlib.suppress(Exception), torch.random.fork_rng(devices=[]):  # what an optimizer raises is not known
            trial = copy.copy(optimizer)
            trial.state = defaultdict(dict)
            trial.param_groups = [
                {**copy.deepcopy(options), "params": [_zero(parameter, device) for parameter in group["params"]]}
                for options, group in zip(groups, optimizer.param_groups, strict=True)
            ]
            trial.step()
            return dict(trial.state_dict()["state"])
    return None


def _zero(parameter: Tensor, device: str | None) -> Tensor:
    zero = torch.zeros_like(parameter, device=device, requires_grad=True)
    zero.grad = torch.zeros_like(zero)
    return zero


def _check_group(found: Any, own: State, where: str) -> None:
    extra = [name for name in found if name not in own] if isinstance(found, dict) else []
    check_names(found, set(own), where, extra)  # schedulers add options
    if found["params"] != own["params"]:
        raise ValueError(f"{where} should have the parameters {one_line(own['params'])}")
    for name, value in found.items():
        mine = own.get(name, 0.0)
        if name != "params" and not _is_option(value, mine):
            raise ValueError(f"{where} should have a {_kind(mine)} as {one_line(name)!r}, got {one_line(value)}")
        numbers = value if isinstance(value, list | tuple) else [value]
        if not all(is_finite(torch.as_tensor(one)) for one in numbers if isinstance(one, float | Tensor)):
            raise ValueError(f"{where} should have a finite {one_line(name)!r}, got {one_line(value)}")
    if float(found.get("lr", 0.0)) < 0.0:
        raise ValueError(f"{where} should have a learning rate that is not negative, got {float(found['lr'])}")


def _check_entry(value: Any, where: str) -> None:
    """Any tree of finite numbers, for optimizers whose state is not known."""
    if isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            _check_entry(item, where)
    elif isinstance(value, Tensor | float) and not is_finite(torch.as_tensor(value)):
        raise ValueError(f"{where} should have finite numbers")


def _check_like(value: Any, own: Any, where: str) -> None:
    if own is None or isinstance(own, UninitializedParameter | UninitializedBuffer):
        return
    if isinstance(value, Tensor) != isinstance(own, Tensor):
        raise ValueError(f"{where} should be a {type(own).__name__}, got a {type(value).__name__}")
    if not isinstance(value, Tensor):
        _check_entry(value, where)
        return
    if value.shape != own.shape:
        raise ValueError(f"{where} should have shape {tuple(own.shape)}, got {tuple(value.shape)}")
    if value.dtype != own.dtype:
        raise ValueError(f"{where} should be {own.dtype}, got {value.dtype}")
    if not is_finite(value) and (own.is_meta or is_finite(own)):
        raise ValueError(f"{where} has NaN or infinity")


def _check_row(row: Any, before: int, last: int, where: str) -> None:
    check_names(row, ROW, where)
    if type(row["step"]) is not int or not before <= row["step"] <= last:
        raise ValueError(f"{where} should have a step in {before} ... {last}, got {one_line(row['step'])}")
    for name, value in row.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{where} should have a number as {name!r}, got {one_line(value)}")
        if math.isinf(value) and name not in OVERFLOWS:
            raise ValueError(f"{where} should have a finite {name!r}, got {value}")
        if value < 0.0 and name in ("scale", "lr", "gradient_norm", "live"):
            raise ValueError(f"{where} should have a {name!r} that is not negative, got {value}")


def _is_option(value: Any, own: Any) -> bool:
    """Whether a value is of the kind of an optimizer's own; an option that may be left open is a flag or a number."""
    if own is None:
        return value is None or _kind(value) in ("flag", "number")
    return _kind(value) == _kind(own) or (value is None and _kind(own) == "flag")


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, int | float | Tensor):
        return "number"
    if isinstance(value, list | tuple):
        return f"list of {', '.join(map(_kind, value))}"
    return type(value).__name__


def _same(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a == b or (a != a and b != b) for a, b in zip(one, other, strict=True))
