"""A second pass over the same rows: it starts from the random numbers and the running statistics of the first."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy


def remember(*modules: nn.Module) -> Callable[[], None]:
    """Save torch's random states and the modules' buffers and generators; the returned function restores them.

    Dropout then draws the same masks again, and the running averages of batch normalisation move once.

    >>> restore = remember(layer := nn.BatchNorm1d(1))
    >>> (layer(torch.tensor([[1.0], [3.0]])), layer.running_mean)[1]
    tensor([0.2000])
    >>> (restore(), layer.running_mean)[1]
    tensor([0.])
    """
    random, buffers = _save_random_states(modules), _save_buffers(modules)

    def restore() -> None:
        random()
        buffers()

    return restore


def _save_random_states(modules: tuple[nn.Module, ...]) -> Callable[[], None]:
    """The random states of the CPU, of the modules' devices and of the modules' own generators."""
    parameters = [parameter for module in modules for parameter in module.parameters()]
    devices = {parameter.device for parameter in parameters if parameter.device.type not in ("cpu", "meta")}
    states = [(torch.get_device_module(device.type), device) for device in devices]
    saved = [(module.set_rng_state, module.get_rng_state(device), device) for module, device in states]
    parts = [part for module in modules for part in module.modules()]
    generators = [value for part in parts for value in vars(part).values() if isinstance(value, torch.Generator)]
    own = [(generator, generator.get_state()) for generator in generators]
    cpu = torch.get_rng_state()

    def restore() -> None:
        torch.set_rng_state(cpu)
        for set_state, state, device in saved:
            set_state(state, device)
        for generator, state in own:
            generator.set_state(state)

    return restore


def _save_buffers(modules: tuple[nn.Module, ...]) -> Callable[[], None]:
    """The buffers, such as running averages; one that did not exist yet, such as a loss's memory, is None again."""
    saved = [
        (part, name, None if buffer is None else buffer.clone())
        for module in modules
        for part in module.modules()
        for name, buffer in part._buffers.items()
        if buffer is None or not is_lazy(buffer)
    ]

    def restore() -> None:
        for part, name, before in saved:
            now = part._buffers[name]
            if isinstance(now, Tensor) and before is not None and now.shape == before.shape:
                now.copy_(before)  # others may hold this tensor
            else:
                part._buffers[name] = before

    return restore
