"""``metricfit``: from a table and a metric to "is it worth it?" in one command.

Nothing here imports torch before a command needs it, so that help comes at once.
"""

from metricfit.cli._main import app, main
from metricfit.cli._run import run_app

__all__ = ["app", "main", "run_app"]
