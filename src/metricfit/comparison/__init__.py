"""Compare models and methods on the same cross-validation splits, and decide which are worth their cost."""

from metricfit.comparison._compare import InterruptedComparison, check_request, compare
from metricfit.comparison._contenders import DEFAULT_MODELS, TRIVIAL, Contender, fit_options, method_of_fit
from metricfit.comparison._features import MOST_ROWS
from metricfit.comparison._limits import Kept, Limits
from metricfit.comparison._result import Comparison, Result
from metricfit.comparison._splits import INNER_FOLDS, check_training_classes, folds_of_groups, plan_time
from metricfit.comparison._statistics import BETTER, CHANCE, FEWEST_SCORES, UNKNOWN, WORSE, Difference, Estimate
from metricfit.comparison._verdict import Verdict, better_metric
from metricfit.comparison._words import MetricWords, p_in_words

__all__ = [
    "BETTER",
    "CHANCE",
    "DEFAULT_MODELS",
    "FEWEST_SCORES",
    "INNER_FOLDS",
    "MOST_ROWS",
    "TRIVIAL",
    "UNKNOWN",
    "WORSE",
    "Comparison",
    "Contender",
    "Difference",
    "Estimate",
    "InterruptedComparison",
    "Kept",
    "Limits",
    "MetricWords",
    "Result",
    "Verdict",
    "better_metric",
    "check_request",
    "check_training_classes",
    "compare",
    "fit_options",
    "folds_of_groups",
    "method_of_fit",
    "p_in_words",
    "plan_time",
]
