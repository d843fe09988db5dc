"""A fitted ``MetricClassifier`` as a folder of files.

``model.json`` describes the model and has the checksums of the other files, ``arrays.safetensors`` has its numbers. Both hold
data and no code, and are checked before a model is built from them. skops writes an estimator or a transformer of the user to
a file, and builds only types that it knows or that the user trusts.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zipfile import ZIP_DEFLATED

import numpy as np
import sklearn
import torch
from numpy.typing import NDArray
from safetensors.torch import load as load_tensors
from safetensors.torch import save_file
from torch import Tensor

from metricfit import methods, metrics
from metricfit._description import (
    FORMAT,
    JSON_FILE,
    MOST_BYTES,
    VERSION,
    Foreign,
    SavedFiles,
    check,
    checksum,
    description_text,
    other_version,
    read_description,
)
from metricfit._extras import require
from metricfit._files import new_folder
from metricfit._table import Table
from metricfit.decisions import DecisionRule, read_constraints, rule_from_plain, rule_to_plain
from metricfit.estimators._forms import FormReader
from metricfit.estimators._plain import keep_transformer, restore_transformer
from metricfit.learners import COLUMNS, GIVEN, MATRIX, LinearModel, Network, NotInFileError, Restorer
from metricfit.methods import Choice, Method
from metricfit.metrics import Metric, resolve_metric

ARRAYS_FILE, SKOPS_SUFFIX = "arrays.safetensors", ".skops"
ARRAY, SKOPS = "array", "skops"  # keys in place of an array and of an object
MAX_COLUMNS = 2**22
FRAME_LIBRARIES = ("", "pandas", "polars", "pyarrow", "modin", "cudf")
CLASS_TYPES = ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "|O")  # and texts
TYPES: dict[str, tuple[type, ...]] = {  # of the entries that are read to build a model
    **dict.fromkeys(("params", "metric", "classes", "n_inputs", "preprocessor", "model", "method"), (dict,)),
    **dict.fromkeys(("class_order", "forms", "notes", "candidates", "history"), (list,)),
    **dict.fromkeys(("learner", "frame_library"), (str,)),
    "metric": (dict, type(None)),
    "feature_names_in": (list, type(None)),
    "n_features_in": (int,),
    "temperature": (float,),
}


class UntrustedError(ValueError):
    """A folder holds objects of types that the user has to trust first."""

    def __init__(self, folder: Path, types: Collection[str], trusted: Collection[str]) -> None:
        self.types = tuple(sorted({*types, *trusted}))
        super().__init__(
            f"{folder} contains objects of the types {', '.join(sorted(types))}. If you trust these types and the author of "
            f"the folder, pass trusted={self.types!r}."
        )


def save(estimator: Any, folder: Path, extra_files: Mapping[str, str] = MappingProxyType({})) -> tuple[str, ...]:
    """Write a model, and text files if given, into a new folder; return the types that ``load`` will ask to trust."""
    arrays: dict[str, Tensor] = {}
    objects: dict[str, Any] = {}
    description = _split(_describe(estimator), "", arrays, objects)
    with new_folder(folder) as new:
        save_file(arrays, new / ARRAYS_FILE)
        untrusted = {name for file, content in objects.items() for name in _write_object(content, new / file)}
        for name, text in extra_files.items():
            (new / name).write_text(text, encoding="utf-8")
        checksums = {file.name: checksum(file.read_bytes()) for file in sorted(new.iterdir())}
        (new / JSON_FILE).write_text(description_text({**description, "sha256": checksums}), encoding="utf-8")
        for file in new.iterdir():
            if (size := file.stat().st_size) > MOST_BYTES:
                raise ValueError(
                    f"{file.name} would have {size:,} bytes, at most {MOST_BYTES:,} are read. Fit a smaller model."
                )
    return tuple(sorted(untrusted))


def load(cls: Any, folder: Path, model: Any, metric: Any, trusted: Collection[str]) -> Any:
    """Read a model; a ValueError says what is wrong with a folder that is not a complete model."""
    found = read_description(folder)
    if other := other_version(found):
        warnings.warn(other, stacklevel=3)
    try:
        _check_description(found)
        files = SavedFiles(folder, found["sha256"])
        arrays = load_tensors(files.read(ARRAYS_FILE))
        return _restore(cls, _join(found, arrays, _read_objects(files, trusted)), model, metric)
    except (NotInFileError, UntrustedError, ImportError):
        raise
    except Exception as error:  # libraries raise all kinds of errors for damaged files
        missing = f"{error} is missing" if isinstance(error, KeyError) else ""
        reason = (missing or str(error) or type(error).__name__).splitlines()[0]
        raise ValueError(f"{folder} contains a damaged model: {reason}") from error


def _describe(estimator: Any) -> dict[str, Any]:
    """Data as JSON has them, with arrays and :class:`Foreign` objects inside."""
    classes = estimator.classes_
    kinds = {type(label) for label in classes.tolist()}
    if classes.dtype.kind in "mM" or not kinds <= {bool, int, float, str}:
        name = classes.dtype.name if classes.dtype.kind in "mM" else min(kind.__name__ for kind in kinds)
        raise TypeError(f"Labels of type {name} cannot be saved; use strings or numbers.")
    names, reader = getattr(estimator, "feature_names_in_", None), estimator.preprocessor_
    return {
        "format": FORMAT,
        "version": VERSION,
        "metricfit": version("metricfit"),
        "scikit-learn": sklearn.__version__,
        "torch": torch.__version__,
        "params": _describe_params(estimator),
        "metric_name": metrics.name_of(estimator.metric),
        "metric": metrics.metric_to_plain(estimator.metric_),
        "pos_label": _to_json(estimator.pos_label_),
        "class_order": _to_json(estimator.class_order_),
        "classes": {"dtype": estimator.classes_.dtype.str, "values": estimator.classes_.tolist()},
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": None if names is None else names.tolist(),
        "n_inputs": estimator.n_inputs_,
        "frame_library": estimator.frame_library_,
        "preprocessor": {
            "automatic": reader.automatic,
            "columns": reader.columns if estimator.reads_frames_ and names is None else None,  # names that are no texts
            "transformers": {
                form: keep_transformer(one) if reader.automatic else Foreign(one) for form, one in reader.transformers.items()
            },
        },
        "learner": estimator.learner_,
        "notes": list(estimator.notes_),
        "forms": list(estimator.forms_),
        "temperature": float(estimator.temperature_),
        "method": {name: getattr(estimator.method_, name) for name in ("name", "title", "summary", "papers")},
        "n_iter": estimator.n_iter_,
        "C": estimator.C_,
        "candidates": list(estimator.candidates_),
        "history": list(estimator.history_),
        "model": estimator.model_.to_plain(),
        "rule": rule_to_plain(estimator.rule_) if hasattr(estimator, "rule_") else None,
    }


def _check_description(found: Mapping[str, Any]) -> None:
    """Raise a DamagedError if an entry is missing, or not of the kind that :func:`_describe` writes."""
    for name, kinds in TYPES.items():
        check(name in found, f"`{name}` is missing")
        check(type(found[name]) in kinds, f"`{name}` should be of the type {kinds[0].__name__}")
    names, n_columns, temperature = found["feature_names_in"], found["n_features_in"], found["temperature"]
    check(0.0 < temperature < math.inf, "`temperature` should be positive")
    check(0 < n_columns <= MAX_COLUMNS, f"`n_features_in` should be at most {MAX_COLUMNS:,}")
    check(names is None or len(names) == n_columns, "the names of the columns are missing")
    check(found["frame_library"] in FRAME_LIBRARIES, "the library of the table is not known")
    check(found["forms"] and set(found["forms"]) <= {COLUMNS, GIVEN, MATRIX}, "`forms` should be forms of the table")


def _restore(cls: Any, found: dict[str, Any], model: Any, metric: Any) -> Any:
    """A fitted estimator; ``model`` and ``metric`` are what the user passes because no file can hold it."""
    check("model" in found["params"], "`model` is missing")
    passed = {name: value for name, value in {"model": model, "metric": metric}.items() if value is not None}
    estimator = cls(**{name: _from_json(value) for name, value in found["params"].items()} | passed)
    estimator.classes_ = _restore_classes(found["classes"])
    known, positive, order = estimator.classes_.tolist(), found["pos_label"], found["class_order"]
    check(positive is None or positive in known, "the positive class is not one of the classes")
    check(not order or sorted(order) == sorted(known), "the order has other classes")
    estimator.pos_label_, estimator.class_order_ = positive, order
    estimator.metric_ = _restore_metric(found["metric"], metric, estimator.classes_, order)
    for name in ("n_features_in", "n_inputs", "learner", "forms", "frame_library", "temperature", "n_iter", "C"):
        setattr(estimator, f"{name}_", found[name])
    estimator.notes_, estimator.reads_frames_ = tuple(found["notes"]), found["frame_library"] != ""
    if found["feature_names_in"] is not None:
        estimator.feature_names_in_ = np.array(found["feature_names_in"], dtype=object)
    estimator.preprocessor_ = _restore_reader(found)
    estimator.model_ = Restorer(found["n_inputs"], found["forms"][0], len(known), model).model(found["model"])
    estimator.offsets_ = estimator.model_.offsets
    if found.get("rule") is not None:  # files of earlier versions have none
        estimator.rule_ = rule_from_plain(DecisionRule, found["rule"], metric)
        check(estimator.rule_.classes_.tolist() == known, "the rule has other classes")
        estimator.rule_.classes_ = estimator.classes_
    if isinstance(estimator.model_, LinearModel):
        estimator.coef_, estimator.intercept_ = estimator.model_.weight.T, estimator.model_.intercept
    method = found["method"]  # the registered one, or what the file says about it: predictions do not need it
    known_method = methods.find(method["name"], estimator.method)
    estimator.method_ = known_method or Method(**{**method, "papers": tuple(method["papers"])})
    estimator.chosen_ = estimator.method_.name
    estimator.candidates_, estimator.history_ = Table(found["candidates"]), Table(found["history"])
    return estimator


def _restore_reader(found: Mapping[str, Any]) -> FormReader:
    automatic, transformers = found["preprocessor"]["automatic"], found["preprocessor"]["transformers"]
    names, n_columns = found["feature_names_in"], found["n_features_in"]
    columns = names or found["preprocessor"]["columns"] or [f"x{index}" for index in range(n_columns)]
    check(len(columns) == n_columns, "the names of the columns are missing")
    if automatic:
        transformers = {form: restore_transformer(one, form, n_columns) for form, one in transformers.items()}
    return FormReader(transformers, columns, automatic)


def _restore_classes(found: Mapping[str, Any]) -> NDArray[Any]:
    """Two or more different labels of one type."""
    values, dtype = found["values"], found["dtype"]
    kinds = {type(value) for value in values}
    check(len(kinds) == 1 and kinds <= {bool, int, float, str}, "the classes should be texts or numbers")
    check(len(set(values)) == len(values) >= 2, "a class occurs twice")
    if kinds == {str} and dtype.startswith("<U"):
        return np.array(values)
    check(dtype in CLASS_TYPES, f"classes of the type {dtype!r} are not known")
    classes = np.array(values, dtype=dtype)
    check(classes.tolist() == values, f"the classes are not of the type {dtype!r}")
    return classes


def _restore_metric(plain: Any, given: Any, classes: NDArray[Any], order: list[Any]) -> Metric:
    """The metric for the classes in the order of the file; a function has to be passed."""
    if plain is not None:
        return _from_json(plain)
    if given is None:
        return metrics.get(_not_stored)
    return resolve_metric(given, None, None, classes, order or None).metric


def _not_stored(matrix: Tensor) -> Tensor:
    raise ValueError(
        "The metric is a function, which a model file cannot store. To use `score`, pass it to load as `metric=`."
    )


def _describe_params(estimator: Any) -> dict[str, Any]:
    """Parameters that JSON can hold; a warning names the others."""
    params, left_out = {}, []
    for name, value in estimator.get_params(deep=False).items():
        try:
            value = _in_words(value) if name == "model" else value
            value = " and ".join(map(str, read_constraints(value))) or None if name == "subject_to" else value
            params[name] = _to_json(value)
        except TypeError:
            if name != "metric":  # a function, which the user passes again
                left_out.append(name)
    if left_out:
        warnings.warn(f"A model file cannot store {', '.join(left_out)}: after loading, these are defaults.", stacklevel=5)
    return params


def _in_words(model: Any) -> Any:
    """``model`` with every estimator and module in words: files have the fitted one, which cannot be fitted again."""
    if isinstance(model, list | tuple):
        return [_in_words(one) for one in model]
    if isinstance(model, str):
        return model
    if isinstance(model, Network):
        return model if model.module is None else Network(**{**model.get_params(deep=False), "module": model.name})
    return " ".join(repr(model).split()) if hasattr(model, "get_params") else Network(model).name


def _to_json(value: Any) -> Any:
    """A parameter or label as JSON holds it; a TypeError for one that it cannot hold."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_to_json(item) for item in value]
    if isinstance(value, dict):
        return {"pairs": [[_to_json(key), _to_json(item)] for key, item in value.items()]}
    if isinstance(value, Network):
        return {"network": {name: _to_json(item) for name, item in value.get_params(deep=False).items()}}
    if isinstance(value, Metric) and (plain := metrics.metric_to_plain(value)):
        return plain
    if isinstance(value, Method | Choice) and methods.is_registered(value):
        return value.name
    raise TypeError(f"{value!r} cannot be stored as JSON.")


def _from_json(plain: Any, sequence: type = list) -> Any:
    """The inverse of :func:`_to_json`; networks and metrics take tuples."""
    if isinstance(plain, list):
        return sequence(_from_json(item, sequence) for item in plain)
    if not isinstance(plain, dict):
        return plain
    if "pairs" in plain:
        return {_from_json(key): _from_json(item) for key, item in plain["pairs"]}
    if "network" in plain:
        return Network(**{name: _from_json(item, tuple) for name, item in plain["network"].items()})
    return metrics.metric_from_plain(plain)


def _split(value: Any, name: str, arrays: dict[str, Tensor], objects: dict[str, Any]) -> Any:
    """Data as JSON has them: arrays and objects move to dictionaries, and their names take their place."""
    inside = f"{name}." if name else ""
    if isinstance(value, dict):
        return {key: _split(item, f"{inside}{key}", arrays, objects) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_split(item, f"{inside}{index}", arrays, objects) for index, item in enumerate(value)]
    if isinstance(value, np.ndarray | Tensor):
        arrays[name] = torch.as_tensor(value).contiguous().clone()  # safetensors takes no tensors that share memory
        return {ARRAY: name}
    if isinstance(value, Foreign):
        objects[f"{name}{SKOPS_SUFFIX}"] = value.content
        return {SKOPS: f"{name}{SKOPS_SUFFIX}"}
    return value


def _join(value: Any, arrays: Mapping[str, Tensor], objects: Mapping[str, Any]) -> Any:
    """The inverse of :func:`_split`."""
    if isinstance(value, list):
        return [_join(item, arrays, objects) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {ARRAY}:
        return arrays[value[ARRAY]]
    if value.keys() == {SKOPS}:
        return objects[value[SKOPS]]
    return {key: _join(item, arrays, objects) for key, item in value.items()}


def _write_object(content: Any, file: Path) -> list[str]:
    """Write a file of skops; the types in it that a user has to trust."""
    skops = _skops()
    skops.dump(content, file, compression=ZIP_DEFLATED, compresslevel=1)
    return skops.get_untrusted_types(file=file)


def _read_objects(files: SavedFiles, trusted: Collection[str]) -> dict[str, Any]:
    """The objects in files of skops; an :class:`UntrustedError` names all types to trust, before any object is built."""
    contents = {name: files.read(name) for name in files.checksums if name.endswith(SKOPS_SUFFIX)}
    if not contents:
        return {}
    skops = _skops()
    untrusted = {kind for content in contents.values() for kind in skops.get_untrusted_types(data=content)} - set(trusted)
    if untrusted:
        raise UntrustedError(files.folder, untrusted, trusted)
    return {name: skops.loads(content, trusted=list(trusted)) for name, content in contents.items()}


def _skops() -> Any:
    require("skops", "own", "an estimator or a transformer of your own in a saved model")
    from skops import io

    return io
