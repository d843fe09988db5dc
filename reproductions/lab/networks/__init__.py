"""The networks of the papers. Each has a factor ``width``, so that the full size and a small one are the same code."""

from reproductions.lab.networks._convolutions import M3, Darknet19
from reproductions.lab.networks._dense import MLP, LinearFixedFirst, PredictedSigma
from reproductions.lab.networks._parts import conv_norm
from reproductions.lab.networks._residual import FastResNet, ResNet18, WideResNet
from reproductions.lab.networks._sequences import Tagger, Trees, TreeTagger, join_trees

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
    "conv_norm",
    "join_trees",
]
