"""What a user of the command line can do wrong, told apart by where to look: at the command, or at the data."""

from __future__ import annotations


class UsageError(ValueError):
    """The command asks for something that is not there: exit code 2."""


class DataError(ValueError):
    """A file is not what it should be: exit code 1."""
