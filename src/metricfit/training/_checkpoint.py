"""The file of a checkpoint: numbers and tensors, no code, and a checksum over all of it.

It has two lines, the format's name and the SHA-256 of the rest. Then comes a line of JSON, the state with a place for every
tensor. Then come the tensors as safetensors, whose header has to match the bytes that are there: a reader allocates no more.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import safetensors.torch
import torch
from torch import Tensor

from metricfit._files import UnfitFileError, open_regular
from metricfit._printable import printable

FORMAT = b"metricfit checkpoint 1"
CHECKSUM = 64  # letters
# what the readers of JSON and safetensors raise for content that is not theirs
UNREADABLE = (
    AssertionError,
    KeyError,
    OverflowError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
    safetensors.SafetensorError,
)


def write_state(file: Path, state: Any) -> None:
    """Write a tree of dictionaries, lists, tuples, tensors, texts and numbers."""
    tree, numbers = to_bytes(state)
    digest = hashlib.sha256(tree)
    digest.update(numbers)
    with file.open("wb") as out:
        out.writelines((FORMAT, b"\n", digest.hexdigest().encode(), b"\n", tree, numbers))


def read_state(file: Path, limit: int) -> Any:
    """Read what :func:`write_state` wrote; a ValueError says what is wrong with the file."""
    with _opened(file, limit) as opened:
        name, checksum = opened.readline(len(FORMAT) + 1), opened.readline(CHECKSUM + 1)
        if name[:2] == b"PK":
            raise ValueError("an earlier version wrote it, without a checksum; train again, or load it with that version")
        if name != FORMAT + b"\n":
            raise ValueError("it is not a checkpoint of metricfit")
        tree, numbers = opened.readline(limit), opened.read(limit)
    digest = hashlib.sha256(tree)
    digest.update(numbers)
    if digest.hexdigest().encode() + b"\n" != checksum:
        raise ValueError("its checksum does not match: it is damaged or incomplete; take an earlier one")
    return from_bytes(tree, numbers)


def to_bytes(state: Any) -> tuple[bytes, bytes]:
    """A tree as a line of JSON, and its tensors as safetensors."""
    tensors: dict[str, Tensor] = {}
    tree = json.dumps(_encode(state, tensors, set(), "")).encode()
    try:
        return tree + b"\n", safetensors.torch.save(tensors)
    except (KeyError, ValueError, safetensors.SafetensorError) as error:
        kinds = sorted({str(tensor.dtype) for tensor in tensors.values()})
        raise TypeError(f"A checkpoint should hold dense tensors of usual dtypes, got {', '.join(kinds)}: {error}.") from error


def from_bytes(tree: bytes, numbers: bytes) -> Any:
    """The tree that :func:`to_bytes` was given."""
    try:
        tensors = safetensors.torch.load(numbers)
        state = _decode(json.loads(tree), tensors)
    except UNREADABLE as error:
        raise ValueError(f"its content cannot be read ({one_line(error)})") from error
    if tensors:
        raise ValueError(f"it has {len(tensors)} tensors without a place")
    return state


def one_line(value: Any) -> str:
    """What a file or an error says, printable and cut to a line."""
    text = printable(" ".join(str(value).split()))
    return text if len(text) <= 150 else f"{text[:147]}..."


@contextmanager
def _opened(file: Path, limit: int) -> Iterator[BinaryIO]:
    try:
        with open_regular(file, limit) as opened:
            yield opened
    except UnfitFileError as error:
        raise ValueError(error.strerror) from error


def _encode(value: Any, tensors: dict[str, Tensor], seen: set[int], where: str) -> Any:
    """JSON for a tree; its tensors are collected, each with memory of its own."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Tensor):
        tensor, name = value.detach().to("cpu").contiguous(), str(len(tensors))
        memory = tensor.untyped_storage().data_ptr()
        tensors[name] = tensor.clone() if memory in seen else tensor
        seen.add(memory)
        return {"tensor": name}
    if isinstance(value, list | tuple):
        items = [_encode(item, tensors, seen, f"{where}[{place}]") for place, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, Mapping) and all(type(key) in (str, int) for key in value):
        return {"dict": [[key, _encode(item, tensors, seen, f"{where}.{key}")] for key, item in value.items()]}
    raise TypeError(
        f"A checkpoint should hold tensors, numbers, texts, lists and dictionaries, got {type(value)} at {where[1:]!r}."
    )


def _decode(value: Any, tensors: dict[str, Tensor]) -> Any:
    """The tree again; every tensor has one place only, for two would share memory."""
    if isinstance(value, list):
        return [_decode(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tensor":
        return tensors.pop(content)
    if kind == "tuple":
        return tuple(_decode(item, tensors) for item in content)
    if kind != "dict":
        raise ValueError(f"unknown kind {kind!r}")
    found = {key: _decode(item, tensors) for key, item in content}
    if len(found) < len(content) or not all(type(key) in (str, int) for key in found):
        raise ValueError("a name is there twice, or is no text")
    return found


def is_finite(tensor: Tensor) -> bool:
    """Whether a tensor has no NaN and no infinity."""
    if not tensor.numel() or not (tensor.is_floating_point() or tensor.is_complex()):
        return True
    if tensor.dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        return all(map(math.isfinite, map(float, torch.aminmax(tensor))))  # one pass, no copy
    return bool(torch.isfinite(tensor if tensor.is_complex() else tensor.float()).all())
