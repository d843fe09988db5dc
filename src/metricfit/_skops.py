"""A user's own transformer in a file of skops: only types that the user names are built.

A node of such a file names a type, but its loader decides what is built. So both are checked, as a pair: containers and arrays
have loaders of their own, a type that the user named is an object, and functions or types are only mentioned. All other
loaders are refused.
"""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np

from metricfit._description import check, parse_json
from metricfit._extras import require

MOST_BYTES = 2**30  # of what is in a file, once it is unpacked
NUMPY_TYPES = ("ndarray", "bool", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
PLAIN = {  # loaders, and the types that each may build
    "DictNode": {"builtins.dict", "sklearn.utils._bunch.Bunch"},
    "ListNode": {"builtins.list"},
    "TupleNode": {"builtins.tuple"},
    "SetNode": {"builtins.set"},
    "SliceNode": {"builtins.slice"},
    "JsonNode": {f"builtins.{name}" for name in ("str", "int", "float", "bool", "NoneType")},
    "NdArrayNode": {f"numpy.{name}" for name in (*NUMPY_TYPES, "float16", "float32", "float64", "str_")},
    "DTypeNode": {"numpy.dtype"},
    "SparseMatrixNode": {f"scipy.sparse.{name}" for name in ("csr_matrix", "csr_array", "csc_matrix", "csc_array")},
}
BY_NAME = ("FunctionNode", "ObjectNode", "TypeNode")  # loaders of what the user has to name,
PLAIN_TYPES = {"builtins.str", *(f"numpy.{name}" for name in (*NUMPY_TYPES[1:], "float32", "float64"))}  # except these types
READS_FILES = ("file", "filename")  # values of `input` that make a vectorizer read files by name


class UntrustedError(ValueError):
    """A file holds types that the user did not name."""


def write(content: Any, file: Path) -> None:
    _skops().dump(content, file, compression=ZIP_DEFLATED, compresslevel=1)


def read(content: bytes, name: str, trusted: Collection[str]) -> Any:
    """What a file holds; an :class:`UntrustedError` names the types that the user has to trust, before anything is built."""
    skops = _skops()
    with ZipFile(io.BytesIO(content)) as parts:
        _check_members(parts)
        schema = parse_json(parts.read("schema.json"))
    check(schema["protocol"] == _protocol(skops), "another version of skops wrote it")  # with other loaders of the same names
    unknown = sorted({needed for node in _nodes(schema) for needed in _needed(node)} - set(trusted))
    if unknown:
        raise UntrustedError(
            f"{name} holds a transformer of the types {', '.join(unknown)}. If you trust them and whoever made this folder, "
            f"pass trusted={tuple(sorted({*trusted, *unknown}))!r}."
        )
    for node in _nodes(schema):
        _check_attributes(node)
    return skops.loads(content, trusted=sorted(trusted))


def _skops() -> Any:
    require("skops", "own", "a transformer of your own in a saved model")
    from skops import io as skops

    return skops


def _protocol(skops: Any) -> Any:
    """The version of the format that skops writes."""
    with ZipFile(io.BytesIO(skops.dumps(0))) as parts:
        return parse_json(parts.read("schema.json"))["protocol"]


def _check_members(parts: ZipFile) -> None:
    """Raise a DamagedError if the parts are too large, or an array claims to be larger than its part."""
    check(sum(part.file_size for part in parts.infolist()) <= MOST_BYTES, f"it has more than {MOST_BYTES:,} bytes")
    for part in parts.infolist():
        if part.filename.endswith(".npy"):
            with parts.open(part) as file:
                shape, dtype = _npy_header(file)
                check(int(np.prod(shape, dtype=object)) * dtype.itemsize <= part.file_size, "an array is not complete")
                check(not dtype.hasobject, "an array holds objects")
        elif part.filename.endswith(".npz"):
            with ZipFile(io.BytesIO(parts.read(part))) as inner:
                _check_members(inner)


def _npy_header(file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(file)
    return shape, dtype


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """All nodes of a schema: whatever has a loader."""
    if isinstance(schema, dict) and "__loader__" in schema:
        yield schema
    for item in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _nodes(item)


def _needed(node: dict[str, Any]) -> list[str]:
    """The types and functions that have to be trusted for a node; a DamagedError for a loader that is never allowed."""
    loader, named = node["__loader__"], f"{node.get('__module__')}.{node.get('__class__')}"
    if loader in PLAIN:
        check(named in PLAIN[loader], f"{loader} does not build {named}")
        return []
    check(loader in BY_NAME, f"{loader} is not allowed")
    return [] if loader == "TypeNode" and named in PLAIN_TYPES else [named]


def _check_attributes(node: dict[str, Any]) -> None:
    """Raise a DamagedError for an object with an attribute in place of a method, or one that would read files by name."""
    if node.get("__loader__") != "ObjectNode":
        return
    kind: Any = importlib.import_module(node["__module__"])
    for name in node["__class__"].split("."):
        kind = getattr(kind, name)
    content = node.get("content")
    attributes = content.get("content", {}) if isinstance(content, dict) else {}
    for name, value in attributes.items():
        check(not callable(getattr(kind, name, None)), f"{node['__class__']} has a value in place of its method {name}")
        if name == "input" and isinstance(value, dict):
            check(json.loads(value.get("content", "null")) not in READS_FILES, f"{node['__class__']} would read files by name")
