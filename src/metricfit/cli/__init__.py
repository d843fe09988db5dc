"""``metricfit``: from a table and a metric to "is it worth it?" in one command.

Nothing here imports torch before a command needs it, so that help comes at once.
"""

from metricfit.cli._main import app, main

__all__ = ["app", "main"]
