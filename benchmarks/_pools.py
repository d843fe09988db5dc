"""Scores of models for rows that they have not seen: pools that the studies of decisions draw from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, log_softmax
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from metricfit._typing import Floats, Ints
from metricfit.decisions import log_probabilities
from reproductions import _tables as tables
from reproductions.lab.datasets import mnist

# Table, the positive class (None keeps all classes), and the model.
TWO_CLASSES: dict[str, tuple[str, Any, str]] = {
    "adult": ("adult", ">50K", "trees"),
    "magic": ("magic", "h", "trees"),
    "mammography": ("mammography", 1, "trees"),
    "ringnorm": ("ringnorm", 1, "linear"),
    "satellite: 4": ("satellite", 4, "trees"),
    "dry-bean: SIRA": ("dry-bean", "SIRA", "linear"),
    "mnist: 8": ("mnist", 8, "linear"),
    "musk2": ("musk2", 1, "trees"),
    "pima": ("pima", 1, "linear"),
    "dry-bean: BARBUNYA": ("dry-bean", "BARBUNYA", "trees"),
    "satellite: 2": ("satellite", 2, "linear"),
    "car: acc": ("car", "acc", "trees"),
}
SEVERAL_CLASSES: dict[str, tuple[str, Any, str]] = {
    "dry-bean": ("dry-bean", None, "linear"),
    "satellite": ("satellite", None, "trees"),
}
MOST_MNIST = 20_000
N_FOLDS = 5


@dataclass(frozen=True)
class Pool:
    """Log-probabilities (n, k) and labels 0 ... k - 1 of rows that no model has seen."""

    scores: Floats
    labels: Ints

    def draw(self, n: int, random: np.random.Generator) -> Pool:
        """Rows with replacement, so that this pool is the population they come from."""
        index = random.integers(0, len(self.labels), n)
        return Pool(self.scores[index], self.labels[index])


def load(name: str) -> tuple[Floats, Ints, str]:
    """Numbers (n, p), labels 0 ... k - 1 and the model of a table in TWO_CLASSES or SEVERAL_CLASSES."""
    table, positive, model = (TWO_CLASSES | SEVERAL_CLASSES)[name]
    if table == "mnist":
        images, digits = mnist(tables.data_folder() / "mnist")
        values, target = (
            images[:MOST_MNIST, 0, 4:24:2, 4:24:2].reshape(MOST_MNIST, -1).double().numpy(),
            digits[:MOST_MNIST].numpy(),
        )
    else:
        features, target = tables.load(table)
        values = _numbers(features)
    return values, (np.unique(target, return_inverse=True)[1] if positive is None else (target == positive).astype(int)), model


def _numbers(features: pd.DataFrame) -> Floats:
    words = features.select_dtypes(exclude="number").columns
    if len(words):
        features = features.copy()
        features[words] = OrdinalEncoder().fit_transform(features[words].astype(str))
    return features.fillna(features.median()).to_numpy(np.float64)


def new_model(kind: str) -> Any:
    if kind == "linear":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
    return HistGradientBoostingClassifier(max_iter=80, max_leaf_nodes=15, random_state=0)


def real_pool(name: str) -> Pool:
    """A quarter of the rows, at most 8,000, trains; the others are the pool."""
    values, labels, kind = load(name)
    train, rest = train_test_split(
        np.arange(len(labels)), train_size=min(len(labels) // 4, 8000), stratify=labels, random_state=0
    )
    model = new_model(kind).fit(values[train], labels[train])
    return Pool(log_probabilities(model.predict_proba(values[rest])), labels[rest])


def fold_scores(values: Floats, labels: Ints, new: Floats, kind: str, seed: int) -> tuple[Floats, Floats]:
    """Out-of-fold log-probabilities of these rows, and those of new rows by the mean of the fold models."""
    n_classes = int(labels.max()) + 1
    own, mean = np.zeros((len(labels), n_classes)), np.zeros((len(new), n_classes))
    for kept, held_out in StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(values, labels):
        model = new_model(kind).fit(values[kept], labels[kept])
        own[held_out] = model.predict_proba(values[held_out])
        mean += model.predict_proba(new) / N_FOLDS
    return log_probabilities(own), log_probabilities(mean)


def _drawn(change: Callable[[Floats], Floats]) -> Pool:
    random, n = np.random.default_rng(0), 50_000
    labels = (random.random(n) < 0.2).astype(int)
    logits = 2.0 * (random.normal(size=n) + 2.0 * labels) - 2.0 + np.log(0.25)  # of the class, exactly
    probability = expit(change(logits))
    return Pool(log_probabilities(np.stack([1.0 - probability, probability], 1)), labels)


def drawn_pools() -> dict[str, Pool]:
    """Two normal classes, 20 % positives, and scores that are right, or wrong in a way that keeps or breaks their order."""

    def outliers_first(logits: Floats) -> Floats:
        """The highest scores are wrong: every row with a logit below -5.5 gets one of 6."""
        return np.where(logits < -5.5, 6.0 - 0.01 * logits, logits)

    return {
        "drawn: calibrated": _drawn(lambda logits: logits),
        "drawn: overconfident": _drawn(lambda logits: 3.0 * logits),
        "drawn: too low": _drawn(lambda logits: logits - 3.0),
        "drawn: few different scores": _drawn(lambda logits: np.round(logits)),
        "drawn: outliers first": _drawn(outliers_first),
    }


def _drawn_four(change: Callable[[Floats], Floats]) -> Pool:
    random, n, shares = np.random.default_rng(0), 50_000, np.array([0.55, 0.25, 0.15, 0.05])
    labels = random.choice(4, n, p=shares)
    values = random.normal(size=(n, 4)) + 1.8 * np.eye(4)[labels]
    return Pool(log_softmax(change(1.8 * values + np.log(shares)), 1), labels)


def drawn_pools_of_four() -> dict[str, Pool]:
    """Four normal classes with shares from 0.55 to 0.05, and scores that are right, or too sure and shifted."""
    return {
        "drawn: four classes": _drawn_four(lambda logits: logits),
        "drawn: four classes, wrong scores": _drawn_four(lambda logits: 2.0 * logits + np.array([0.0, 2.0, -2.0, 1.0])),
    }
