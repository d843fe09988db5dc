"""What belongs to a network alone: its layers, and how it is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from metricfit._checks import check_count, check_number

MAX_WIDTH = 2**20  # units of a layer
MAX_MEMBERS = 1000


class Network(BaseEstimator):  # type: ignore[misc] # scikit-learn is not typed
    """Network and its training, for ``MetricClassifier(model=Network(...))``.

    ``model="mlp"`` is short for ``Network()``, and a module or a function is short for ``Network(module)``. Search parameters
    as in any nested estimator: ``GridSearchCV(classifier, {"model__lr": [1e-3, 1e-2]})``. The optimizer is AdamW.

    Parameters
    ----------
    module : nn.Module or callable, default=None
        A module, which is copied, or a function of (number of features, number of classes) that returns one. None builds
        linear layers with ReLU between them.
    hidden_layer_sizes : tuple of int, default=(128, 64)
        The hidden layers if ``module`` is None.
    max_epochs : int, default=None
        Maximum number of epochs. None uses that of the method: 200 for cross-entropy, the paper's for "leaky", "exact" and
        "east".
    batch_size : int, default=256
        Rows per step.
    lr : float, default=1e-3
        Learning rate.
    patience : int, default=None
        Training stops after this many epochs without a gain on the held-out rows. None uses that of the method: 15 for
        cross-entropy.
    n_members : int, default=4
        Number of networks, one per fold. The mean of their probabilities predicts, and out-of-fold scores give the offsets and
        the temperature. With 1, a single network holds out a fifth of the rows, which is four times faster. If you pass splits
        as ``cv``, the first ``n_members`` are used. In an ensemble, a network is trained on every fold of the ensemble.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from metricfit import MetricClassifier, Network
    >>> X, y = load_iris(return_X_y=True)
    >>> network = Network(hidden_layer_sizes=(16,), max_epochs=30, batch_size=32, lr=0.01, n_members=1)
    >>> classifier = MetricClassifier("f1_macro", model=network, random_state=0).fit(X, y)
    >>> classifier.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        module: Any = None,
        *,
        hidden_layer_sizes: tuple[int, ...] = (128, 64),
        max_epochs: int | None = None,
        batch_size: int = 256,
        lr: float = 1e-3,
        patience: int | None = None,
        n_members: int = 4,
    ) -> None:
        self.module = module
        self.hidden_layer_sizes = hidden_layer_sizes
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.lr = lr
        self.patience = patience
        self.n_members = n_members

    @property
    def name(self) -> str:
        """Name in tables and files."""
        if self.module is None:
            return "mlp"
        return getattr(self.module, "__name__", type(self.module).__name__)

    def checked_sizes(self) -> tuple[int, ...]:
        """Check the sizes of the hidden layers.

        Returns
        -------
        tuple of int
            The sizes; a single number becomes one layer.

        Raises
        ------
        ValueError
            If an option is out of range. The message names it.
        """
        if not (self.module is None or callable(self.module)):
            raise TypeError(f"`module` should be an nn.Module, a function that returns one, or None, got {self.module!r}.")
        for name in ("max_epochs", "batch_size", "patience"):
            if (value := getattr(self, name)) is not None or name == "batch_size":
                check_number(value, name, 1)
        check_number(self.lr, "lr", 0.0, open_low=True)
        check_count(self.n_members, "n_members", MAX_MEMBERS)
        sizes = np.atleast_1d(self.hidden_layer_sizes).tolist()
        return tuple(check_count(size, "hidden_layer_sizes", MAX_WIDTH) for size in sizes)
