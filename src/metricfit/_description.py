"""``model.json``, the description of a saved model: plain data that is read without torch or scikit-learn."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

FORMAT, VERSION = "metricfit model", 4
JSON_FILE = "model.json"


def read_description(folder: Path) -> dict[str, Any]:
    """The description of the model in a folder; a ValueError says what is wrong with it."""
    file = folder / JSON_FILE
    if not file.is_file():
        raise ValueError(f"{folder} holds no metricfit model: there is no {JSON_FILE} in it.")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        right = found["format"] == FORMAT
        newer = found["version"] > VERSION
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{file} is not the description of a metricfit model: {error}") from error
    if not right:
        raise ValueError(f"{file} is not the description of a metricfit model.")
    if newer:
        raise ValueError(f"{folder} was written by a newer metricfit ({found['metricfit']}). Update this one to read it.")
    if found["version"] < VERSION:
        raise ValueError(
            f"{folder} was written by an older metricfit ({found['metricfit']}), whose options had other names. "
            "Fit the model again, or read it with that version."
        )
    return found


def other_version(found: dict[str, Any]) -> str:
    """A sentence if the model was fitted with another scikit-learn than the installed one."""
    fitted, here = found["scikit-learn"], version("scikit-learn")
    return "" if fitted == here else f"The model was fitted with scikit-learn {fitted}, this is {here}."


@dataclass(frozen=True)
class SavedFiles:
    """The files of a model, each checked to be the one that was saved."""

    folder: Path
    checksums: Mapping[str, str]

    def find(self, name: str) -> Path:
        if checksum(self.folder / name) != self.checksums[name]:
            raise TypeError(f"{name} is not the file that was saved")
        return self.folder / name


def checksum(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
