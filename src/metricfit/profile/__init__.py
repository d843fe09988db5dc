"""A look at a table before anything is trained: its columns, how each is used, and what may mislead."""

from metricfit._extras import require

require("pyarrow", "cli", "metricfit.profile")

from metricfit.profile._copies import find_shared
from metricfit.profile._profile import profile_table
from metricfit.profile._result import ColumnProfile, TableProfile

__all__ = ["ColumnProfile", "TableProfile", "find_shared", "profile_table"]
