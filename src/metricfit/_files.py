"""Read what is a file and not too large; write to a temporary name, so that a failure leaves no incomplete file."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
NAME_KEPT = 40  # letters of a name that its temporary name has, since a file system limits the length of names


class UnfitFileError(OSError):
    """Not a regular file, but a pipe or a device; or too large."""


@contextmanager
def open_regular(path: Path, most_bytes: int) -> Iterator[BinaryIO]:
    """Open a file for reading; an :class:`UnfitFileError` for a pipe, a device, or more than ``most_bytes``."""
    _check_regular(path, os.stat(path))  # opening a device may do something
    at_once = getattr(os, "O_NONBLOCK", 0)  # opening a pipe waits for its other end
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | at_once)) as file:
        found = os.fstat(file.fileno())  # it may be another one by now
        _check_regular(path, found)
        if found.st_size > most_bytes:
            raise UnfitFileError(errno.EFBIG, f"{found.st_size:,} bytes, at most {most_bytes:,} are read", str(path))
        yield file


def read_regular(path: Path, most_bytes: int) -> bytes:
    """The content of a file that :func:`open_regular` opens."""
    with open_regular(path, most_bytes) as file:
        return file.read(most_bytes)


def _check_regular(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise UnfitFileError(errno.EINVAL, "Not a regular file", str(path))


def check_free(path: Path, or_else: str = "delete it first", overwrite: bool = False) -> None:
    """Raise an OSError if this name cannot be written; called before long work starts."""
    if overwrite and path.is_dir():
        raise FileExistsError(f"{path} is a folder, expected a file name.")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} already exists. Choose another name or {or_else}.")
    if path.exists() and not path.is_file():  # a pipe or a device
        return
    parent = next(parent for parent in path.resolve().parents if parent.exists())
    if not parent.is_dir():
        raise FileExistsError(f"{path} cannot be written: {parent.name} is not a folder.")
    try:
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise OSError(f"{path} cannot be written: {error.strerror} in {parent}.") from error


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder, which is renamed to ``folder`` if no error occurs."""
    check_free(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = _hidden(folder)
    try:
        temporary.mkdir(0o700)
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
    temporary = _hidden(file)
    try:
        temporary.touch(0o600, exist_ok=False)
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(file)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        _raise_if_disk_full(error, file)
        raise


def _hidden(path: Path) -> Path:
    """A temporary name, known before anything has it: a signal may come as soon as the file is there."""
    return path.parent / f".{path.name[:NAME_KEPT]}-{secrets.token_hex(8)}"


def _raise_if_disk_full(error: BaseException, target: Path) -> None:
    """Raise one kind of OSError, with the file name, for all the ways in which libraries report a disk that takes no more."""
    for code in DISK_ERRORS:
        if os.strerror(code) in str(error) or (isinstance(error, OSError) and error.errno == code):
            raise OSError(code, os.strerror(code), str(target)) from error


def _umask() -> int:
    """The permission mask of new files; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
