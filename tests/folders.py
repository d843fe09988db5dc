"""Forge the folders of models: change a file, then make the checksums fit."""

import json

from metricfit._description import checksum, description_text


def read_description(folder):
    return json.loads((folder / "model.json").read_text())


def write_description(folder, found):
    """Write a description with a checksum that fits."""
    found.pop("checksum", None)
    (folder / "model.json").write_text(description_text(found))


def seal(folder):
    """Write the checksums of all files anew, as somebody would who forges one."""
    found = read_description(folder)
    found["sha256"] = {file.name: checksum(file.read_bytes()) for file in folder.iterdir() if file.name != "model.json"}
    write_description(folder, found)
