"""Profile a table before anything is trained: its columns, how the models use them, and what may mislead."""

from metricfit._extras import require

require("pyarrow", "cli", "metricfit.profile")

from metricfit.profile._leaks import find_shared
from metricfit.profile._profile import ColumnProfile, TableProfile, profile_table

__all__ = ["ColumnProfile", "TableProfile", "find_shared", "profile_table"]
