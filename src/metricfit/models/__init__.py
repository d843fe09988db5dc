"""The networks of the papers. Each has a factor ``width``, so that the full size and a small one are the same code."""

from metricfit.models._convolutions import M3, Darknet19
from metricfit.models._dense import MLP, LinearFixedFirst, PredictedSigma
from metricfit.models._residual import FastResNet, ResNet18, WideResNet
from metricfit.models._sequences import Tagger, Trees, TreeTagger, join_trees

__all__ = [
    "M3",
    "MLP",
    "Darknet19",
    "FastResNet",
    "LinearFixedFirst",
    "PredictedSigma",
    "ResNet18",
    "Tagger",
    "TreeTagger",
    "Trees",
    "WideResNet",
    "join_trees",
]
