"""Tables 2 and 3: the baselines that are no networks.

The paper gives no options for them, so these are scikit-learn's, except where a line here says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from reproductions.east_2024._protocol import Parts

EXPLAINED = 0.8  # share of the variance that PCA keeps: caption of Table 2
STRENGTHS = (0.01, 1.0, 100.0)  # inverse regularisation of CCS, as many values as a network has draws


def fit_ccs(parts: Parts, seed: int) -> LogisticRegression:
    r"""Convex calibrated surrogates (Zhang, Ramaswamy and Agarwal, ICML 2020) with a linear model, for one label.

    For :math:`s` labels CCS estimates :math:`s^2 + 1` probabilities, each by a logistic regression of its own:
    :math:`q_0 = P(\text{no label})` and :math:`q_{jk} = P(y_j = 1, \text{k labels in all})`. It answers with the set of labels
    that has the largest expected F1 of a row. With one label there are two answers: "no" has an expected F1 of
    :math:`q_0 = 1 - q_{11}` (0/0 counts as one), "yes" has :math:`q_{11}`. So it answers "yes" above 1/2: on a binary set CCS
    is a logistic regression. The F1 of a row is its accuracy then, and nothing is done for the F1 of the set.
    """
    (x, y), (held_out, true) = ((rows.numpy(), labels.numpy()) for rows, labels in (parts.train, parts.validation))
    tried = [LogisticRegression(C=strength, max_iter=1000, random_state=seed).fit(x, y) for strength in STRENGTHS]
    return min(tried, key=lambda model: log_loss(true, model.predict_proba(held_out)))


def fit_forest(parts: Parts, seed: int) -> RandomForestClassifier:
    return RandomForestClassifier(random_state=seed).fit(*(part.numpy() for part in parts.train))


def fit_reduced_forest(parts: Parts, seed: int) -> Any:
    """A forest on principal components, which the paper has for pictures (Table 2) and not for tables."""
    both = make_pipeline(PCA(EXPLAINED, svd_solver="full"), RandomForestClassifier(random_state=seed))
    return both.fit(*(part.numpy() for part in parts.train))


BASELINES: dict[str, Callable[[Parts, int], Any]] = {
    "random forest": fit_forest,
    "PCA + forest": fit_reduced_forest,
    "CCS": fit_ccs,
}


def probabilities(model: Any, features: np.ndarray) -> np.ndarray:
    return np.asarray(model.predict_proba(features), np.float64)
