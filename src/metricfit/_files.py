"""Write beside, then rename: what has its name is whole, and what fails leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder to write into, which gets its name when all went well."""
    if folder.exists():
        raise FileExistsError(f"{folder} exists already. Choose another name or delete it first.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield beside
        for file in beside.iterdir():  # some libraries write what only their user may read
            file.chmod(0o666 & ~_umask())
        beside.chmod(0o777 & ~_umask())
        beside.rename(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


@contextmanager
def new_file(file: Path, overwrite: bool = False) -> Iterator[Path]:
    """A file to write, which gets its name when all went well."""
    if file.exists() and not overwrite:
        raise FileExistsError(f"{file} exists already. Choose another name or pass --overwrite.")
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        beside.chmod(0o666 & ~_umask())
        beside.replace(file)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _umask() -> int:
    """What this process takes away from the rights of new files; there is no way to ask without setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
