"""A fitted ``MetricClassifier`` as a folder of files that hold data and no code.

``weights.safetensors`` has the numbers of linear models and networks, ``preprocessor.json`` what was learned about columns,
``*trees.safetensors``, ``*lightgbm.txt`` and ``*xgboost.json`` have trees, ``model.json`` has all the rest, and the checksums
of the other files. Everything is checked before anything is built from it. A transformer of the user's own is kept by skops,
which builds only types that the user names.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import sklearn
import torch
from safetensors.torch import load as load_tensors
from safetensors.torch import save_file

from metricfit import _skops, metrics
from metricfit._description import (
    FORMAT,
    JSON_FILE,
    VERSION,
    SavedFiles,
    check,
    checksum,
    description_text,
    most_bytes,
    other_version,
    read_description,
)
from metricfit._files import new_folder
from metricfit._table import Table
from metricfit.estimators._entries import (
    method_description,
    metric_description,
    plain_params,
    restore_classes,
    restore_method,
    restore_metric,
    restore_order,
    restore_params,
    to_json,
)
from metricfit.estimators._feature_names import feature_names
from metricfit.estimators._forms import FormReader
from metricfit.estimators._plain import keep_transformer, restore_transformer
from metricfit.estimators._preprocess import TableTransformer
from metricfit.learners import COLUMNS, GIVEN, MATRIX, LinearModel, NotInFileError, Shape, Stored, restore_model
from metricfit.methods import NOISY_LABELS
from metricfit.metrics import Metric

WEIGHTS_FILE, PREPROCESSOR_FILE, OWN_FILE = "weights.safetensors", "preprocessor.json", "preprocessor.skops"
MAX_COLUMNS = 2**22  # of a table, and of what is made from it
FRAME_LIBRARIES = ("", "pandas", "polars", "pyarrow", "modin", "cudf")
NO_FORM, NO_FIT = "a form of the table is not known", "the shapes of its parts do not fit each other"


def save(estimator: Any, folder: Path, beside_it: Mapping[str, str] = MappingProxyType({})) -> None:
    """Write a model into a new folder, with further text files if given."""
    parts = estimator.model_.parts()
    description = _description(estimator)
    with new_folder(folder) as beside:
        save_file(parts.tensors, beside / WEIGHTS_FILE)
        for name, write in parts.files.items():
            write(beside / name)
        _write_preprocessor(estimator.preprocessor_, beside)
        for name, text in beside_it.items():
            (beside / name).write_text(text, encoding="utf-8")
        checksums = {file.name: checksum(file.read_bytes()) for file in sorted(beside.iterdir())}
        written = {**description, "model": parts.description, "sha256": checksums}
        (beside / JSON_FILE).write_text(description_text(written), encoding="utf-8")
        for file in beside.iterdir():
            _check_size(file)


def _check_size(file: Path) -> None:
    size, most = file.stat().st_size, most_bytes(file.name)
    if size > most:
        raise ValueError(f"{file.name} would have {size:,} bytes, at most {most:,} are read. Fit a smaller model.")


def _write_preprocessor(reader: FormReader, beside: Path) -> None:
    if reader.transformers and reader.automatic:
        kept = {form: keep_transformer(one) for form, one in reader.transformers.items()}
        (beside / PREPROCESSOR_FILE).write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")
    elif reader.transformers:
        _skops.write(reader.transformers[MATRIX], beside / OWN_FILE)


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
        missing = f"{error} is missing" if isinstance(error, KeyError) else ""
        reason = (missing or str(error) or type(error).__name__).splitlines()[0]
        raise ValueError(f"{folder} holds a damaged model: {reason}") from error


def _load_parts(cls: Any, folder: Path, found: dict[str, Any], model: Any, metric: Any, trusted: tuple[str, ...]) -> Any:
    _check_description(found)
    estimator = cls(**restore_params(found, model, metric))
    estimator.classes_ = restore_classes(found["classes"])
    estimator.n_features_in_, estimator.n_inputs_ = found["n_features_in"], found["n_inputs"]
    estimator.learner_, estimator.notes_, estimator.forms_ = found["learner"], tuple(found["notes"]), found["forms"]
    names = found["feature_names_in"]
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator.reads_frames_, estimator.frame_library_ = found["reads_frames"], found["frame_library"]
    estimator.pos_label_, estimator.class_order_ = restore_order(found, estimator.classes_)
    estimator.metric_ = restore_metric(found["metric"], metric, estimator.classes_, estimator.class_order_)
    files = SavedFiles(folder, found["sha256"])
    estimator.preprocessor_ = _read_preprocessor(files, found, trusted)
    _check_widths(estimator.preprocessor_, estimator.n_inputs_)
    stored = Stored(found["model"], load_tensors(files.read(WEIGHTS_FILE)), files.read)
    shape = Shape(estimator.n_inputs_, estimator.forms_[0], len(estimator.classes_))
    estimator.model_ = restore_model(stored, model, shape)
    estimator.offsets_ = estimator.model_.offsets
    if isinstance(estimator.model_, LinearModel):
        estimator.coef_, estimator.intercept_ = estimator.model_.weight.T, estimator.model_.intercept
    for name in ("temperature", "n_iter", "C"):
        setattr(estimator, f"{name}_", found[name])
    estimator.method_ = restore_method(found["method"], NOISY_LABELS if estimator.noisy_labels else estimator.method)
    estimator.chosen_ = estimator.method_.name
    estimator.candidates_, estimator.history_ = Table(found["candidates"]), Table(found["history"])
    return estimator


def _check_description(found: Mapping[str, Any]) -> None:
    """Raise a DamagedError if a part of the description is not of the kind that :func:`_description` writes."""
    temperature, names, n_columns = found["temperature"], found["feature_names_in"], found["n_features_in"]
    check(type(temperature) is float and math.isfinite(temperature) and temperature > 0.0, "`temperature` is not positive")
    check(_are(found["notes"], str) and isinstance(found["learner"], str), "`learner` and `notes` should be texts")
    check(_are(found["candidates"], dict) and _are(found["history"], dict), "`candidates` and `history` should be rows")
    check(_are(found["forms"], str) and found["forms"], "`forms` should be texts")
    check(set(found["forms"]) <= {COLUMNS, GIVEN, MATRIX}, NO_FORM)
    check(isinstance(found["n_inputs"], dict) and set(found["n_inputs"]) >= set(found["forms"]), "`n_inputs` has other forms")
    for number in (n_columns, *found["n_inputs"].values()):
        check(type(number) is int and 0 < number <= MAX_COLUMNS, "a number of columns is out of range")
    check(names is None or (_are(names, str) and len(names) == n_columns), "the names of the columns are missing")
    check(found["frame_library"] in FRAME_LIBRARIES, "the library of the table is not known")
    check(found["reads_frames"] is (found["frame_library"] != ""), NO_FORM)
    check(isinstance(found["preprocessor"], dict) and type(found["preprocessor"]["automatic"]) is bool, "a form is missing")


def _are(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


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
        "params": plain_params(estimator),
        "metric_name": metrics.name_of(estimator.metric),
        "metric": metric_description(estimator.metric_),
        "given_metric": metric_description(estimator.metric) if isinstance(estimator.metric, Metric) else None,
        "pos_label": to_json(estimator.pos_label_),
        "class_order": to_json(estimator.class_order_),
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
        "method": method_description(estimator.method_),
        "n_iter": estimator.n_iter_,
        "C": estimator.C_,
        "candidates": list(estimator.candidates_),
        "history": list(estimator.history_),
    }


def _read_preprocessor(files: SavedFiles, found: Mapping[str, Any], trusted: tuple[str, ...]) -> FormReader:
    forms, automatic = found["preprocessor"]["forms"], found["preprocessor"]["automatic"]
    check(_are(forms, str) and set(forms) <= {COLUMNS, MATRIX}, NO_FORM)
    names, n_columns = found["feature_names_in"], found["n_features_in"]
    columns = [f"x{place}" for place in range(n_columns)] if names is None else names
    if not forms:
        return FormReader({}, columns, automatic)
    if not automatic:
        return FormReader({MATRIX: _skops.read(files.read(OWN_FILE), OWN_FILE, trusted)}, columns, automatic)
    kept = files.read_json(PREPROCESSOR_FILE)
    check(isinstance(kept, dict) and sorted(kept) == forms, f"{PREPROCESSOR_FILE} has other forms")
    transformers = {form: restore_transformer(one, form, n_columns) for form, one in kept.items()}
    check(all(isinstance(one, TableTransformer) == found["reads_frames"] for one in transformers.values()), NO_FORM)
    return FormReader(transformers, columns)


def _check_widths(reader: FormReader, n_inputs: Mapping[str, int]) -> None:
    """Raise a DamagedError if a form has another number of columns than the model reads."""
    if reader.transformers and not reader.automatic:  # the user's own knows its width only when it reads rows
        return
    for form, width in n_inputs.items():
        check(len(feature_names(reader.transformers.get(form), reader.columns)) == width, NO_FIT)
