"""An HTML report of a comparison: one file without scripts, fonts or network requests."""

from metricfit._extras import require

require("jinja2", "cli", "metricfit.report")
require("markupsafe", "cli", "metricfit.report")

from metricfit.report._page import Run, page

__all__ = ["Run", "page"]
