"""Files that do not fit in memory: a linear model from sums over their rows."""

from metricfit._extras import require

require("pyarrow", "cli", "metricfit.shards")

from metricfit.shards._fit import fit_shards

__all__ = ["fit_shards"]
