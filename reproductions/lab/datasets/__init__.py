"""Readers of the papers' images, sentences and trees, from the files that their authors publish."""

from reproductions.lab.datasets._augment import augmentation
from reproductions.lab.datasets._caltech import caltech256
from reproductions.lab.datasets._cifar import CIFAR10_CLASSES, cifar10, cifar100
from reproductions.lab.datasets._conll import Sentence, read_conll, read_conllu
from reproductions.lab.datasets._files import first_existing
from reproductions.lab.datasets._mnist import mnist
from reproductions.lab.datasets._svhn import svhn
from reproductions.lab.datasets._trec import Question, read_trec
from reproductions.lab.datasets._trees import LabelledTree, read_sst
from reproductions.lab.datasets._vectors import read_vectors
from reproductions.lab.datasets._vocabulary import Vocabulary, pad_sentences

__all__ = [
    "CIFAR10_CLASSES",
    "LabelledTree",
    "Question",
    "Sentence",
    "Vocabulary",
    "augmentation",
    "caltech256",
    "cifar10",
    "cifar100",
    "first_existing",
    "mnist",
    "pad_sentences",
    "read_conll",
    "read_conllu",
    "read_sst",
    "read_trec",
    "read_vectors",
    "svhn",
]
