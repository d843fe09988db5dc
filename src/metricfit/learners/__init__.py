"""Learners: what is trained. Each trains any method (:mod:`metricfit.methods`) on any fold."""

from metricfit.learners._catalogue import build_learner, describe_model, restore_model
from metricfit.learners._learner import Fold, History, Learner, Model
from metricfit.learners._linear import LinearLearner
from metricfit.learners._linear_model import LinearModel
from metricfit.learners._rows import TrainingRows

__all__ = [
    "Fold",
    "History",
    "Learner",
    "LinearLearner",
    "LinearModel",
    "Model",
    "TrainingRows",
    "build_learner",
    "describe_model",
    "restore_model",
]
