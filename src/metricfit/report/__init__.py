"""HTML reports of a comparison and of a decision rule: one file without scripts, fonts or network requests."""

from metricfit._extras import require

require("jinja2", "cli", "metricfit.report")
require("markupsafe", "cli", "metricfit.report")

from metricfit.report._decision import decision_page
from metricfit.report._page import Run, page

__all__ = ["Run", "decision_page", "page"]
