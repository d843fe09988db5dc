"""``model.json``, the description of a saved model: plain data that is read without torch or scikit-learn.

It has a checksum of every other file of the model and one of itself. They find accidents. They are not a signature: anybody
can make a folder whose checksums fit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metricfit._files import read_regular

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT, VERSION = "metricfit model", 7
JSON_FILE = "model.json"
MOST_BYTES = 2**33  # of a file, which takes as much memory


class DamagedError(ValueError):
    """A file of a model is not what was saved, or not what this version saves."""


def check(right: object, problem: str) -> None:
    """Raise a :class:`DamagedError` unless something is as it should be."""
    if not right:
        raise DamagedError(problem)


def check_tensor(tensor: Any, dtype: str, shape: Sequence[int | None], finite: bool = True) -> None:
    """Raise a :class:`DamagedError` unless a saved tensor has this type, shape (None is any length) and finite numbers."""
    fits = len(tensor.shape) == len(shape) and all(want in (None, n) for want, n in zip(shape, tensor.shape, strict=True))
    check(fits, "the shapes of its parts do not fit each other")
    check(str(tensor.dtype) == f"torch.{dtype}", f"numbers have the type {tensor.dtype}, expected {dtype}")
    check(not (finite and tensor.is_floating_point()) or tensor.isfinite().all(), "a number is not finite")


def checked_array(tensor: Any, dtype: str, shape: Sequence[int | None], finite: bool = True) -> NDArray[Any]:
    """The array of a saved tensor, checked by :func:`check_tensor`."""
    check_tensor(tensor, dtype, shape, finite)
    return tensor.numpy()


@dataclass(frozen=True)
class Foreign:
    """An object of another library inside plain data. skops writes it, and builds it only if its types are trusted."""

    content: Any


def read_description(folder: Path) -> dict[str, Any]:
    """The description of the model in a folder; a ValueError says what is wrong with it."""
    file = folder / JSON_FILE
    try:
        found = parse_json(read_regular(file, MOST_BYTES))
    except FileNotFoundError:
        raise ValueError(f"{folder} is not a metricfit model: it has no {JSON_FILE} in it.") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{file} is not the description of a metricfit model: {_reason(error)}.") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT or type(found.get("version")) is not int:
        raise ValueError(f"{file} is not the description of a metricfit model.")
    written_by = f"({found['metricfit']})" if isinstance(found.get("metricfit"), str) else "(unknown)"
    if found["version"] > VERSION:
        raise ValueError(f"{folder} was written by a newer version of metricfit, {written_by}. Upgrade metricfit to read it.")
    if found["version"] < VERSION:
        raise ValueError(
            f"{folder} was written by an older version of metricfit, {written_by}, in another file format. "
            "Fit the model again, or read it with that version."
        )
    if found.pop("checksum", None) != _checksum_of(found):
        raise ValueError(f"{folder} contains a damaged model: {JSON_FILE} is not the file that was saved.")
    return found


def description_text(description: Mapping[str, Any]) -> str:
    """What ``model.json`` holds: the description and its checksum."""
    return json.dumps({**description, "checksum": _checksum_of(description)}, indent=1)


def _checksum_of(description: Mapping[str, Any]) -> str:
    """Of the content: spaces and line ends do not matter."""
    return checksum(json.dumps(description, sort_keys=True).encode())


def other_version(found: Mapping[str, Any]) -> str:
    """A sentence if the model was fitted with another scikit-learn than the installed one."""
    fitted, here = found.get("scikit-learn"), version("scikit-learn")
    return "" if fitted == here else f"The model was fitted with scikit-learn {fitted}, but {here} is installed."


@dataclass(frozen=True)
class SavedFiles:
    """The files of a model, each checked to be the one that was saved."""

    folder: Path
    checksums: Mapping[str, str]

    def __post_init__(self) -> None:
        check(isinstance(self.checksums, dict), "`sha256` should name the files of the model")
        for name in self.checksums:
            check(name not in ("", ".", "..") and Path(name).name == name, f"{name!r} is not the name of a file in the folder")

    def __contains__(self, name: str) -> bool:
        return name in self.checksums

    def read(self, name: str) -> bytes:
        check(name in self.checksums, f"{name} is missing")
        try:
            content = read_regular(self.folder / name, MOST_BYTES)
        except OSError as error:
            raise DamagedError(f"{name} cannot be read: {_reason(error)}") from error
        check(checksum(content) == self.checksums[name], f"{name} is not the file that was saved")
        return content

    def read_json(self, name: str) -> Any:
        try:
            return parse_json(self.read(name))
        except DamagedError:
            raise
        except ValueError as error:
            raise DamagedError(f"{name} is not valid JSON: {error}") from error

    def check_all(self) -> None:
        """Read every file; a :class:`DamagedError` names the first that is not the one that was saved."""
        for name in self.checksums:
            self.read(name)


def parse_json(content: bytes) -> Any:
    """JSON in UTF-8; a ValueError for anything else, also for what is too deep for Python."""
    try:
        return json.loads(content.decode("utf-8"))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
