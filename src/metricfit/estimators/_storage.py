"""A fitted ``MetricClassifier`` as a folder of files that hold data and no code.

``weights.safetensors`` has the numbers of linear models and networks, ``preprocessor.skops`` what scikit-learn learned about
the columns, ``*trees.skops``, ``*lightgbm.txt`` and ``*xgboost.json`` have trees, ``model.json`` has all the rest, and the
checksums of the other files. Opening a model never runs anything from it: skops builds only types from a closed list, the
others are plain data, and trees are checked before anything walks through them.
"""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import sklearn
import torch
from safetensors.torch import load_file, save_file
from sklearn.feature_extraction.text import TfidfVectorizer

from metricfit import _skops, methods, metrics
from metricfit._description import FORMAT, JSON_FILE, VERSION, SavedFiles, checksum, other_version, read_description
from metricfit._files import new_folder
from metricfit._table import Table
from metricfit.estimators._forms import FormReader
from metricfit.learners import LinearModel, NotInFileError, Shape, Stored, restore_model
from metricfit.methods import Choice, Method
from metricfit.metrics import Custom, Metric
from metricfit.metrics._resolve import resolve_metric

WEIGHTS_FILE, PREPROCESSOR_FILE = "weights.safetensors", "preprocessor.skops"
# the types that ``_preprocess`` uses; loading builds no others
_PARTS = {
    "sklearn.compose._column_transformer": ["ColumnTransformer"],
    "sklearn.feature_extraction.text": ["TfidfTransformer", "TfidfVectorizer"],
    "sklearn.impute._base": ["MissingIndicator", "SimpleImputer"],
    "sklearn.pipeline": ["Pipeline"],
    "sklearn.preprocessing._data": ["StandardScaler"],
    "sklearn.preprocessing._encoders": ["OneHotEncoder", "OrdinalEncoder"],
    "sklearn.preprocessing._function_transformer": ["FunctionTransformer"],
    "sklearn.utils._bunch": ["Bunch"],
    "metricfit.estimators._preprocess": ["as_categories", "as_date_parts", "as_numbers", "as_text"],
    "numpy": ["bool", "dtype", "float32", "float64", "int32", "int64", "ndarray"],
    "scipy.sparse": ["csr_matrix", "csr_array"],
    "builtins": ["bool", "dict", "float", "int", "list", "NoneType", "set", "slice", "str", "tuple", "type"],
}
TRUSTED = frozenset(f"{module}.{name}" for module, names in _PARTS.items() for name in names)
_METRICS = {name: getattr(metrics, name) for name in metrics.__all__ if isinstance(getattr(metrics, name), type)}


def save(estimator: Any, folder: Path, beside_it: Mapping[str, str] = MappingProxyType({})) -> None:
    """Write a model into a new folder, with further text files if given."""
    parts = estimator.model_.parts()
    description = _description(estimator)
    with new_folder(folder) as beside:
        save_file(parts.tensors, beside / WEIGHTS_FILE)
        for name, write in parts.files.items():
            write(beside / name)
        if estimator.preprocessor_.transformers:
            _skops.write(estimator.preprocessor_.transformers, beside / PREPROCESSOR_FILE)
        checksums = {file.name: checksum(file) for file in sorted(beside.iterdir())}
        written = {**description, "model": parts.description, "sha256": checksums}
        (beside / JSON_FILE).write_text(json.dumps(written, indent=1, allow_nan=True), encoding="utf-8")
        for name, text in beside_it.items():
            (beside / name).write_text(text, encoding="utf-8")


def load(cls: Any, folder: Path, model: Any, metric: Any, trusted: tuple[str, ...]) -> Any:
    """Read a model; a ValueError says what is wrong with a folder that holds none, or half of one."""
    found = read_description(folder)
    if other := other_version(found):
        warnings.warn(other, stacklevel=3)
    try:
        return _load_parts(cls, folder, found, model, metric, trusted)
    except (NotInFileError, _skops.UntrustedError, ImportError):
        raise
    except Exception as error:  # libraries raise all kinds of errors for damaged files
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ValueError(f"{folder} holds a damaged model: {reason}") from error


def _load_parts(cls: Any, folder: Path, found: dict[str, Any], model: Any, metric: Any, trusted: tuple[str, ...]) -> Any:
    estimator = cls(**_restore_params(found, model, metric))
    estimator.classes_ = np.array(found["classes"]["values"], dtype=found["classes"]["dtype"])
    estimator.n_features_in_, estimator.n_inputs_ = found["n_features_in"], dict(found["n_inputs"])
    estimator.learner_, estimator.notes_, estimator.forms_ = found["learner"], tuple(found["notes"]), list(found["forms"])
    names = found["feature_names_in"]
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator.reads_frames_, estimator.frame_library_ = found["reads_frames"], found["frame_library"]
    estimator.pos_label_, estimator.class_order_ = found["pos_label"], list(found["class_order"])
    estimator.metric_ = _restore_metric(found["metric"], metric, estimator.classes_, estimator.class_order_)
    files = SavedFiles(folder, found["sha256"])
    columns = [f"x{place}" for place in range(found["n_features_in"])] if names is None else [str(name) for name in names]
    estimator.preprocessor_ = _read_preprocessor(files, found["preprocessor"], columns, trusted)
    stored = Stored(found["model"], load_file(files.find(WEIGHTS_FILE)), files.find)
    shape = Shape(estimator.n_inputs_, estimator.forms_[0], len(estimator.classes_))
    estimator.model_ = restore_model(stored, model, shape)
    estimator.offsets_ = estimator.model_.offsets
    if isinstance(estimator.model_, LinearModel):
        estimator.coef_, estimator.intercept_ = estimator.model_.weight.T, estimator.model_.intercept
    for name in ("temperature", "n_iter", "C"):
        setattr(estimator, f"{name}_", found[name])
    estimator.method_ = _restore_method(found["method"], estimator.method)
    estimator.chosen_ = estimator.method_.name
    estimator.candidates_, estimator.history_ = Table(found["candidates"]), Table(found["history"])
    _check_parts(estimator)
    return estimator


def _check_parts(estimator: Any) -> None:
    """Raise a TypeError if the parts do not fit each other."""
    fits = estimator.offsets_.shape == (len(estimator.classes_),)
    if not fits or not isinstance(estimator.temperature_, float) or not estimator.temperature_ > 0.0:
        raise TypeError("the shapes of its parts do not fit each other")
    if not all(isinstance(text, str) for text in (estimator.learner_, *estimator.notes_, *estimator.forms_)):
        raise TypeError("`learner`, `notes` and `forms` should be texts")
    if not all(isinstance(row, dict) for table in (estimator.candidates_, estimator.history_) for row in table):
        raise TypeError("`candidates` and `history` should be lists of dicts")


def _description(estimator: Any) -> dict[str, Any]:
    kinds = {type(label) for label in estimator.classes_.tolist()}
    if not kinds <= {bool, int, float, str}:
        raise TypeError(f"Labels of type {min(kind.__name__ for kind in kinds)} cannot be saved; use strings or numbers.")
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "format": FORMAT,
        "version": VERSION,
        "metricfit": version("metricfit"),
        "scikit-learn": sklearn.__version__,
        "torch": torch.__version__,
        "params": _plain_params(estimator),
        "metric_name": metrics.name_of(estimator.metric),
        "metric": _metric_description(estimator.metric_),
        "given_metric": _metric_description(estimator.metric) if isinstance(estimator.metric, Metric) else None,
        "pos_label": _to_json(estimator.pos_label_),
        "class_order": _to_json(estimator.class_order_),
        "classes": {"dtype": estimator.classes_.dtype.str, "values": estimator.classes_.tolist()},
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": None if names is None else names.tolist(),
        "n_inputs": estimator.n_inputs_,
        "reads_frames": estimator.reads_frames_,
        "frame_library": estimator.frame_library_,
        "preprocessor": {
            "forms": sorted(estimator.preprocessor_.transformers),
            "automatic": estimator.preprocessor_.automatic,
        },
        "learner": estimator.learner_,
        "notes": list(estimator.notes_),
        "forms": list(estimator.forms_),
        "temperature": estimator.temperature_,
        "method": _method_description(estimator.method_),
        "n_iter": estimator.n_iter_,
        "C": estimator.C_,
        "candidates": list(estimator.candidates_),
        "history": list(estimator.history_),
    }


def _read_preprocessor(
    files: SavedFiles, description: Mapping[str, Any], columns: list[str], trusted: tuple[str, ...]
) -> FormReader:
    forms, automatic = description["forms"], description["automatic"]
    if not forms:
        return FormReader({}, columns, automatic)
    file = files.find(PREPROCESSOR_FILE)
    try:
        transformers = _skops.read(file, TRUSTED | set(trusted))
    except _skops.UntrustedError as error:
        raise _skops.UntrustedError(f"{error} If they are your own, pass them as `trusted`.") from error
    if type(transformers) is not dict or sorted(transformers) != forms:
        raise TypeError(f"{PREPROCESSOR_FILE} has other forms")
    if any(words.get_params()["input"] != "content" for one in transformers.values() for words in _vectorizers(one)):
        raise _skops.UntrustedError(f"{file} holds a vectorizer that would read files by name.")
    return FormReader(transformers, columns, automatic)


def _vectorizers(part: Any) -> Iterator[TfidfVectorizer]:
    if isinstance(part, TfidfVectorizer):
        yield part
    for step in [*getattr(part, "transformers_", ()), *getattr(part, "steps", ())]:
        yield from _vectorizers(step[1])


def _plain_params(estimator: Any) -> dict[str, Any]:
    """Parameters that JSON can hold; a warning names the others."""
    params, left_out = {}, []
    for name, value in estimator.get_params(deep=False).items():
        if isinstance(value, Method | Choice) and methods.is_registered(value):
            value = value.name
        if name == "model":
            value = _model_in_words(value)
        try:
            params[name] = _to_json(value)
        except TypeError:
            if name != "metric":  # stored otherwise, or passed again
                left_out.append(name)
    if left_out:
        warnings.warn(f"A model file cannot hold {', '.join(left_out)}: after loading these are defaults.", stacklevel=4)
    return params


def _model_in_words(model: Any) -> Any:
    """The name of a model as it is, any other in words: what was fitted is in the files, but it cannot be fitted again."""
    if isinstance(model, list | tuple):
        return [_model_in_words(one) for one in model]
    if isinstance(model, str):
        return model
    return " ".join(repr(model).split()) if hasattr(model, "get_params") else getattr(model, "__name__", type(model).__name__)


def _restore_params(found: dict[str, Any], model: Any, metric: Any) -> dict[str, Any]:
    params = {name: _from_json(value) for name, value in found["params"].items()}
    params["model"] = found["params"]["model"]  # a list stays one
    if metric is not None:
        params["metric"] = metric
    elif "metric" not in params and found["given_metric"] is not None:
        params["metric"] = _metric_from(found["given_metric"])
    return params if model is None else {**params, "model": model}


def _method_description(method: Method) -> dict[str, Any]:
    """A method in words: for readers, a model does not need it to predict."""
    return {"name": method.name, "title": method.title, "summary": method.summary, "papers": list(method.papers)}


def _restore_method(description: dict[str, Any], given: Any) -> Method:
    """The registered method of that name, or else what the file says about it."""
    name, title, summary, papers = (description[key] for key in ("name", "title", "summary", "papers"))
    if not all(isinstance(text, str) for text in (name, title, summary, *papers)):
        raise TypeError(f"`method` should hold texts, got {description!r}")
    return methods.find(name, given) or Method(name, title, summary, tuple(papers))


def _metric_description(metric: Metric) -> dict[str, Any] | None:
    """A metric by the name of its class and its fields; a function cannot be stored."""
    if isinstance(metric, Custom) or type(metric).__name__ not in _METRICS:
        return None
    fields = {item.name: _to_json(getattr(metric, item.name)) for item in dataclasses.fields(metric) if item.init}  # type: ignore[arg-type]
    return {"type": type(metric).__name__, "fields": fields}


def _restore_metric(description: dict[str, Any] | None, given: Any, classes: Any, order: list[Any]) -> Metric:
    """The metric for the classes in the order of the file; a function has to be given."""
    if description is not None:
        return _metric_from(description)
    if given is None:
        return metrics.get(_not_stored)
    return resolve_metric(given, None, None, classes, order or None).metric


def _metric_from(description: dict[str, Any]) -> Metric:
    return _METRICS[description["type"]](**{name: _from_json(value) for name, value in description["fields"].items()})


def _not_stored(matrix: torch.Tensor) -> torch.Tensor:
    raise ValueError("The metric was a function, which a model file cannot hold: pass it to load as `metric=` to score.")


def _to_json(value: Any) -> Any:
    """Numbers, texts, sequences and dictionaries as JSON holds them; a TypeError for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple | list):
        return [_to_json(item) for item in value]
    if isinstance(value, dict):
        return {"pairs": [[_to_json(key), _to_json(item)] for key, item in value.items()]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{value!r} cannot be stored as JSON.")


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_from_json(item) for item in value)
    if isinstance(value, dict):
        return {_from_json(key): _from_json(item) for key, item in value["pairs"]}
    return value
