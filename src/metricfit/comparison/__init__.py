"""Compare methods on the same cross-validation splits, and decide whether training for the metric helps."""

from metricfit.comparison._compare import compare
from metricfit.comparison._result import Comparison, MethodResult
from metricfit.comparison._verdict import Verdict

__all__ = ["Comparison", "MethodResult", "Verdict", "compare"]
