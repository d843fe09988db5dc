"""Tables 2 and 3: the baselines that are not networks.

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
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from reproductions.east_2024._protocol import Parts

EXPLAINED = 0.8  # share of the variance that PCA keeps: caption of Table 2
C_VALUES = (0.01, 1.0, 100.0)  # inverse regularisation of CCS, as many values as a network has draws


def fit_ccs(parts: Parts, seed: int) -> LogisticRegression | OneVsRestClassifier:
    r"""Convex calibrated surrogates (Zhang, Ramaswamy and Agarwal, ICML 2020) with a linear model, for one label per row.

    For :math:`s` labels CCS estimates :math:`s^2 + 1` probabilities, each by a separate logistic regression:
    :math:`q_0 = P(\text{no label})` and :math:`q_{jk} = P(y_j = 1, \text{k labels in all})`. It answers with the set of labels
    that has the largest expected F1 of a row.

    Two classes are one label, which a row has or has not, so there are two answers: "no" has an expected F1 of
    :math:`q_0 = 1 - q_{11}` (0/0 counts as one), "yes" has :math:`q_{11}`. So it answers "yes" above 1/2: on a binary set CCS
    is a logistic regression. The F1 of a row is its accuracy then, and nothing is done for the F1 of the set.

    More classes are a label each, of which a row has one. All :math:`q_{jk}` but :math:`q_{j1} = P(y = j)` are zero, and what
    is left are as many logistic regressions as classes, each for one class against the others. Of the answers with one label
    the best is the class with the largest :math:`q_{j1}`. :func:`best_sets` has the answers of CCS that may have several.
    """
    (x, y), (held_out, true) = ((rows.numpy(), labels.numpy()) for rows, labels in (parts.train, parts.validation))
    is_binary = len(np.unique(y)) == 2

    def fit(regularization: float) -> LogisticRegression | OneVsRestClassifier:
        one = LogisticRegression(C=regularization, max_iter=1000, random_state=seed)
        return (one if is_binary else OneVsRestClassifier(one)).fit(x, y)

    return min(map(fit, C_VALUES), key=lambda model: log_loss(true, model.predict_proba(held_out)))


def label_probabilities(model: OneVsRestClassifier, features: np.ndarray) -> np.ndarray:
    """What CCS estimates for each class, :math:`q_{j1}`, from separate regressions: rows do not sum to one."""
    return np.column_stack([one.predict_proba(features)[:, 1] for one in model.estimators_])


def best_sets(q: np.ndarray) -> np.ndarray:
    r"""The set of classes with the largest expected F1 of each row, as rows of booleans, if a row has one class.

    With :math:`q_j = P(y = j)`, a set :math:`A` has an expected F1 of :math:`2 \sum_{j \in A} q_j / (|A| + 1)`. The best set
    of each size has the largest :math:`q_j`. So a second class is named if it has more than half of the first one's :math:`q`:

    >>> best_sets(np.array([[0.6, 0.2, 0.2], [0.5, 0.4, 0.1], [0.34, 0.33, 0.33]])).tolist()
    [[True, False, False], [True, True, False], [True, True, True]]
    """
    order = np.argsort(-q, axis=1, kind="stable")
    sizes = np.arange(1, q.shape[1] + 1)
    expected = 2.0 * np.take_along_axis(q, order, axis=1).cumsum(axis=1) / (sizes + 1)
    rank = np.argsort(order, axis=1)
    return rank <= expected.argmax(axis=1)[:, None]


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
