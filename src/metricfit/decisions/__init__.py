"""Decisions: from scores to answers. Offsets, calibration, and a guard that chooses among candidates."""

from metricfit.decisions._abstain import read_limit
from metricfit.decisions._budget import best_within
from metricfit.decisions._calibration import NEVER, cross_entropy, fit_temperature, known_rows
from metricfit.decisions._constraints import Constraint, read_constraints
from metricfit.decisions._curve import Reliability
from metricfit.decisions._guard import Guard
from metricfit.decisions._hard import hard_confusion, metric_values
from metricfit.decisions._intervals import binomial_interval
from metricfit.decisions._offsets import cross_fit_offsets, fit_offsets, fit_smooth_offsets
from metricfit.decisions._onnx import ML, OLD_ML_OPSET, OPSET, OnnxGraph
from metricfit.decisions._promise import promise_in_words
from metricfit.decisions._row_costs import cost_columns, has_row_costs
from metricfit.decisions._rule import DecisionRule, NotAttainableError
from metricfit.decisions._rule_file import rule_from_plain, rule_to_plain
from metricfit.decisions._scores import LEAST_PROBABILITY, check_groups, log_probabilities
from metricfit.decisions._smoothed import NoisyMetric, NormalOfTwo, softmax_and_normalizer, softmax_of_any
from metricfit.decisions._tuning import decide, fit_calibrated_offsets, tune_offsets

__all__ = [
    "LEAST_PROBABILITY",
    "ML",
    "NEVER",
    "OLD_ML_OPSET",
    "OPSET",
    "Constraint",
    "DecisionRule",
    "Guard",
    "NoisyMetric",
    "NormalOfTwo",
    "NotAttainableError",
    "OnnxGraph",
    "Reliability",
    "best_within",
    "binomial_interval",
    "check_groups",
    "cost_columns",
    "cross_entropy",
    "cross_fit_offsets",
    "decide",
    "fit_calibrated_offsets",
    "fit_offsets",
    "fit_smooth_offsets",
    "fit_temperature",
    "hard_confusion",
    "has_row_costs",
    "known_rows",
    "log_probabilities",
    "metric_values",
    "promise_in_words",
    "read_constraints",
    "read_limit",
    "rule_from_plain",
    "rule_to_plain",
    "softmax_and_normalizer",
    "softmax_of_any",
    "tune_offsets",
]
