"""Learners: what is trained. Each trains any method (:mod:`metricfit.methods`) on any fold."""

from metricfit.learners._learner import Learner, Model, Start, Task
from metricfit.learners._linear import LinearLearner
from metricfit.learners._linear_model import LinearModel
from metricfit.learners._rows import TrainingRows

__all__ = ["Learner", "LinearLearner", "LinearModel", "Model", "Start", "Task", "TrainingRows"]
