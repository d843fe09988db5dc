"""JPEG files ``<part>/<class>/<number>.jpg`` in folders or in an archive, which is read as a stream and never extracted."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from metricfit._errors import DataError
from reproductions.lab.datasets._content import open_content

MOST_BYTES, MOST_FILES = 2**20, 200_000


class Jpeg(NamedTuple):
    """A file that is not decoded yet; they sort by number, then class."""

    number: int  # within its class
    label: int
    name: str  # for errors
    content: bytes


def read_folder(folder: Path, classes: Sequence[str], per_class: int | None) -> list[Jpeg]:
    """The files ``<class>/<number>.jpg``, of each class those with the lowest numbers."""
    found = []
    for label, name in enumerate(classes):
        numbered = sorted((_number(str(file), file.stem), file) for file in (folder / name).glob("*.jpg"))
        if not numbered:
            raise DataError(f"{folder / name} should have pictures 0000.jpg and so on, but has none.")
        for number, file in numbered[:per_class]:
            with open_content(file, "a JPEG picture") as content:
                found.append(Jpeg(number, label, str(file), content.read(MOST_BYTES)))
    return sorted(found)


def read_archive(file: Path, classes: Sequence[str]) -> list[Jpeg]:
    """The files of an archive (tar, gzipped or plain)."""
    with open_content(file, "a tar archive") as content:
        try:
            with tarfile.open(fileobj=content, mode="r|") as archive:  # a stream: never reads more than a block at once
                found = sorted(_members(file, archive, classes))
        except tarfile.TarError as error:
            raise DataError(f"{file} should be a tar archive, but cannot be read: {error}.") from error
    missing = [name for label, name in enumerate(classes) if label not in {jpeg.label for jpeg in found}]
    if missing:
        raise DataError(f"{file} should have pictures of all {len(classes)} classes, but has none of {', '.join(missing)}.")
    return found


def _members(file: Path, archive: tarfile.TarFile, classes: Sequence[str]) -> Iterator[Jpeg]:
    for place, member in enumerate(archive):
        if place >= MOST_FILES:
            raise DataError(f"{file} should have at most {MOST_FILES:,} pictures, but has more.")
        path = PurePosixPath(member.name)
        if member.isdir() or path.name.startswith("."):
            continue
        if not member.isreg() or path.suffix != ".jpg" or path.parent.name not in classes:
            raise DataError(f"{file} should have files <class>/<number>.jpg, got {member.name[:100]!r}.")
        if member.size > MOST_BYTES:
            raise DataError(f"{file} should have small pictures, but {member.name[:100]!r} has {member.size:,} bytes.")
        name = f"{member.name} in {file}"
        content = archive.extractfile(member)
        yield Jpeg(_number(name, path.stem), classes.index(path.parent.name), name, content.read() if content else b"")


def _number(name: str, stem: str) -> int:
    if not (stem.isascii() and stem.isdigit() and len(stem) < 10):
        raise DataError(f"{name} should be called by a number, such as 0000.jpg.")
    return int(stem)
