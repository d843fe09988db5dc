"""What belongs to a network alone: its layers, and how it is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from metricfit._checks import check_count, check_number

MAX_WIDTH = 2**20  # units of a layer
MAX_MEMBERS = 1000


class Network(BaseEstimator):  # type: ignore[misc] # scikit-learn is not typed
    """A network and its training, for ``MetricClassifier(model=Network(...))``.

    ``model="mlp"`` is short for ``Network()``; your own module or function is short for ``Network(module)``. Search over
    parameters as in every estimator: ``GridSearchCV(classifier, {"model__lr": [1e-3, 1e-2]})``.

    Training by cross-entropy ends when the cross-entropy of the held-out rows has not fallen for ``patience`` epochs. The
    optimizer is AdamW.

    Args:
        module: an ``nn.Module``, which is copied; a function of (number of features, number of classes) that returns one; or
            None for linear layers with ReLU between them.
        hidden_layer_sizes: the layers of the network where ``module`` is None.
        max_epochs, patience: None takes those of the method: 200 and 15 for cross-entropy, those of the papers for ``leaky``,
            ``exact`` and ``east``.
        batch_size: rows per step.
        lr: learning rate.
        n_members: the number of networks, one per fold. The mean of their probabilities predicts. Offsets and temperature come
            from out-of-fold scores, each of one network. A mean is less extreme than one network, but its logarithms have the
            same units, so offsets and temperature are taken as they are. 1 is four times faster: one network, which holds out
            a fifth of the rows. With your own ``cv``, the first splits are taken. As a member of an ensemble, a network is
            trained on every fold of the ensemble.

    >>> Network(lr=0.01, n_members=1)
    Network(lr=0.01, n_members=1)
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
        """How tables and files call it."""
        if self.module is None:
            return "mlp"
        return getattr(self.module, "__name__", type(self.module).__name__)

    def checked_sizes(self) -> tuple[int, ...]:
        """The hidden layers, one or several; an error says which option is wrong."""
        if not (self.module is None or callable(self.module)):
            raise TypeError(f"`module` should be an nn.Module, a function that returns one, or None, got {self.module!r}.")
        for name in ("max_epochs", "batch_size", "patience"):
            if (value := getattr(self, name)) is not None or name == "batch_size":
                check_number(value, name, 1)
        check_number(self.lr, "lr", 0.0, open_low=True)
        check_count(self.n_members, "n_members", MAX_MEMBERS)
        sizes = np.atleast_1d(self.hidden_layer_sizes).tolist()
        return tuple(check_count(size, "hidden_layer_sizes", MAX_WIDTH) for size in sizes)
