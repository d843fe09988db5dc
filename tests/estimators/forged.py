"""Forged model folders: a changed file whose checksums fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from metricfit._description import JSON_FILE, checksum, description_text


def read_description(folder: Path) -> dict[str, Any]:
    return json.loads((folder / JSON_FILE).read_text())


def write_description(folder: Path, found: dict[str, Any]) -> None:
    """Write a description with a checksum that fits."""
    found.pop("checksum", None)
    (folder / JSON_FILE).write_text(description_text(found))


def seal(folder: Path) -> None:
    """Write the checksums of all files anew, as somebody would who forges one."""
    found = read_description(folder)
    found["sha256"] = {file.name: checksum(file.read_bytes()) for file in folder.iterdir() if file.name != JSON_FILE}
    write_description(folder, found)
