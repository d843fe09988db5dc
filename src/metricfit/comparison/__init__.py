"""Does training for the metric help on these data? Every method on the same splits, and one verdict."""

from metricfit.comparison._compare import compare
from metricfit.comparison._result import Comparison, MethodResult
from metricfit.comparison._verdict import Verdict

__all__ = ["Comparison", "MethodResult", "Verdict", "compare"]
