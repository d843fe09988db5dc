"""Extras: packages that only some functions need, and the one line that says how to install them."""

from __future__ import annotations

from importlib.util import find_spec


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
    if find_spec(package) is None:
        raise MissingExtraError(f"{purpose} needs the package {package}: pip install 'metricfit[{extra}]'", name=package)
