"""Reading and writing files of skops: only types from a closed list are built."""

from __future__ import annotations

import json
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile


class UntrustedError(ValueError):
    """A file holds types that are not on the list."""


def write(content: Any, file: Path) -> None:
    from skops import io

    io.dump(content, file, compression=ZIP_DEFLATED, compresslevel=1)


def read(file: Path, allowed: Set[str]) -> Any:
    """The content of a file; an :class:`UntrustedError` names types that are not allowed before anything is built."""
    from skops import io

    with ZipFile(file) as parts:
        found = {*_types(json.loads(parts.read("schema.json"))), *io.get_untrusted_types(file=file)}
    unknown = sorted(found - allowed)
    if unknown:
        raise UntrustedError(f"{file} holds types that are not known to be safe: {', '.join(unknown)}.")
    return io.load(file, trusted=sorted(found))


def _types(schema: Any) -> Iterator[str]:
    """The full names of all types and functions in a schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("__class__"), str):
            yield f"{schema.get('__module__')}.{schema['__class__']}"
        if schema.get("__loader__") in ("FunctionNode", "TypeNode") and isinstance(schema.get("content"), dict):
            named = schema["content"]
            yield f"{named.get('module_path', named.get('__module__'))}.{named.get('function', named.get('__class__'))}"
    for item in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _types(item)
