"""Fitted classifiers as ONNX graphs, from the same plain data that :meth:`MetricClassifier.save` writes.

Our own models are built from doubles: trees by the operator TreeEnsemble of ai.onnx.ml 5, the rest by matrix products and
logarithms. So they decide as they do here. skl2onnx converts the estimators and transformers of users.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from metricfit._description import Foreign
from metricfit._extras import require
from metricfit._typing import Floats, Ints
from metricfit.decisions import LEAST_PROBABILITY, ML, NEVER, OLD_ML_OPSET, OPSET, OnnxGraph
from metricfit.estimators._kinds import CATEGORIES, DATES, TEXT
from metricfit.estimators._offset_classifier import FoldMean
from metricfit.estimators._onnx_trees import trees_to_onnx
from metricfit.estimators._plain import TABLE, keep_transformer
from metricfit.estimators._preprocess import CODES
from metricfit.learners import FAR, LEAST, LEAST_LOG, MATRIX, SELU_ALPHA, SELU_SCALE, trees_to_plain

RESERVED = ("label", "probabilities")
FLOAT32 = (DecisionTreeClassifier, GradientBoostingClassifier, RandomForestClassifier)  # round their features to float32
INSTEAD = "Keep such a model in Python: `save` and `load`, or mlflow (docs/production.md)."

Plain = Mapping[str, Any]


def classifier_to_onnx(classifier: Any, dtype: str) -> Any:
    """A graph of a fitted ``MetricClassifier``: from ``X``, or one input per column of a data frame, to both outputs."""
    graph = OnnxGraph(dtype)
    read = _reader(graph, classifier)
    logits = _logits(graph, classifier.model_.to_plain(), read, classifier.forms_[0], len(classifier.classes_))
    probabilities = graph.add("Softmax", graph.add("Div", logits, np.array(classifier.temperature_)), axis=1)
    if hasattr(classifier, "rule_"):  # it decides by the probabilities
        return _build(graph, classifier, _log_probabilities(graph, probabilities), probabilities)
    return _build(graph, classifier, logits, probabilities)


def offset_classifier_to_onnx(classifier: Any, dtype: str) -> Any:
    """A graph of a fitted ``OffsetClassifier``; ``probabilities`` only where its estimator has them."""
    if hasattr(classifier, "feature_names_in_"):
        raise ValueError(f"to_onnx needs an estimator that was fitted to an array, got one of a data frame. {INSTEAD}")
    if hasattr(classifier, "rule_") and classifier.rule_.has_lists_ is not None:
        raise ValueError("to_onnx is for one label per row. For several, put rule_.to_onnx() behind a graph of the estimator.")
    graph, estimator = OnnxGraph(dtype), classifier.estimator_
    features, n_features = graph.numbers("X", classifier.n_features_in_), classifier.n_features_in_
    members = estimator.estimators_ if isinstance(estimator, FoldMean) else [estimator]
    found, classes = [], classifier.classes_
    for one in members:
        output = _probabilities_or_scores(graph, one, features, n_features)
        never = 0.0 if hasattr(one, "predict_proba") else NEVER
        found.append(_spread(graph, output, np.searchsorted(classes, one.classes_), len(classes), never))
    output = graph.add("Div", graph.add("Sum", *found), np.array(float(len(found)))) if len(found) > 1 else found[0]
    if hasattr(estimator, "predict_proba"):
        return _build(graph, classifier, _log_probabilities(graph, output), output)
    return _build(graph, classifier, output, None)


def _build(graph: OnnxGraph, classifier: Any, scores: str, probabilities: str | None) -> Any:
    classes, offsets = classifier.classes_, classifier.offsets_
    if hasattr(classifier, "rule_"):
        classifier.rule_.check_attainable()
        if classifier.rule_.actions_ is not None:
            raise ValueError(f"to_onnx writes offsets, and these answers depend on costs of the row. {INSTEAD}")
        offsets = classifier.rule_.offsets_
    outputs: dict[str, tuple[str, Any, Sequence[int | None]]] = {
        "label": (graph.label(scores, offsets, classes), classes.dtype, (None,))
    }
    if probabilities is not None:
        outputs["probabilities"] = (probabilities, np.float64, (None, len(classes)))
    return graph.build(outputs)


# preprocessing


def _reader(graph: OnnxGraph, classifier: Any) -> Callable[[str], str]:
    """Gives the rows in a form that a model reads, as a value of the graph; every form is made once."""
    reader, made = classifier.preprocessor_, dict[str, str]()
    if classifier.reads_frames_:
        columns: Sequence[str] = _frame_inputs(graph, reader)
    else:
        features, n_features = graph.numbers("X", classifier.n_features_in_), classifier.n_features_in_

    def make(form: str) -> str:
        transformer = reader.transformers.get(form if reader.automatic else MATRIX)
        if transformer is None:
            return features
        if not reader.automatic:
            return _convert(graph, transformer, features, n_features)
        kept = keep_transformer(transformer)
        if kept["reads"] != TABLE:
            return _scale(graph, features, kept)
        return graph.add("Concat", *(_read_part(graph, columns, part) for part in kept["parts"]), axis=1)

    return lambda form: made[form] if form in made else made.setdefault(form, make(form))


def _frame_inputs(graph: OnnxGraph, reader: Any) -> list[str]:
    """One input per column: texts for categories, numbers for all others."""
    if not reader.automatic or not reader.transformers:
        raise ValueError(f"to_onnx needs preprocess='auto' for data frames, and a model other than a Pipeline. {INSTEAD}")
    kept = keep_transformer(next(iter(reader.transformers.values())))
    kinds = {place: part["kind"] for part in kept["parts"] for place in part["places"]}
    inputs = []
    for place, name in enumerate(reader.columns):
        if kinds[place] in (DATES, TEXT):
            raise ValueError(
                f"Column {name!r} contains {kinds[place]}, which to_onnx does not support. Convert it to numbers or "
                f"categories before the fit. {INSTEAD}"
            )
        if name in RESERVED or name in inputs:
            raise ValueError(f"Rename column {name!r}: two inputs or outputs of the graph would have this name.")
        is_text = kinds[place] in (CATEGORIES, CODES)
        inputs.append(graph.texts(name) if is_text else graph.numbers(name, 1))
    return inputs


def _read_part(graph: OnnxGraph, columns: Sequence[str], part: Plain) -> str:
    """The columns of one kind as numbers."""
    values = [columns[place] for place in part["places"]]
    if part["kind"] in (CATEGORIES, CODES):
        encoded = [_encode(graph, *one, part["kind"]) for one in zip(values, part["categories"], strict=True)]
        return graph.add("Concat", *encoded, axis=1)
    joined = graph.add("Concat", *values, axis=1)
    return _scale(graph, joined, part) if "fill" in part else joined


def _encode(graph: OnnxGraph, column: str, known: Plain, kind: str) -> str:
    """A category as its row of a small table. The last row is for values that the fit has not seen.

    Missing values are empty texts, unless the empty text is a category.
    """
    frequent, rare = known["frequent"], known["rare"]
    if kind == CODES:
        keys = [*frequent, *rare]
        table = np.array([*range(len(frequent)), *[len(frequent)] * len(rare), np.nan])[:, None]
    else:
        keys = frequent
        table = np.eye(len(frequent) + 1)[:, : len(frequent) + rare]
    index = {"" if key is None else key: row for row, key in enumerate(keys) if key is not None or "" not in keys}
    if not index:  # a column without any value
        index = {"": len(keys)}
    options = {"keys_strings": list(index), "values_int64s": list(index.values()), "default_int64": len(keys)}
    rows = graph.add("LabelEncoder", graph.add("Reshape", column, np.array([-1])), domain=ML, **options)
    return graph.add("Gather", table, rows)


def _scale(graph: OnnxGraph, values: str, kept: Plain) -> str:
    """Numbers, imputed and standardised where this was learned, and columns that say where they were missing."""
    if "fill" in kept:
        missing = graph.add("IsNaN", values)
        values = graph.add("Where", missing, np.array(kept["fill"]), values)
        if kept["gaps"]:
            gaps = graph.add("Gather", missing, np.array(kept["gaps"]), axis=1)
            values = graph.add("Concat", values, graph.cast(gaps, np.float64), axis=1)
        values = graph.add("Sub", values, np.array(kept["mean"]))
    return graph.add("Div", values, np.array(kept["scale"]))


# models


def _logits(graph: OnnxGraph, model: Plain, read: Callable[[str], str], form: str, n_classes: int) -> str:
    """Scores (n, k) without the offsets, as the ``logits`` of the model."""
    kind = model["kind"]
    if kind == "linear":
        return _linear(graph, model, read(form))
    if kind == "mean":
        members = [graph.add("Softmax", _logits(graph, one, read, form, n_classes), axis=1) for one in model["models"]]
        mean = graph.add("Div", graph.add("Sum", *members), np.array(float(len(members))))
        return graph.add("Max", graph.add("Log", mean), np.array(NEVER))
    if kind == "ensemble":
        parts = zip(model["members"], model["forms"], strict=True)
        members = [_logits(graph, one, read, form, n_classes) for one, form in parts]
        inputs = [_head_input(graph, one, n_classes) for one in members]
        head = _linear(graph, model["head"], graph.add("Concat", *inputs, axis=1))
        return _mix(graph, head, members, model["weights"]) if "weights" in model else head
    if kind == "table_network":
        return _table_network(graph, model, read(form))
    if kind == "estimator":
        return _spread(graph, _estimator(graph, model["estimator"], read(form)), model["seen"], n_classes, NEVER)
    raise ValueError(f"to_onnx takes linear models, trees, ensembles and scikit-learn's estimators, got a {kind}. {INSTEAD}")


def _linear(graph: OnnxGraph, model: Plain, features: str) -> str:
    columns = graph.add("Add", graph.add("MatMul", features, model["weight"]), model["intercept"])
    return _two_columns(graph, columns) if model["weight"].shape[1] == 1 else columns


def _mix(graph: OnnxGraph, head: str, members: Sequence[str], weights: Floats) -> str:
    """Half the head and half the weighted mean of the members, as in ``EnsembleModel.logits``."""
    pairs = zip(weights, members, strict=True)
    parts = [graph.add("Mul", graph.add("Softmax", one, axis=1), np.array(0.5 * weight)) for weight, one in pairs]
    own = graph.add("Mul", graph.add("Softmax", head, axis=1), np.array(0.5))
    return graph.add("Log", graph.add("Max", graph.add("Sum", own, *parts), np.array(LEAST)))


def _table_network(graph: OnnxGraph, model: Plain, features: str) -> str:
    """As ``TableNetworkModel.logits``."""
    scaled = graph.add("Mul", graph.add("Sub", features, model["center"]), model["scale"])
    square = graph.add("Mul", scaled, graph.add("Mul", scaled, np.array(FAR**-2)))
    hidden = graph.add("Div", scaled, graph.add("Sqrt", graph.add("Add", square, np.array(1.0))))
    for index, (weight, bias) in enumerate(zip(model["weights"], model["biases"], strict=True)):
        hidden = graph.add("Add", graph.add("MatMul", _selu(graph, hidden) if index else hidden, weight), bias)
    return hidden


def _selu(graph: OnnxGraph, hidden: str) -> str:
    """In float64: the attributes of ONNX's own Selu are float32."""
    above = graph.add("Mul", graph.add("Max", hidden, np.array(0.0)), np.array(SELU_SCALE))
    below = graph.add("Sub", graph.add("Exp", graph.add("Min", hidden, np.array(0.0))), np.array(1.0))
    return graph.add("Add", above, graph.add("Mul", below, np.array(SELU_SCALE * SELU_ALPHA)))


def _two_columns(graph: OnnxGraph, column: str) -> str:
    """Two columns that differ by this one."""
    return graph.add("MatMul", column, np.array([[-0.5, 0.5]]))


def _head_input(graph: OnnxGraph, logits: str, n_classes: int) -> str:
    log_p = graph.add("Max", graph.add("LogSoftmax", logits, axis=1), np.array(LEAST_LOG))
    if n_classes == 2:
        return graph.add("MatMul", log_p, np.array([[-1.0], [1.0]]))
    return graph.add("Sub", log_p, graph.add("ReduceMean", log_p, np.array([1]), keepdims=1))


def _spread(graph: OnnxGraph, scores: str, seen: Ints, n_classes: int, never: float) -> str:
    """Scores of the classes that were seen as those of all classes."""
    if len(seen) == n_classes:
        return scores
    first = graph.add("Gather", scores, np.array([0]), axis=1)
    unseen = graph.add("Add", graph.add("Mul", first, np.array(0.0)), np.array(never))
    index = np.full(n_classes, len(seen))
    index[seen] = np.arange(len(seen))
    return graph.add("Gather", graph.add("Concat", scores, unseen, axis=1), index, axis=1)


def _log_probabilities(graph: OnnxGraph, probabilities: str) -> str:
    return graph.add("Log", graph.add("Max", probabilities, np.array(LEAST_PROBABILITY)))


def _estimator(graph: OnnxGraph, estimator: Any, features: str) -> str:
    """Log-probabilities of the classes that it has seen, or its decision function."""
    if isinstance(estimator, Foreign):
        content = estimator.content
        output = _convert(graph, content, features, content.n_features_in_)
        return _log_probabilities(graph, output) if hasattr(content, "predict_proba") else output
    return _log_probabilities(graph, trees_to_onnx(graph, estimator, features))


def _probabilities_or_scores(graph: OnnxGraph, estimator: Any, features: str, n_features: int) -> str:
    """As :func:`_convert`; our own classifiers and trees that we know are exact."""
    if isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    if hasattr(estimator, "to_onnx"):
        return graph.embed(estimator.to_onnx(), {"X": features})[-1]
    trees = trees_to_plain(estimator)
    return trees_to_onnx(graph, trees, features) if trees else _convert(graph, estimator, features, n_features)


def _convert(graph: OnnxGraph, estimator: Any, features: str, n_features: int) -> str:
    """An estimator or a transformer of scikit-learn by skl2onnx: probabilities, the decision function, or features."""
    require("skl2onnx", "onnx", "to_onnx")
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType

    options = _options(estimator)
    if isinstance(estimator, FLOAT32):
        features = graph.cast(graph.cast(features, np.float32), np.float64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # skl2onnx reads attributes that scikit-learn is going to rename
            model = convert_sklearn(
                estimator,
                initial_types=[("X", DoubleTensorType([None, n_features]))],
                options=options,
                target_opset={"": OPSET, ML: OLD_ML_OPSET},
            )
    except Exception as error:  # skl2onnx raises all kinds of errors
        reason = " ".join(str(error).split())
        raise ValueError(
            f"skl2onnx cannot convert {estimator!r}: {reason[:200]}. Register a converter (onnxmltools has those of other "
            f"libraries), or pass another model. {INSTEAD}"
        ) from error
    value = graph.cast(graph.embed(model, {"X": features})[-1], np.float64)
    if "raw_scores" in options and len(estimator.classes_) == 2:
        return _two_columns(graph, graph.add("Gather", value, np.array([-1]), axis=1))
    return value


def _options(estimator: Any) -> dict[str, bool]:
    """For skl2onnx: a classifier gives one tensor, of probabilities or of its decision function."""
    if not hasattr(estimator, "classes_"):
        return {}
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    options = {} if isinstance(last, LinearSVC) else {"zipmap": False}  # it has no such option
    return options if hasattr(estimator, "predict_proba") else {**options, "raw_scores": True}
