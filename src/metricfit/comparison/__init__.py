"""Is training for the metric worth it on these data? Every method on the same splits, with an honest answer."""

from metricfit.comparison._compare import compare
from metricfit.comparison._methods import BASELINE, CHOICE, METHODS, Method
from metricfit.comparison._result import Comparison, MethodResult
from metricfit.comparison._verdict import Verdict

__all__ = ["BASELINE", "CHOICE", "METHODS", "Comparison", "Method", "MethodResult", "Verdict", "compare"]
