"""Any trained model from the plain data that its ``to_plain`` gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from metricfit._description import check, checked_array
from metricfit._typing import Floats
from metricfit.learners._ensemble import EnsembleModel
from metricfit.learners._estimator_model import EstimatorModel
from metricfit.learners._linear_model import LinearModel
from metricfit.learners._mean_model import MeanModel
from metricfit.learners._network_model import NetworkModel
from metricfit.learners._network_options import Network

KINDS: dict[str, Any] = {
    "linear": LinearModel,
    "network": NetworkModel,
    "mean": MeanModel,
    "estimator": EstimatorModel,
    "ensemble": EnsembleModel,
}


class NotInFileError(ValueError):
    """Something that a file cannot hold has to be passed again."""


@dataclass(frozen=True)
class Restorer:
    """Builds models for these rows and classes; their arrays are tensors by now, and objects of other libraries are built."""

    n_inputs: Mapping[str, int]  # columns by form
    form: str  # the form that the model reads
    n_classes: int
    given: Any = None  # the user's ``model``, for networks

    @property
    def width(self) -> int:
        return self.n_inputs[self.form]

    def model(self, plain: dict[str, Any]) -> Any:
        """A model; a DamagedError if its parts do not fit the rows, the classes or each other."""
        check(plain["kind"] in KINDS, f"models of the kind {plain['kind']!r} are not known")
        return KINDS[plain["kind"]].from_plain(plain, self)

    def member(self, index: int, n_members: int, form: str) -> Restorer:
        """For a member of an ensemble; a list of as many models has the user's network at its index."""
        in_list = isinstance(self.given, list | tuple) and len(self.given) == n_members
        return replace(self, form=form, given=self.given[index] if in_list else self.given)

    def offsets(self, plain: dict[str, Any]) -> Floats:
        return checked_array(plain["offsets"], "float64", (self.n_classes,))

    def given_network(self) -> Any:
        module = self.given.module if isinstance(self.given, Network) else self.given
        if module is None or isinstance(module, str):
            raise NotInFileError(
                "This model is a user's own network: pass it to load as `model=`, as it was passed to the estimator."
            )
        return module
