"""Extras: packages that only some functions need, and the one line that says how to install them."""

from __future__ import annotations

from importlib.util import find_spec


def is_installed(package: str) -> bool:
    """Whether the package can be imported; it is not imported here."""
    return find_spec(package) is not None


class MissingExtraError(ImportError):
    """A package of an extra is not installed."""


def require(package: str, extra: str, purpose: str) -> None:
    """Raise :class:`MissingExtraError` unless the package can be imported.

    >>> require("torch", "train", "a network")
    >>> require("no_such_package", "train", "a network")
    Traceback (most recent call last):
        ...
    metricfit._extras.MissingExtraError: a network needs the package no_such_package: pip install 'metricfit[train]'
    """
    if not is_installed(package):
        raise MissingExtraError(f"{purpose} needs the package {package}: pip install 'metricfit[{extra}]'", name=package)
