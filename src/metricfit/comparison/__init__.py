"""Compare models and methods on the same cross-validation splits, and decide which are worth their cost."""

from metricfit.comparison._compare import compare, compare_metrics
from metricfit.comparison._contenders import Contender
from metricfit.comparison._result import Comparison, Result
from metricfit.comparison._run import InterruptedComparison
from metricfit.comparison._verdict import Verdict

__all__ = ["Comparison", "Contender", "InterruptedComparison", "Result", "Verdict", "compare", "compare_metrics"]
