"""The command ``metricfit``.

Commands import torch only when they run, so that ``--help`` is fast. The packages of the extra ``cli`` are imported only after
:func:`main` has checked that they are installed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from metricfit._extras import MissingExtraError, require

if TYPE_CHECKING:
    from metricfit.cli._main import app, run_app

__all__ = ["app", "main", "run_app"]

PACKAGES = ("typer", "rich", "pyarrow", "charset_normalizer", "jinja2", "markupsafe")  # of the extra ``cli``


def main() -> None:
    """Run the command and exit with its code; a missing extra is one line on stderr."""
    try:
        _check_extra()
    except MissingExtraError as error:
        print(f"metricfit: {error}", file=sys.stderr)
        sys.exit(1)
    from metricfit.cli._main import app, run_app

    sys.exit(run_app(app, "metricfit"))


def _check_extra() -> None:
    for package in PACKAGES:
        require(package, "cli", "the command line")


def __getattr__(name: str) -> Any:
    if name not in ("app", "run_app"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _check_extra()
    from metricfit.cli._main import app, run_app

    return {"app": app, "run_app": run_app}[name]
