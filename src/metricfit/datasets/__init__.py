"""Readers of the papers' pictures, sentences and trees, from files as their authors publish them."""

from metricfit.datasets._augment import augmentation
from metricfit.datasets._caltech import caltech256
from metricfit.datasets._cifar import CIFAR10_CLASSES, cifar10, cifar100
from metricfit.datasets._conll import Sentence, read_conll, read_conllu
from metricfit.datasets._idx import mnist
from metricfit.datasets._strips import cifar10_strips
from metricfit.datasets._svhn import svhn
from metricfit.datasets._trec import Question, read_trec
from metricfit.datasets._trees import LabelledTree, read_sst
from metricfit.datasets._vectors import read_vectors
from metricfit.datasets._vocabulary import Vocabulary, pad_sentences

__all__ = [
    "CIFAR10_CLASSES",
    "LabelledTree",
    "Question",
    "Sentence",
    "Vocabulary",
    "augmentation",
    "caltech256",
    "cifar10",
    "cifar10_strips",
    "cifar100",
    "mnist",
    "pad_sentences",
    "read_conll",
    "read_conllu",
    "read_sst",
    "read_trec",
    "read_vectors",
    "svhn",
]
