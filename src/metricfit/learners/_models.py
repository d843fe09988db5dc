"""Trained models: their scores, one offset per class for the decision, and the plain data that files keep of them."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import torch
from joblib import parallel_config
from scipy.sparse import issparse
from scipy.special import log_softmax
from torch import Tensor, nn

from metricfit._checks import check_option
from metricfit._description import Foreign, check, check_tensor, checked_array
from metricfit._typing import Floats, Ints
from metricfit.decisions import NEVER, log_probabilities
from metricfit.learners._network_options import Network
from metricfit.learners._rows import Forms
from metricfit.learners._tree_arrays import trees_from_plain, trees_to_plain


class Model(ABC):
    """A trained model, a dataclass: scores in logit units, and one offset per class for the decision."""

    kind: ClassVar[str]  # in files
    offsets: Any

    @abstractmethod
    def logits(self, features: Any) -> Floats:
        """Scores (n, k) without the offsets."""

    def with_offsets(self, offsets: Floats) -> Self:
        return replace(self, offsets=offsets - offsets.mean())  # type: ignore[type-var]

    def to_plain(self) -> dict[str, Any]:
        """A description for files: JSON values and arrays. ``from_plain`` is its inverse."""
        return {"kind": self.kind, **{one.name: getattr(self, one.name) for one in fields(self)}}  # type: ignore[arg-type]


@dataclass(frozen=True)
class LinearModel(Model):
    """Weights (p, m), intercepts (m,) and offsets (k,) of the decision; m is 1 for two classes and k for more."""

    weight: Floats
    intercept: Floats
    offsets: Floats
    kind = "linear"

    def logits(self, features: Any) -> Floats:
        return spread_columns(np.asarray(features @ self.weight) + self.intercept)

    @staticmethod
    def slopes(features: Any, by_scores: Floats) -> Floats:
        """The derivative by weights and intercepts, (p + 1, m), from that by the scores, (n, k)."""
        by_columns = 0.5 * (by_scores[:, 1:] - by_scores[:, :1]) if by_scores.shape[1] == 2 else by_scores
        return np.vstack([np.asarray(features.T @ by_columns), by_columns.sum(0)])

    @classmethod
    def from_plain(cls, plain: dict[str, Any], to: Restorer) -> LinearModel:
        n_columns = 1 if to.n_classes == 2 else to.n_classes
        shapes = {"weight": (to.width, n_columns), "intercept": (n_columns,), "offsets": (to.n_classes,)}
        return cls(*(checked_array(plain[name], "float64", shape) for name, shape in shapes.items()))

    @classmethod
    def random(cls, n_features: int, n_classes: int, seed: int) -> LinearModel:
        """Where the papers' linear models start: uniform within 1 / sqrt(p), as ``nn.Linear`` draws."""
        n_columns, bound = 1 if n_classes == 2 else n_classes, 1.0 / np.sqrt(max(n_features, 1))
        drawn = np.random.default_rng(seed).uniform(-bound, bound, (n_features + 1, n_columns))
        return cls(drawn[:-1], drawn[-1], np.zeros(n_classes))


def spread_columns(columns: Floats) -> Floats:
    """One column (n, 1) becomes two that differ by it; k columns stay."""
    return np.concatenate([-0.5 * columns, 0.5 * columns], 1) if columns.shape[1] == 1 else columns


@dataclass(frozen=True)
class MeanModel(Model):
    """Models of the folds of one learner: their mean is steadier than each, and needs no further training.

    Offsets and temperature come from out-of-fold scores, and each of these is of one model. They are taken as they are: the
    logarithm of a mean probability has the same units, and is close to a model's own wherever the models agree. Where they
    disagree the mean is nearer to a tie, so an offset changes more of these rows. The mean of networks' logits, which keeps
    their scale, did as well on metrics.
    """

    models: tuple[Any, ...]
    offsets: Floats
    kind = "mean"

    @classmethod
    def of(cls, models: Sequence[Any]) -> Any:
        """The mean, also of the offsets; of one model, the model itself."""
        return models[0] if len(models) == 1 else cls(tuple(models), np.mean([model.offsets for model in models], 0))

    def logits(self, features: Any) -> Floats:
        """Logarithms of the mean probabilities."""
        total = sum(np.exp(log_softmax(model.logits(features), 1)) for model in self.models)
        return log_of_mean(total, len(self.models))

    def to_plain(self) -> dict[str, Any]:
        return {**super().to_plain(), "models": [model.to_plain() for model in self.models]}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], to: Restorer) -> MeanModel:
        check(plain["models"], "it has no models")
        return cls(tuple(to.model(one) for one in plain["models"]), to.offsets(plain))


def log_of_mean(total: Any, count: int) -> Floats:
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(total / count), NEVER)


@dataclass(frozen=True)
class EstimatorModel(Model):
    """An estimator that was fitted to the classes ``seen`` of k, under the labels 0, 1, ...; and one offset per class."""

    estimator: Any
    seen: Ints
    offsets: Floats
    kind = "estimator"

    def logits(self, features: Any) -> Floats:
        """Log-probabilities, or the decision function where there are none; a class that was not seen never wins."""
        return spread_classes(class_scores(self.estimator, features), self.seen, len(self.offsets))

    def to_plain(self) -> dict[str, Any]:
        """The trees that we build are arrays; skops keeps the estimators of users."""
        return {**super().to_plain(), "estimator": trees_to_plain(self.estimator) or Foreign(self.estimator)}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], to: Restorer) -> EstimatorModel:
        seen, estimator = checked_array(plain["seen"], "int64", (None,)), plain["estimator"]
        fits = len(seen) > 0 and seen[0] >= 0 and seen[-1] < to.n_classes and (np.diff(seen) > 0).all()
        check(fits, "the classes of a model do not fit")
        if isinstance(estimator, dict):
            estimator = trees_from_plain(estimator, to.width, len(seen))
        return cls(estimator, seen, to.offsets(plain))


def class_scores(estimator: Any, features: Any) -> Floats:
    """Log-probabilities, or the decision function where there are no probabilities; (n, k)."""
    scores = np.asarray(raw_scores(estimator, features), np.float64)
    if hasattr(estimator, "predict_proba"):
        return log_probabilities(scores)
    pairs = getattr(estimator, "decision_function_shape", "ovr") == "ovo"
    if (scores.ndim == 2 and scores.shape[1] != len(estimator.classes_)) or pairs:
        raise ValueError("`estimator` should have one score per class; try decision_function_shape='ovr'.")
    return spread_columns(scores[:, None]) if scores.ndim == 1 else scores


def raw_scores(estimator: Any, features: Any) -> Any:
    """Probabilities, or the decision function where there are no probabilities.

    Whatever ``joblib.parallel_config`` says, only an estimator with ``n_jobs`` of its own uses several threads: a forest would
    sum over its trees in another order each time.
    """
    features = as_input(estimator, features)
    with parallel_config(backend="threading", n_jobs=1):
        if hasattr(estimator, "predict_proba"):
            return estimator.predict_proba(features)
        if hasattr(estimator, "decision_function"):
            return estimator.decision_function(features)
    raise TypeError(f"`estimator` should have predict_proba or decision_function, {estimator!r} has neither.")


def as_input(estimator: Any, features: Any) -> Any:
    """The features as the estimator takes them: a network of skorch needs float32, like its weights."""
    is_skorch = any(kind.__module__.partition(".")[0] == "skorch" for kind in type(estimator).__mro__)
    return features.astype(np.float32) if is_skorch and isinstance(features, np.ndarray) else features


def spread_classes(scores: Floats, seen: Ints, n_classes: int, never: float = NEVER) -> Floats:
    """Scores of the classes that were seen as those of all classes; the others never win."""
    if len(seen) == n_classes:
        return scores
    spread = np.full((len(scores), n_classes), never)
    spread[:, seen] = scores
    return spread


LEAST = 1e-9  # probability of a mean
BLOCK_ROWS = 4096  # that a network scores at a time
LEAST_LOG = float(np.log(1e-4))  # log-probability that a head reads: trees say 0 and 1 too easily


@dataclass(frozen=True)
class EnsembleModel(Model):
    """The members' models, the form of rows that each reads, and the head.

    With ``weights``, the probabilities are half those of the head and half the weighted mean of the members'.
    """

    members: tuple[Any, ...]
    names: tuple[str, ...]
    forms: tuple[str, ...]
    head: LinearModel
    weights: Floats | None = None  # of the members, with the sum 1
    kind = "ensemble"

    @property
    def offsets(self) -> Floats:
        return self.head.offsets

    def logits(self, features: Any) -> Floats:
        parts = zip(self.members, self.forms, strict=True)
        logits = [member.logits(_in_form(features, form)) for member, form in parts]
        found = self.head.logits(head_inputs(logits))
        return found if self.weights is None else mix(found, logits, self.weights)

    def with_offsets(self, offsets: Floats) -> Self:
        return replace(self, head=self.head.with_offsets(offsets))

    def to_plain(self) -> dict[str, Any]:
        members = [model.to_plain() for model in self.members]
        weights = {} if self.weights is None else {"weights": self.weights}
        described = {"kind": self.kind, "names": self.names, "forms": self.forms, **weights}
        return {**described, "members": members, "head": self.head.to_plain()}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], to: Restorer) -> EnsembleModel:
        names, forms, members = plain["names"], plain["forms"], plain["members"]
        check(len(names) == len(forms) == len(members), "the names of its members do not fit")
        models = [
            to.member(index, len(members), form).model(one)
            for index, (form, one) in enumerate(zip(forms, members, strict=True))
        ]
        n_scores = len(members) * (1 if to.n_classes == 2 else to.n_classes)
        head = LinearModel.from_plain(plain["head"], replace(to, n_inputs={"": n_scores}, form=""))
        weights = checked_array(plain["weights"], "float64", (len(members),)) if "weights" in plain else None
        return cls(tuple(models), tuple(names), tuple(forms), head, weights)


def mix(head: Floats, logits: Sequence[Floats], weights: Floats) -> Floats:
    """Log-probabilities: half those of the head, half the weighted mean of the members'.

    >>> certain, unsure = np.log([[0.9, 0.1]]), np.log([[0.5, 0.5]])
    >>> np.exp(mix(certain, [certain, unsure], np.array([0.5, 0.5]))).round(2)
    array([[0.8, 0.2]])
    """
    mean = sum(weight * np.exp(log_softmax(one, 1)) for weight, one in zip(weights, logits, strict=True) if weight)
    return np.log(np.maximum(0.5 * (np.exp(log_softmax(head, 1)) + mean), LEAST))


def _in_form(features: Any, form: str) -> Any:
    return features.read(form) if isinstance(features, Forms) else features


def head_inputs(logits: Sequence[Floats]) -> Floats:
    """What the head reads: each member's log-probabilities less their mean; for two classes one difference per member."""
    columns = []
    for scores in logits:
        log_p = np.maximum(log_softmax(scores, 1), LEAST_LOG)
        columns.append(log_p[:, 1:] - log_p[:, :1] if log_p.shape[1] == 2 else log_p - log_p.mean(1, keepdims=True))
    return np.concatenate(columns, 1)


@dataclass(frozen=True)
class NetworkModel(Model):
    """A module, and one offset per class for the decision."""

    module: nn.Module
    offsets: Floats
    hidden_layer_sizes: tuple[int, ...] | None = None  # of a module from `build_mlp`; None for a user's own
    kind = "network"

    def logits(self, features: Any) -> Floats:
        """Scores (n, k) in evaluation mode, by blocks of rows.

        Those of a module from `build_mlp` are computed in double precision, so that a row has the same score alone and among
        others up to 1e-13. A user's module computes in its own precision.
        """
        own = self.hidden_layer_sizes is None
        module = self.module.eval() if own else self._double_module
        with torch.no_grad():
            found = [module(block if own else block.double()) for block in _blocks(features)]
        scores = [one[0] if isinstance(one, tuple) else one for one in found]  # mu; sigma is for training alone
        return np.concatenate([spread_columns(one.double().numpy()) for one in scores])

    @cached_property
    def _double_module(self) -> nn.Module:
        return copy.deepcopy(self.module).double().eval()

    def with_offsets(self, offsets: Floats) -> Self:
        return replace(self, offsets=offsets)

    def to_plain(self) -> dict[str, Any]:
        """The numbers of the module. A user's own module has to be passed again."""
        module = dict(self.module.state_dict())
        return {"kind": self.kind, "hidden_layer_sizes": self.hidden_layer_sizes, "module": module, "offsets": self.offsets}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], to: Restorer) -> NetworkModel:
        """A network from :func:`build_mlp`, or the user's own module, with these numbers."""
        sizes, numbers = plain["hidden_layer_sizes"], plain["module"]
        if sizes is None:
            module = build_module(to.given_network(), to.width, to.n_classes, ())
        else:
            check(len(numbers) == 2 * len(sizes) + 2, "layers of the network are missing")
            with torch.device("meta"):  # no memory, and no random numbers
                module = build_mlp(to.width, to.n_classes, tuple(sizes))
        expected = module.state_dict()
        check(expected.keys() == numbers.keys(), "the parts of the network do not fit `model`")
        for name, tensor in expected.items():
            check_tensor(numbers[name], str(tensor.dtype).removeprefix("torch."), tensor.shape, finite=sizes is not None)
        module.load_state_dict(numbers, assign=sizes is not None)
        return cls(module.eval(), to.offsets(plain), None if sizes is None else tuple(sizes))


SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
DENSE_ROWS = 4096  # of a sparse matrix that are made dense at once
FAR = 3.0  # a scaled value beyond it is clipped smoothly


@dataclass(frozen=True)
class TableNetworkModel(Model):
    """A network of a :class:`TableNetworkLearner`: how inputs are scaled, layers with SELU between them, and offsets."""

    center: Floats
    scale: Floats
    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    offsets: Floats
    kind = "table_network"

    def logits(self, features: Any) -> Floats:
        """Scores (n, k) in double precision."""
        if issparse(features):
            starts = range(0, features.shape[0], DENSE_ROWS)
            return np.concatenate([self.logits(features[start : start + DENSE_ROWS].toarray()) for start in starts])
        hidden = smooth_clip((np.asarray(features, np.float64) - self.center) * self.scale)
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = (_selu(hidden) if index else hidden) @ weight + bias
        return hidden

    def with_offsets(self, offsets: Floats) -> Self:
        return replace(self, offsets=offsets)

    @classmethod
    def from_plain(cls, plain: dict[str, Any], to: Restorer) -> TableNetworkModel:
        weights, biases, width = [], [], to.width
        check(len(plain["weights"]) == len(plain["biases"]) > 0, "layers of the network are missing")
        for weight, bias in zip(plain["weights"], plain["biases"], strict=True):
            weights.append(checked_array(weight, "float64", (width, None)))
            width = weights[-1].shape[1]
            biases.append(checked_array(bias, "float64", (width,)))
        check(width == to.n_classes, "the last layer of the network does not fit the classes")
        center, scale = (checked_array(plain[name], "float64", (to.width,)) for name in ("center", "scale"))
        return cls(center, scale, tuple(weights), tuple(biases), to.offsets(plain))


def _selu(hidden: Floats) -> Floats:
    return SELU_SCALE * np.where(hidden > 0.0, hidden, SELU_ALPHA * np.expm1(np.minimum(hidden, 0.0)))


def smooth_clip(values: Floats) -> Floats:
    """Values below 3 stay nearly as they are, and none passes 3.

    >>> smooth_clip(np.array([0.0, 3.0, 1e9])).round(4)
    array([0.    , 2.1213, 3.    ])
    """
    return values / np.sqrt(1.0 + (values / FAR) ** 2)


def build_mlp(n_features: int, n_classes: int, hidden_layer_sizes: tuple[int, ...]) -> nn.Sequential:
    """Linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for width in hidden_layer_sizes:
        layers += [nn.Linear(n_features, width), nn.ReLU()]
        n_features = width
    return nn.Sequential(*layers, nn.Linear(n_features, n_classes))


def build_module(model: Any, n_features: int, n_classes: int, hidden_layer_sizes: tuple[int, ...]) -> nn.Module:
    """A fresh module from its name, a module to copy, or a function."""
    if isinstance(model, str):
        check_option(model, "model", ("linear", "mlp"))
        return build_mlp(n_features, n_classes, hidden_layer_sizes)
    if isinstance(model, nn.Module):
        return copy.deepcopy(model)
    module = model(n_features, n_classes) if callable(model) else model
    if not isinstance(module, nn.Module):
        raise TypeError(f"`model` should be 'linear', 'mlp', an nn.Module or a function that returns one, got {module!r}.")
    return module


def _blocks(features: Any) -> Iterator[Tensor]:
    for start in range(0, features.shape[0], BLOCK_ROWS):
        yield as_tensor(features[start : start + BLOCK_ROWS])


def as_tensor(features: Any) -> Tensor:
    """Features as a dense float32 tensor."""
    return torch.from_numpy(np.asarray(features.toarray() if issparse(features) else features, np.float32))


KINDS: dict[str, Any] = {
    one.kind: one for one in (LinearModel, NetworkModel, TableNetworkModel, MeanModel, EstimatorModel, EnsembleModel)
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
                "The model contains a custom network: pass it to load as `model=`, as you passed it to the estimator."
            )
        return module
