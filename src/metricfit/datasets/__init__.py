"""Readers of the papers' pictures, sentences and trees, from files as their authors publish them."""

from metricfit.datasets._cifar import CIFAR10_CLASSES, cifar10
from metricfit.datasets._idx import mnist
from metricfit.datasets._strips import cifar10_strips
from metricfit.datasets._svhn import svhn

__all__ = ["CIFAR10_CLASSES", "cifar10", "cifar10_strips", "mnist", "svhn"]
