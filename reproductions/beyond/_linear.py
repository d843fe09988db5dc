"""EXACT's and İrsoy's tables with three more columns: logistic regression, the same with tuned thresholds, MetricClassifier.

Rows are split as in the papers' own reproductions. No hyper-parameter comes from the papers: the penalty, the thresholds and
what ``MetricClassifier`` takes are chosen by five folds of the training rows.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from metricfit import MetricClassifier
from reproductions._experiment import Cell, Numbers, Scope
from reproductions.exact_2022 import _protocol as exact
from reproductions.leaky_2019 import tabular as leaky

METHODS = {"cross-entropy": "cross_entropy", "cross-entropy + threshold": "threshold", "MetricClassifier": "auto"}
N_FOLDS = 10  # five times two, as in the paper: a fit takes a second or two


def of_exact(cell: Cell, scope: Scope) -> Numbers:
    """Accuracy in percent on both parts."""
    data = exact.load_data(str(cell["set"]), scope.data)
    classifier = fit_classifier(*data.train, "accuracy", METHODS[str(cell["method"])])
    train, test = (100.0 * np.mean(classifier.predict(x.numpy()) == y.numpy()) for x, y in (data.train, data.test))
    return {"train": float(train), "test": float(test)}


def of_leaky(cell: Cell, scope: Scope) -> Numbers:
    """Error in percent on the other half, trained on one half with its development rows; the seed counts the ten folds."""
    train, development, (x, y) = leaky.parts(str(cell["set"]), scope.data, *divmod(int(cell["seed"]), 2))
    classifier = fit_classifier(*join_rows(train, development), "accuracy", METHODS[str(cell["method"])])
    return {"test_error": float(100.0 * np.mean(classifier.predict(x.numpy()) != y.numpy()))}


def fit_classifier(features: Tensor, labels: Tensor, metric: str, method: str = "auto") -> MetricClassifier:
    """Of features that are standardised already."""
    classifier = MetricClassifier(metric, model="linear", method=method, preprocess=None, random_state=0)
    return classifier.fit(features.numpy(), labels.numpy())


def join_rows(first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """The rows of both."""
    return torch.cat([first[0], second[0]]), torch.cat([first[1], second[1]])
