"""Read what is a file and not too large; write to a temporary name, so that a failure leaves no incomplete file."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def read_regular(path: Path, most_bytes: int) -> bytes:
    """The content of a file; an OSError for anything else, such as a pipe or a device, and for a file that is too large."""
    at_once = getattr(os, "O_NONBLOCK", 0)  # opening a pipe waits for its other end
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | at_once)) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
        if found.st_size > most_bytes:
            raise OSError(errno.EFBIG, f"{found.st_size:,} bytes, at most {most_bytes:,} are read", str(path))
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:  # it grew, or its size is unknown
        raise OSError(errno.EFBIG, f"More than {most_bytes:,} bytes", str(path))
    return content


def check_free(path: Path, or_else: str = "delete it first", overwrite: bool = False) -> None:
    """Raise FileExistsError if this name cannot be written; called before long work starts."""
    if overwrite and path.is_dir():
        raise FileExistsError(f"{path} is a folder, expected a file name.")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists already. Choose another name or {or_else}.")
    parent = next(parent for parent in path.absolute().parents if parent.exists())
    if not parent.is_dir():
        relative = next(folder for folder in path.parents if folder.absolute() == parent)
        raise FileExistsError(f"{path} cannot be written: {relative} is not a folder.")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder, which is renamed to ``folder`` if no error occurs."""
    check_free(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield temporary
        for file in temporary.iterdir():  # some libraries write files that only the owner can read
            file.chmod(0o666 & ~_umask())
        temporary.chmod(0o777 & ~_umask())
        temporary.rename(folder)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        _raise_if_disk_full(error, folder)
        raise


@contextmanager
def new_file(file: Path, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary file, which is renamed to ``file`` if no error occurs."""
    check_free(file, "pass --overwrite", overwrite)
    file = file.resolve()  # write to the target of a link; renaming would replace the link
    if file.exists() and not file.is_file():  # a pipe or a device
        yield file
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(file)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        _raise_if_disk_full(error, file)
        raise


def _raise_if_disk_full(error: BaseException, target: Path) -> None:
    """Raise one kind of OSError, with the file name, for all the ways in which libraries report a full disk."""
    full = os.strerror(errno.ENOSPC)
    if full in str(error) or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        raise OSError(errno.ENOSPC, full, str(target)) from error


def _umask() -> int:
    """The permission mask of new files; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
