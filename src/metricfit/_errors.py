"""Errors that the command line reports in one line, without a traceback."""

from __future__ import annotations


class UsageError(ValueError):
    """An option or argument is wrong: exit code 2."""


class DataError(ValueError):
    """The contents of a file are wrong: exit code 1."""


class ClusterError(RuntimeError):
    """A cluster cannot be reached, cannot do the work, or went away: exit code 1."""


class PartialError(RuntimeError):
    """A command was interrupted, and has printed what was finished: exit code 130."""
