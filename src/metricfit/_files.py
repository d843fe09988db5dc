"""Write beside, then rename: what has its name is whole, and what fails leaves nothing behind."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def check_free(path: Path, or_else: str = "delete it first", overwrite: bool = False) -> None:
    """Whether something can be written under this name; worth knowing before hours of work."""
    if overwrite and path.is_dir():
        raise FileExistsError(f"{path} is a folder, and a file is to be written.")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists already. Choose another name or {or_else}.")
    parent = next(parent for parent in path.absolute().parents if parent.exists())
    if not parent.is_dir():
        shown = next(given for given in path.parents if given.absolute() == parent)
        raise FileExistsError(f"{path} cannot be written: {shown} is not a folder.")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder to write into, which gets its name when all went well."""
    check_free(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield beside
        for file in beside.iterdir():  # some libraries write what only their user may read
            file.chmod(0o666 & ~_umask())
        beside.chmod(0o777 & ~_umask())
        beside.rename(folder)
    except BaseException as error:
        shutil.rmtree(beside, ignore_errors=True)
        _name_full_disk(error, folder)
        raise


@contextmanager
def new_file(file: Path, overwrite: bool = False) -> Iterator[Path]:
    """A file to write, which gets its name when all went well."""
    check_free(file, "pass --overwrite", overwrite)
    file = file.resolve()  # what a link points to is to be written, not the link
    if file.exists() and not file.is_file():  # a pipe or a device
        yield file
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        beside.chmod(0o666 & ~_umask())
        beside.replace(file)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        _name_full_disk(error, file)
        raise


def _name_full_disk(error: BaseException, target: Path) -> None:
    """Libraries say in different ways that a disk is full; here it is said in one, with the name of what was to be written."""
    full = os.strerror(errno.ENOSPC)
    if full in str(error) or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        raise OSError(errno.ENOSPC, full, str(target)) from error


def _umask() -> int:
    """What this process takes away from the rights of new files; there is no way to ask without setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
