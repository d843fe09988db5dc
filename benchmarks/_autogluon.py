"""AutoGluon as a peer of MetricClassifier. It runs in an environment of its own (``make quality-peers``), in a subprocess."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
PRESETS = "good_quality"


@dataclass(frozen=True)
class Answer:
    """Predicted labels, one per test row, and how AutoGluon came to them."""

    predicted: np.ndarray
    fit_seconds: float  # more than the time limit, because AutoGluon refits the models after it
    fit_cpu_seconds: float  # much less than fit_seconds on a busy machine, where the limit cuts AutoGluon short
    predict_seconds: float
    models: list[str]  # all that were trained, ensembles included
    best: str | None  # the model that predicts
    errors: dict[str, str]  # models that were given up, and why
    failed: str | None  # why nothing was trained; the most frequent class is predicted then


def peer_python() -> Path:
    """The Python that has AutoGluon: METRICFIT_PEERS, or by default the one in .venv-peers."""
    python = Path(os.environ.get("METRICFIT_PEERS", ROOT / ".venv-peers" / "bin" / "python"))
    if not python.exists():
        raise FileNotFoundError(
            f"{python} is missing. Run `make quality-peers`, or name a Python with AutoGluon in METRICFIT_PEERS."
        )
    return python


def fit_predict(
    train_features: pd.DataFrame,
    train_target: Any,
    test_features: pd.DataFrame,
    metric: str,
    positive: Any,
    time_limit: float,
    seed: int,
    presets: str = PRESETS,
    clock: str = "wall",
) -> Answer:
    """Fit AutoGluon for ``metric`` on one core within ``time_limit`` seconds, and predict the test rows.

    ``metric`` is accuracy, balanced_accuracy, f1 (two classes, of the class ``positive``), f1_macro or mcc. AutoGluon sees
    classes as their places in sorted order, so that labels of any type come back as they were. With ``clock="processor"`` the
    limit counts processor time.
    """
    classes, codes = np.unique(np.asarray(train_target), return_inverse=True)
    if metric == "f1" and (len(classes) != 2 or positive is None):
        raise ValueError("f1 needs two classes and a positive one; for more classes take f1_macro.")
    place = None if positive is None else int(np.flatnonzero(classes == positive)[0])
    job = {
        "metric": metric,
        "positive": place,
        "time_limit": time_limit,
        "presets": presets,
        "num_cpus": 1,
        "seed": seed,
        "clock": clock,
    }
    python = peer_python()
    with tempfile.TemporaryDirectory(prefix="autogluon-") as name:
        folder = Path(name)
        train_features.assign(__target__=codes).to_parquet(folder / "train.parquet", index=False)
        test_features.to_parquet(folder / "test.parquet", index=False)
        (folder / "job.json").write_text(json.dumps(job))
        done = subprocess.run(
            [python, ROOT / "benchmarks" / "autogluon_worker.py", folder],
            capture_output=True,
            text=True,
            timeout=10.0 * time_limit + 600.0,
        )
        if done.returncode != 0:
            raise RuntimeError(f"AutoGluon broke:\n{done.stderr[-4000:]}")
        answer = json.loads((folder / "predictions.json").read_text())
    return Answer(**{**answer, "predicted": classes[np.asarray(answer["predicted"], dtype=int)]})
