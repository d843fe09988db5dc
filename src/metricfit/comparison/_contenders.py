"""What is compared: models, and for each of them methods. The order is from simple to complex."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from metricfit import methods as known_methods
from metricfit._printable import did_you_mean
from metricfit.learners import Network
from metricfit.methods import AUTO, BASELINE, CROSS_ENTROPY, Choice, Method, MethodLike
from metricfit.metrics import Metric

TRIVIAL, LINEAR, ENSEMBLE = "trivial", "linear", "ensemble"
KNOWN_MODELS = (LINEAR, "boosting", "extra_trees", "mlp", ENSEMBLE, "auto")  # from simple to complex
TIMED = {ENSEMBLE, "auto"}  # models that use a time limit
DEFAULT_MODELS = (LINEAR, "boosting", ENSEMBLE)
MODELS_IN_WORDS = {  # in a sentence, and in a glossary
    TRIVIAL: ("a constant answer", "one class for all rows"),
    LINEAR: ("the linear model", "logistic regression with a penalty chosen by held-out cross-entropy"),
    "boosting": ("boosted trees", "boosted trees (HistGradientBoostingClassifier of scikit-learn)"),
    "extra_trees": ("extremely randomised trees", "extremely randomised trees"),
    "mlp": ("the neural network", "a neural network"),
    ENSEMBLE: ("the ensemble", "linear, boosting and extra_trees, with a logistic head on their out-of-fold probabilities"),
    "auto": ("the automatic model", "the default of MetricClassifier: the ensemble of the members that support the data"),
}
CONSTANT = Method(
    "constant",
    "a constant answer",
    "always predicts the class that scores best on its own",
    loss="cross_entropy",
    offsets="none",
)


@dataclass(frozen=True)
class Contender:
    """A model and the method that trains it."""

    model: str  # its name
    method: Method | Choice
    given: Any  # what ``MetricClassifier`` takes as ``model``
    time_limit: float | None = None  # seconds of a fit, for the ensemble

    @property
    def name(self) -> str:
        return f"{self.model}, {self.method.name}"

    @property
    def title(self) -> str:
        return self.method.title if self.model == TRIVIAL else f"{self.model}, {self.method.title}"

    @property
    def about_model(self) -> str:
        """What the model is, for a glossary; of a custom model the names of its classes."""
        if self.given is None or isinstance(self.given, str):
            words = MODELS_IN_WORDS.get(self.model if self.given is None else self.given, ("", ""))[1]
            return words if self.time_limit is None else f"as many models as {self.time_limit:g} seconds allow, and their mean"
        parts = self.given if isinstance(self.given, list | tuple) else [self.given]
        return ", ".join(type(part).__name__ for part in parts)

    @property
    def in_words(self) -> str:
        """The model and its method in plain words, to be read in a sentence."""
        model, method = MODELS_IN_WORDS.get(self.model, (self.model, ""))[0], self.method
        if self.model == TRIVIAL:
            return model
        if isinstance(method, Choice):
            return f"{model} with {method.title}{' of a method' if method.name == AUTO else ''}"
        if method.name == BASELINE:
            return f"{model} with a tuned threshold"
        return f"{model} trained by {'plain cross-entropy' if method.name == CROSS_ENTROPY else method.title}"


CONSTANT_NAME = f"{TRIVIAL}, {CONSTANT.name}"
REFERENCE = f"{LINEAR}, {BASELINE}"  # what everything is compared with: the cheap thing that people can do today


def method_of_fit(model: str, method: str, measure: Metric) -> str:
    """The contender's method that is the same as a fit of ``MetricClassifier`` with this model and method.

    By default trees and ensembles have tuned offsets, which have nothing to add to accuracy. Linear models have a choice.
    """
    if model == LINEAR or method != AUTO:
        return method
    return CROSS_ENTROPY if measure.counts_hits else BASELINE


def fit_options(contender: Contender, measure: Metric | None) -> str:
    """The options of ``metricfit fit`` for a contender. Without a ``measure`` a rule decides, and no method is named.

    >>> from metricfit import metrics
    >>> fit_options(Contender("boosting", known_methods.get("threshold"), "boosting"), metrics.get("f1"))
    '--model boosting'
    >>> fit_options(Contender("linear", known_methods.get("exact"), "linear"), metrics.get("f1"))
    '--model linear --method exact'
    >>> fit_options(Contender("ensemble", known_methods.get("threshold"), "ensemble", 60.0), None)
    '--model ensemble --time-limit 60'
    """
    named = measure is not None and contender.method.name not in (AUTO, method_of_fit(contender.model, AUTO, measure))
    method = f" --method {contender.method.name}" if named else ""
    limit = "" if contender.time_limit is None else f" --time-limit {contender.time_limit:g}"
    return f"--model {contender.model}{method}{limit}"


def list_contenders(
    models: Any,
    methods: Sequence[MethodLike] | None,
    left_out: Mapping[str, str],
    thresholds_only: bool,
    time_limit: float | None,
) -> list[Contender]:
    """A constant answer first, then every model plain and with a tuned threshold; linear models by all methods.

    ``left_out`` are default models that cannot take the data. ``thresholds_only`` leaves every model with a tuned threshold.
    ``time_limit`` is for the ensemble, and means nothing where that cannot take the data.
    """
    wanted = _models_in_order(models, [name for name in DEFAULT_MODELS if name not in left_out])
    for_metric = _methods_in_order(methods)
    plain = [known_methods.get(CROSS_ENTROPY), known_methods.get(BASELINE)]
    found = [Contender(TRIVIAL, CONSTANT, None)]
    for name, model in wanted.items():
        all_methods = name == LINEAR or (methods is not None and _is_network(model))
        by_methods = plain[1:] if thresholds_only else for_metric if all_methods else plain
        found += [Contender(name, method, model, time_limit if name in TIMED else None) for method in by_methods]
    return found


def _models_in_order(models: Any, default: Sequence[str]) -> dict[str, Any]:
    """Names to models, from simple to complex. Names replace the default models; custom models are added to them."""
    if models is None:
        return {name: name for name in default}
    if isinstance(models, Mapping):
        for name in models:
            if not isinstance(name, str) or name in (*DEFAULT_MODELS, TRIVIAL):
                raise ValueError(f"`models` should give your models new names, got {name!r}.")
        simple = {name: name for name in default if name != ENSEMBLE}
        return {**simple, **models, **({ENSEMBLE: ENSEMBLE} if ENSEMBLE in default else {})}
    if isinstance(models, str) or not isinstance(models, Sequence):
        raise TypeError(f"`models` should be a list of names or a dictionary of models, got {models!r}.")
    if not models or not all(isinstance(name, str) for name in models):
        raise TypeError(f"`models` should be names; pass your own as a dictionary, {{'mine': model}}. Got {models!r}.")
    for name in models:
        if name not in KNOWN_MODELS:
            known = ", ".join(map(repr, KNOWN_MODELS))
            raise ValueError(f"`models` should be some of {known}; got {name!r}.{did_you_mean(name, KNOWN_MODELS)}")
    return {name: name for name in KNOWN_MODELS if name == LINEAR or name in models}  # the reference is linear


def _methods_in_order(wanted: Sequence[MethodLike] | None) -> list[Method | Choice]:
    """The methods to compare, including the baseline: registered ones in the registry's order, then the others."""
    registered, chosen = known_methods.names(), dict[str, Method | Choice]()
    for method in map(known_methods.get, registered if wanted is None else [*wanted, BASELINE]):
        if chosen.setdefault(method.name, method) is not method:
            raise ValueError(f"`methods` should have distinct names, got {method.name!r} for two methods.")
    return sorted(
        chosen.values(), key=lambda method: registered.index(method.name) if method.name in registered else len(registered)
    )


def _is_network(model: Any) -> bool:
    return model == "mlp" if isinstance(model, str) else isinstance(model, Network | nn.Module)
