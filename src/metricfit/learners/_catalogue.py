"""The learner that ``model=`` means: a new learner has its one entry here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn.utils import get_tags
from torch import nn

from metricfit._checks import check_number, check_option
from metricfit._extras import require
from metricfit.learners._ensemble import EnsembleLearner, TimedEnsembleLearner
from metricfit.learners._estimators import (
    FURTHER_TREES,
    MAX_ROWS,
    BoostingLearner,
    EstimatorLearner,
    ForestLearner,
    whole_trees,
)
from metricfit.learners._learner import Learner, MetricLearner
from metricfit.learners._linear import LinearLearner
from metricfit.learners._network_options import Network
from metricfit.learners._table_network import TableNetworkLearner
from metricfit.methods import Choice, Method, NetworkTraining

MODELS = ("auto", "linear", "boosting", "extra_trees", "ensemble", "mlp")
CS = tuple(10.0**power for power in range(-3, 4))
LARGE = 50_000  # rows times classes, from which an ensemble with a time limit begins with faster trees
FEWEST_ROWS = 100  # for trees beside the linear model
NETWORKS = {"network": (64, 64), "wide_network": (128, 128), "deep_network": (96, 96, 96)}
MOST_CLASSES = {"boosting": 30, "extra_trees": 200}  # a round has a tree per class; a leaf has a number per class


@dataclass(frozen=True)
class DataFacts:
    """The size and kind of the data, before anything is trained."""

    n_rows: int
    n_classes: int
    sparse: bool
    n_splits: int


def build_learner(options: Mapping[str, Any], method: Method | Choice, seed: int, given: DataFacts) -> Learner:
    """The learner for the options of ``MetricClassifier``."""
    if (seconds := options["time_limit"]) is not None:
        check_number(seconds, "time_limit", 0.0, open_low=True)
    learner = _build(options["model"], options, method, seed, given)
    if seconds is not None and not isinstance(learner, TimedEnsembleLearner):
        raise ValueError(
            f"`time_limit` is for the ensemble, which trains more members in more time; the model is {learner.name!r}. "
            "Leave it out, or pass model='auto' or 'ensemble' and a table of at least 100 rows."
        )
    if isinstance(method, Choice) and method.by_accuracy and (not isinstance(learner, MetricLearner) or learner.refits):
        raise ValueError(
            f"`{method.name}` is for networks, and `model` {learner.name!r} is not one. Pass model='mlp', an nn.Module or a "
            "function that returns one."
        )
    if isinstance(method, Method) and method.loss != "cross_entropy" and not isinstance(learner, MetricLearner):
        raise ValueError(
            f"`model` {learner.name!r} is trained with cross-entropy and does not support `method` {method.name!r}. Pass "
            "method='cross_entropy', 'threshold' or 'auto', or model='linear' or 'mlp', which train every method."
        )
    return learner


def takes_sparse(model: Any) -> bool:
    """Whether a model takes sparse matrices, as far as it says so itself."""
    if isinstance(model, list | tuple):
        return all(takes_sparse(one) for one in model)
    return model != "boosting" if isinstance(model, str) else not _is_estimator(model) or get_tags(model).input_tags.sparse


def takes_gaps(model: Any) -> bool:
    """Whether a model takes missing values without preprocessing."""
    if isinstance(model, list | tuple):
        return all(takes_gaps(one) for one in model)
    if isinstance(model, str):
        return model in ("boosting", "extra_trees")
    return _is_estimator(model) and get_tags(model).input_tags.allow_nan


def _is_estimator(model: Any) -> bool:
    return hasattr(model, "fit") and hasattr(model, "__sklearn_tags__") and not isinstance(model, type)


def _build(model: Any, options: Mapping[str, Any], method: Method | Choice, seed: int, given: DataFacts) -> Learner:
    if isinstance(model, list | tuple):
        if not model:
            raise ValueError("`model` should be a list of at least one model, got none.")
        built = [_build(one, options, method, seed, given) for one in model]
        members = [part for one in built for part in (one.members if isinstance(one, EnsembleLearner) else (one,))]
        return _join(_with_distinct_names(members), given)
    if isinstance(model, str):
        check_option(model, "model", MODELS)
        if model in ("auto", "ensemble"):
            return _automatic(model, options, method, seed, given)
        if model != "mlp":
            return _known(model, options, seed, given)
    if hasattr(model, "get_params") and isinstance(model, type):
        raise TypeError(f"`model` should be an estimator, got the class {model.__name__}: pass {model.__name__}().")
    if hasattr(model, "fit") and hasattr(model, "get_params"):
        if not (hasattr(model, "predict_proba") or hasattr(model, "decision_function")):
            raise TypeError(f"`model` should have predict_proba or decision_function, {model!r} has neither.")
        return EstimatorLearner(model, seed=seed)
    if not (isinstance(model, str | Network | nn.Module) or callable(model)):
        names = ", ".join(map(repr, MODELS))
        raise TypeError(
            f"`model` should be {names}, a scikit-learn classifier, a Network, an nn.Module, a function that returns one, "
            f"or a list of models, got {model!r}."
        )
    network = model if isinstance(model, Network) else Network(None if isinstance(model, str) else model)
    return _network(network, method, seed)


def members_left_out(given: DataFacts) -> dict[str, str]:
    """The members of the ensemble that cannot take the data, and why."""
    out: dict[str, str] = {}
    if not given.n_splits:
        out = dict.fromkeys(("boosting", "extra_trees"), "no rows are held out")
    elif given.n_rows < FEWEST_ROWS:
        out = dict.fromkeys(("boosting", "extra_trees"), f"there are fewer than {FEWEST_ROWS} rows to train on")
    if given.sparse:
        out.setdefault("boosting", "it does not support sparse matrices")
    for name, most in MOST_CLASSES.items():
        if given.n_classes > most:
            out.setdefault(name, f"there are more than {most} classes")
    return out


def _automatic(model: str, options: Mapping[str, Any], method: Method | Choice, seed: int, given: DataFacts) -> Learner:
    """The ensemble of the members that can take the data; the linear model where the method is for it alone."""
    linear = _known("linear", options, seed, given)
    if model == "auto" and isinstance(method, Method) and method.loss != "cross_entropy":
        return replace(linear, notes=(f"The model is linear, because trees do not support the method {method.name}.",))
    out = members_left_out(given)
    kept = [_known(name, options, seed, given) for name in ("linear", "boosting", "extra_trees") if name not in out]
    notes = tuple(f"{name} is left out: {reason}." for name, reason in out.items())
    joined = _join(kept, given, notes)
    if options["time_limit"] is None or not isinstance(joined, EnsembleLearner):
        return joined
    return TimedEnsembleLearner(tuple(_timed_members(joined.members, seed, given)), notes=joined.notes)


def _timed_members(members: Sequence[Learner], seed: int, given: DataFacts) -> list[Learner]:
    """The members of an ensemble with a time limit, in the order in which they are tried."""
    known: dict[str, Learner] = {one.name: one for one in members}
    if "boosting" in known:
        known |= {name: BoostingLearner(seed, tuple(own.items()), name=name) for name, own in FURTHER_TREES.items()}
    if not given.sparse:
        known |= {name: TableNetworkLearner(seed, widths, name=name) for name, widths in NETWORKS.items()}
    if "extra_trees" in known and given.n_rows <= MAX_ROWS:
        known["whole_trees"] = whole_trees(seed)
    if given.n_rows * given.n_classes >= LARGE:  # boosting may take all of the time
        first = ["linear", "boosting_fast", "extra_trees", "network", "boosting"]
    else:
        first = ["linear", "boosting", "extra_trees", "network"]
    then = ["boosting_few_columns", "whole_trees", "wide_network", "deep_network", "boosting_additive", "boosting_large_trees"]
    return [known[name] for name in [*first, *then] if name in known]


def _join(members: Sequence[Learner], given: DataFacts, notes: tuple[str, ...] = ()) -> Learner:
    """An ensemble; a single member stays alone."""
    notes += tuple(note for member in members for note in member.notes)
    if len(members) == 1:
        return replace(members[0], notes=notes)
    if not given.n_splits:
        raise ValueError("`model` should be one model where no rows are held out: an ensemble needs out-of-fold scores.")
    return EnsembleLearner(tuple(members), notes=notes)


def _with_distinct_names(members: Sequence[Learner]) -> list[Learner]:
    counts, named = Counter[str](), list[Learner]()
    for member in members:
        counts[member.name] += 1
        again = counts[member.name] > 1
        named.append(replace(member, name=f"{member.name}_{counts[member.name]}") if again else member)
    return named


def _network(network: Network, method: Method | Choice, seed: int) -> Learner:
    """Epochs and patience are the method's own where none are given."""
    sizes = network.checked_sizes()
    require("lightning_fabric", "train", "model='mlp'" if network.module is None else "a network")
    from metricfit.learners._network import NetworkLearner  # Lightning takes a second to import

    own = method.network if isinstance(method, Method) else NetworkTraining()
    return NetworkLearner(
        network.name if network.module is None else network.module,
        max_epochs=own.max_epochs if network.max_epochs is None else network.max_epochs,
        batch_size=network.batch_size,
        lr=network.lr,
        patience=own.patience if network.patience is None else network.patience,
        hidden_layer_sizes=sizes,
        n_members=network.n_members,
        seed=seed,
        name=network.name,
    )


def _known(name: str, options: Mapping[str, Any], seed: int, given: DataFacts) -> Learner:
    """A model that has a name."""
    if name == "linear":
        C = options["C"]  # noqa: N806
        if C is not None and not C > 0.0:
            raise ValueError(f"`C` should be positive, got {C!r}.")
        return LinearLearner(CS if C is None else (float(C),), seed)
    if name == "boosting":
        if given.sparse:
            raise ValueError(
                "`model` 'boosting' does not support sparse matrices. Pass a dense matrix, or model='auto' or 'linear'."
            )
        return BoostingLearner(seed)
    capped = (f"extra_trees: each tree sees {MAX_ROWS:,} of {given.n_rows:,} rows.",) if given.n_rows > MAX_ROWS else ()
    return ForestLearner(seed, notes=capped)
