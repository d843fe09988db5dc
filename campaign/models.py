"""Folders of models with a changed byte, a file that is cut or missing, or a file that would run code.

A folder may be refused in one line, or load. Then its probabilities are the same as before.
"""

from __future__ import annotations

import os
import pickle
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from campaign._forge import seal
from campaign._process import Worker
from campaign._tally import Outcome, Tally
from metricfit import MetricClassifier, Network
from metricfit._description import JSON_FILE
from metricfit._typing import Floats

N_ROWS = 60
LIMIT = 60.0  # seconds


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
            outcome, text = judge(worker, case, name, right[name])
            if (case.parent / "trace").exists():
                outcome = Outcome.CODE
            tally.count(outcome, f"case {number}: {name}: {kind}: {what}: {text}")
            shutil.rmtree(case)
    return tally


def judge(worker: Worker, case: Path, name: str, right: Floats) -> tuple[Outcome, str]:
    """How loading and predicting ended, with the error; ``right`` are the probabilities to expect."""
    try:
        found = worker.call(probabilities, case, name, limit=LIMIT)
    except ValueError as error:
        return (Outcome.REFUSED if "\n" not in str(error) else Outcome.TRACEBACK), str(error)
    except Exception as error:
        return Outcome.TRACEBACK, repr(error)
    return (Outcome.ANSWERED if np.array_equal(found, right) else Outcome.WRONG), "other probabilities"


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


def fitted(model: Any, data: Any) -> MetricClassifier:
    return MetricClassifier("f1_macro", model=model, method="threshold", cv=2, random_state=0).fit(data, labels())


MODELS: dict[str, Callable[[], MetricClassifier]] = {
    "linear": lambda: fitted("linear", table()),
    "mlp": lambda: fitted(Network(max_epochs=2), table()),
    "boosting": lambda: fitted("boosting", table()),
    "frame": lambda: fitted("auto", frame()),
}


def change_byte(random: np.random.Generator, folder: Path) -> str:
    file = _draw_file(random, folder)
    content = bytearray(file.read_bytes())
    place = int(random.integers(len(content)))
    content[place] ^= 1 << int(random.integers(8))
    file.write_bytes(content)
    return f"byte {place} of {file.name}"


def cut_file(random: np.random.Generator, folder: Path) -> str:
    file = _draw_file(random, folder)
    size = int(random.integers(file.stat().st_size))
    os.truncate(file, size)
    return f"{file.name} cut to {size:,} bytes" + _maybe_seal(random, folder, file)


def remove_file(random: np.random.Generator, folder: Path) -> str:
    file = _draw_file(random, folder)
    file.unlink()
    return f"{file.name} removed" + _maybe_seal(random, folder, file)


def add_payload(random: np.random.Generator, folder: Path) -> str:
    file = _draw_file(random, folder)
    file.write_bytes(pickle.dumps(Payload(folder.parent / "trace")))
    if file.name != JSON_FILE:
        seal(folder)
    return f"a pickle as {file.name}"


def _draw_file(random: np.random.Generator, folder: Path) -> Path:
    files = sorted(folder.iterdir())
    return files[int(random.integers(len(files)))]


def _maybe_seal(random: np.random.Generator, folder: Path, changed: Path) -> str:
    """Make the checksums fit in half of the cases, so that the checks behind them are reached too."""
    if changed.name == JSON_FILE or random.random() < 0.5:
        return ""
    seal(folder)
    return ", with new checksums"


CHANGES: dict[str, Callable[[np.random.Generator, Path], str]] = {
    "byte": change_byte,
    "cut": cut_file,
    "removed": remove_file,
    "payload": add_payload,
}
