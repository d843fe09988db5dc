"""Folders of models with one byte, one shape, one name, one type or one value changed, or with a file that would run code.

A case that changes a byte leaves the checksums as they are, as an accident would; the others make them fit, as somebody would
who forges a folder. A folder may be refused in one line, or load. Then its probabilities are finite, and the same as before
unless a value was changed.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.numpy import load_file, save_file

from campaign._forge import seal
from campaign._process import Worker
from campaign._tally import Outcome, Tally
from metricfit import MetricClassifier
from metricfit._description import JSON_FILE
from metricfit._typing import Floats

N_ROWS = 60
LIMIT = 60.0  # seconds
NUMBERS = (float("nan"), float("inf"), -1.0, 1e300, 1e9)
STRANGE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    3,
    10**30,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    [],
    {},
    [[]],
    [None],
    {"a": 1},
)
DTYPES = ("float32", "float16", "int64", "int32", "uint8", "bool")


class Payload:
    """Unpickled, it makes a folder."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.trace),)


def run(random: np.random.Generator, n_cases: int, folder: Path) -> Tally:
    tally = Tally("models")
    for name, build in MODELS.items():
        build().save(folder / name)
    with Worker() as worker:
        right = {name: worker.call(probabilities, folder / name, name, limit=LIMIT) for name in MODELS}
        for number in range(n_cases):
            name, kind = str(random.choice(list(MODELS))), str(random.choice(list(CHANGES)))
            case = folder / f"case-{number}"
            shutil.copytree(folder / name, case)
            what = CHANGES[kind](random, case)
            outcome, text = judge(worker, case, name, right[name] if kind != "value" else None)
            if (case.parent / "trace").exists():
                outcome = Outcome.CODE
            tally.count(outcome, f"case {number}: {name}: {kind}: {what}: {text}")
            shutil.rmtree(case)
    return tally


def judge(worker: Worker, case: Path, name: str, right: Floats | None) -> tuple[Outcome, str]:
    """How loading and predicting ended, with the error; ``right`` are the probabilities to expect."""
    try:
        found = worker.call(probabilities, case, name, limit=LIMIT)
    except ValueError as error:
        return (Outcome.REFUSED if "\n" not in str(error) else Outcome.TRACEBACK), str(error)
    except Exception as error:
        return Outcome.TRACEBACK, repr(error)
    fine = np.isfinite(found).all() and (right is None or np.array_equal(found, right))
    return (Outcome.ANSWERED if fine else Outcome.WRONG), "other probabilities"


def probabilities(folder: Path, name: str) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MetricClassifier.load(folder)
        try:
            return model.predict_proba(frame() if name == "frame" else table())
        except ValueError as error:  # scikit-learn's own may have several lines, which the command joins
            raise ValueError(" ".join(str(error).split())) from error


def table() -> Floats:
    features = np.random.default_rng(0).normal(size=(N_ROWS, 4))
    features[::7, 2] = np.nan
    return features


def frame() -> pd.DataFrame:
    random = np.random.default_rng(0)
    words = random.choice(["red", "green", "blue", "grey", "pink"], (N_ROWS, 5))
    text = [f"{' '.join(row)} {place}" for place, row in enumerate(words)]
    days = pd.date_range("2024-01-01", periods=N_ROWS)
    return pd.DataFrame({"size": random.normal(size=N_ROWS), "colour": words[:, 0], "text": text, "day": days})


def labels() -> np.ndarray[Any, np.dtype[np.str_]]:
    random = np.random.default_rng(1)
    return np.array(["no", "perhaps", "yes"])[random.permutation(np.arange(N_ROWS) % 3)]


def fitted(model: str, data: Any) -> MetricClassifier:
    options: dict[str, Any] = {"method": "threshold", "cv": 2, "max_epochs": 2, "random_state": 0}
    return MetricClassifier("f1_macro", model=model, **options).fit(data, labels())


MODELS: dict[str, Callable[[], MetricClassifier]] = {
    "linear": lambda: fitted("linear", table()),
    "mlp": lambda: fitted("mlp", table()),
    "boosting": lambda: fitted("boosting", table()),
    "frame": lambda: fitted("auto", frame()),
}


def change_byte(random: np.random.Generator, folder: Path) -> str:
    file = _draw_file(random, folder, "*")
    content = bytearray(file.read_bytes())
    place = int(random.integers(len(content)))
    content[place] ^= 1 << int(random.integers(8))
    file.write_bytes(content)
    return f"byte {place} of {file.name}"


def change_shape(random: np.random.Generator, folder: Path) -> str:
    def change(arrays: dict[str, Any], name: str) -> None:
        shapes = [lambda a: a[:-1], lambda a: a.T, lambda a: a[None], lambda a: np.concatenate([a, a]), lambda a: a[:0]]
        arrays[name] = np.ascontiguousarray(shapes[int(random.integers(len(shapes)))](arrays[name]))

    return _change_array(random, folder, change)


def change_name(random: np.random.Generator, folder: Path) -> str:
    if random.random() < 0.5:
        return _change_array(random, folder, lambda arrays, name: arrays.update({f"{name}x": arrays.pop(name)}))
    return _change_json(random, folder, lambda holder, key: holder.update({f"{key}x": holder.pop(key)}), dict)


def change_type(random: np.random.Generator, folder: Path) -> str:
    dtype = str(random.choice(DTYPES))
    if random.random() < 0.5:
        return _change_array(random, folder, lambda arrays, name: arrays.update({name: arrays[name].astype(dtype)}))
    return _change_json(random, folder, lambda holder, key: holder.__setitem__(key, [holder[key]]), dict | list)


def change_value(random: np.random.Generator, folder: Path) -> str:
    value = STRANGE[int(random.integers(len(STRANGE)))]

    def change(arrays: dict[str, Any], name: str) -> None:
        flat = arrays[name].copy().reshape(-1)
        if len(flat):
            number = np.array(random.choice(NUMBERS))
            flat[int(random.integers(len(flat)))] = number.astype(flat.dtype)
        arrays[name] = flat.reshape(arrays[name].shape)

    if random.random() < 0.3:
        return _change_array(random, folder, change)
    return _change_json(random, folder, lambda holder, key: holder.__setitem__(key, value), dict | list) + f" = {value!r}"


def add_payload(random: np.random.Generator, folder: Path) -> str:
    file = _draw_file(random, folder, "*")
    file.write_bytes(pickle.dumps(Payload(folder.parent / "trace")))
    if file.name != JSON_FILE:
        seal(folder)
    return f"a pickle as {file.name}"


def _draw_file(random: np.random.Generator, folder: Path, pattern: str) -> Path:
    files = sorted(folder.glob(pattern))
    return files[int(random.integers(len(files)))]


def _change_array(random: np.random.Generator, folder: Path, change: Callable[[dict[str, Any], str], None]) -> str:
    file = _draw_file(random, folder, "*.safetensors")
    arrays = load_file(file)
    name = str(random.choice(sorted(arrays)))
    with np.errstate(invalid="ignore", over="ignore"):
        change(arrays, name)
    save_file(arrays, file)
    seal(folder)
    return f"{name} of {file.name}"


def _change_json(random: np.random.Generator, folder: Path, change: Callable[[Any, Any], Any], kinds: Any) -> str:
    """Change an entry of a container of these kinds, drawn from all of them."""
    file = _draw_file(random, folder, "*.json")
    found = json.loads(file.read_text())
    holders = [(path, holder) for path, holder in _holders(found, "") if isinstance(holder, kinds) and holder]
    path, holder = holders[int(random.integers(len(holders)))]
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    key = keys[int(random.integers(len(keys)))]
    change(holder, key)
    file.write_text(json.dumps(found))
    seal(folder)
    return f"{file.name}{path}.{key}"


def _holders(found: Any, path: str) -> list[tuple[str, Any]]:
    if not isinstance(found, dict | list):
        return []
    inside = found.items() if isinstance(found, dict) else enumerate(found)
    return [(path, found), *(one for key, value in inside for one in _holders(value, f"{path}.{key}"))]


CHANGES: dict[str, Callable[[np.random.Generator, Path], str]] = {
    "byte": change_byte,
    "shape": change_shape,
    "name": change_name,
    "type": change_type,
    "value": change_value,
    "payload": add_payload,
}
