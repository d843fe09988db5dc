"""Compare models and methods on the same cross-validation splits, and decide which are worth their cost."""

from metricfit.comparison._compare import compare, compare_metrics
from metricfit.comparison._contenders import DEFAULT_MODELS, TRIVIAL, Contender, contender_in_words, fit_options, method_of_fit
from metricfit.comparison._features import MOST_ROWS
from metricfit.comparison._result import Comparison, Result
from metricfit.comparison._run import InterruptedComparison
from metricfit.comparison._splits import INNER_FOLDS, check_training_classes, folds_of_groups, plan_time
from metricfit.comparison._statistics import FEWEST_SCORES, Estimate
from metricfit.comparison._verdict import Verdict, better_metric
from metricfit.comparison._words import Numbers, metric_title, shown_score

__all__ = [
    "DEFAULT_MODELS",
    "FEWEST_SCORES",
    "INNER_FOLDS",
    "MOST_ROWS",
    "TRIVIAL",
    "Comparison",
    "Contender",
    "Estimate",
    "InterruptedComparison",
    "Numbers",
    "Result",
    "Verdict",
    "better_metric",
    "check_training_classes",
    "compare",
    "compare_metrics",
    "contender_in_words",
    "fit_options",
    "folds_of_groups",
    "method_of_fit",
    "metric_title",
    "plan_time",
    "shown_score",
]
