"""A fitted ``MetricClassifier`` as a folder of files that hold data and no code.

``weights.safetensors`` has the numbers, ``preprocessor.skops`` what scikit-learn learned about the columns, ``model.json`` all
the rest. Opening a model never runs anything from it: skops builds only types from a closed list, the others are plain data.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import sklearn
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from metricfit import metrics
from metricfit.estimators._linear import Linear
from metricfit.estimators._network import Network, made
from metricfit.estimators._table import Table
from metricfit.metrics import Custom, Metric

FORMAT, VERSION = "metricfit model", 1
JSON_FILE, WEIGHTS_FILE, PREPROCESSOR_FILE = "model.json", "weights.safetensors", "preprocessor.skops"
# beside what skops trusts by itself, which is scikit-learn, scipy and numpy
TRUSTED = [
    "numpy.dtype",
    *(f"metricfit.estimators._preprocess.{name}" for name in ("as_categories", "as_date_parts", "as_numbers", "as_text")),
]
_METRICS = {name: getattr(metrics, name) for name in metrics.__all__ if isinstance(getattr(metrics, name), type)}


def save(estimator: Any, folder: Path) -> None:
    """Write beside, then rename: a folder with this name is a whole model or was there before."""
    from skops import io

    if folder.exists():
        raise FileExistsError(f"{folder} exists already. Choose another name or delete it first.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        (beside / JSON_FILE).write_text(json.dumps(_description(estimator), indent=1, allow_nan=True), encoding="utf-8")
        save_file(_weights(estimator.model_), beside / WEIGHTS_FILE)
        if estimator.preprocessor_ is not None:
            io.dump(estimator.preprocessor_, beside / PREPROCESSOR_FILE)
        beside.chmod(0o755)
        beside.rename(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def load(cls: Any, folder: Path, model: Any, metric: Any, trusted: tuple[str, ...]) -> Any:
    """A ValueError says what is wrong with a folder that holds no model, or half of one."""
    found = _read_description(folder)
    estimator = cls(**_params(found["params"], model, metric))
    estimator.classes_ = np.array(found["classes"]["values"], dtype=found["classes"]["dtype"])
    estimator.n_features_in_ = found["n_features_in"]
    if found["feature_names_in"] is not None:
        estimator.feature_names_in_ = np.array(found["feature_names_in"], dtype=object)
    estimator.reads_frames_ = found["reads_frames"]
    estimator.metric_ = _metric(found["metric"], metric)
    try:
        weights = load_file(folder / WEIGHTS_FILE)
        estimator.preprocessor_ = _read_preprocessor(folder, trusted) if found["preprocessor"] else None
        estimator.model_ = _model(found["model"], weights, estimator)
    except (OSError, SafetensorError, KeyError, RuntimeError, BadZipFile) as error:
        raise ValueError(f"{folder} holds a damaged model: {error}") from error
    estimator.offsets_ = estimator.model_.offsets
    if isinstance(estimator.model_, Linear):
        estimator.coef_, estimator.intercept_ = estimator.model_.weight.T, estimator.model_.intercept
    for name in ("temperature", "chosen", "n_iter", "C"):
        setattr(estimator, f"{name}_", found[name])
    estimator.candidates_, estimator.history_ = Table(found["candidates"]), Table(found["history"])
    return estimator


def _description(estimator: Any) -> dict[str, Any]:
    if estimator.classes_.dtype.kind not in "biufUO" or not all(_is_plain(label) for label in estimator.classes_.tolist()):
        raise TypeError(
            f"Labels of type {type(estimator.classes_.tolist()[0]).__name__} cannot be saved; use strings or numbers."
        )
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "format": FORMAT,
        "version": VERSION,
        "metricfit": version("metricfit"),
        "scikit-learn": sklearn.__version__,
        "torch": torch.__version__,
        "params": {name: value for name, value in estimator.get_params(deep=False).items() if _is_plain(value)},
        "metric": _metric_description(estimator.metric_),
        "classes": {"dtype": estimator.classes_.dtype.str, "values": estimator.classes_.tolist()},
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": None if names is None else names.tolist(),
        "reads_frames": estimator.reads_frames_,
        "preprocessor": estimator.preprocessor_ is not None,
        "model": _model_description(estimator),
        "temperature": estimator.temperature_,
        "chosen": estimator.chosen_,
        "n_iter": estimator.n_iter_,
        "C": estimator.C_,
        "candidates": list(estimator.candidates_),
        "history": list(estimator.history_),
    }


def _read_description(folder: Path) -> dict[str, Any]:
    file = folder / JSON_FILE
    if not file.is_file():
        raise ValueError(f"{folder} holds no metricfit model: there is no {JSON_FILE} in it.")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        right = found["format"] == FORMAT
        newer = found["version"] > VERSION
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{file} is not the description of a metricfit model: {error}") from error
    if not right:
        raise ValueError(f"{file} is not the description of a metricfit model.")
    if newer:
        raise ValueError(f"{folder} was written by a newer metricfit ({found['metricfit']}). Update this one to read it.")
    if found["scikit-learn"] != sklearn.__version__:
        warnings.warn(
            f"The model was fitted with scikit-learn {found['scikit-learn']}, this is {sklearn.__version__}.", stacklevel=4
        )
    return found


def _read_preprocessor(folder: Path, trusted: tuple[str, ...]) -> Any:
    from skops import io

    file = folder / PREPROCESSOR_FILE
    unknown = sorted(set(io.get_untrusted_types(file=file)) - set(TRUSTED) - set(trusted))
    if unknown:
        raise ValueError(
            f"{file} holds types that are not known to be safe: {', '.join(unknown)}. "
            "If they are your own, name them by `trusted`."
        )
    return io.load(file, trusted=[*TRUSTED, *trusted])


def _weights(model: Any) -> dict[str, torch.Tensor]:
    if isinstance(model, Linear):
        arrays = {"weight": model.weight, "intercept": model.intercept, "offsets": model.offsets}
        return {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
    state = {f"module.{name}": tensor.contiguous().clone() for name, tensor in model.module.state_dict().items()}
    return {**state, "offsets": torch.from_numpy(model.offsets.copy())}


def _model_description(estimator: Any) -> dict[str, Any]:
    if isinstance(estimator.model_, Linear):
        return {"kind": "linear"}
    n_inputs = estimator.n_inputs_
    kind = estimator.model if isinstance(estimator.model, str) else "own"
    return {"kind": kind, "n_inputs": n_inputs, "hidden": list(estimator.hidden)}


def _model(description: dict[str, Any], weights: dict[str, torch.Tensor], estimator: Any) -> Any:
    offsets = weights.pop("offsets").numpy()
    if description["kind"] == "linear":
        return Linear(weights["weight"].numpy(), weights["intercept"].numpy(), offsets)
    if description["kind"] == "own" and isinstance(estimator.model, str):
        raise ValueError(
            "This model is a network of its author's own: pass it to load by `model=`, as it was given to the estimator."
        )
    module = made(estimator.model, description["n_inputs"], len(estimator.classes_), tuple(description["hidden"]))
    module.load_state_dict({name.removeprefix("module."): tensor for name, tensor in weights.items()})
    module.eval()
    estimator.n_inputs_ = description["n_inputs"]
    return Network(module, offsets)


def _params(params: dict[str, Any], model: Any, metric: Any) -> dict[str, Any]:
    given = {name: value for name, value in (("model", model), ("metric", metric)) if value is not None}
    if "hidden" in params:
        params["hidden"] = tuple(params["hidden"])
    return {**params, **given}


def _metric_description(metric: Metric) -> dict[str, Any] | None:
    """A metric by the name of its class and its fields; a function cannot be stored."""
    if isinstance(metric, Custom) or type(metric).__name__ not in _METRICS:
        return None
    fields = {item.name: getattr(metric, item.name) for item in dataclasses.fields(metric) if item.init}  # type: ignore[arg-type]
    return {"type": type(metric).__name__, "fields": fields}


def _metric(description: dict[str, Any] | None, given: Any) -> Metric:
    if description is None:
        return metrics.get(_not_stored if given is None else given)
    return _METRICS[description["type"]](**description["fields"])


def _not_stored(matrix: torch.Tensor) -> torch.Tensor:
    raise ValueError("The metric was a function, which a model file does not hold: pass it to load by `metric=` to score.")


def _is_plain(value: Any) -> bool:
    """Whether JSON gives it back as it was."""
    if isinstance(value, tuple | list):
        return all(_is_plain(item) for item in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    return value is None or isinstance(value, bool | int | float | str)
