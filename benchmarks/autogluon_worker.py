"""Fit AutoGluon on one table and predict another; run by the Python of .venv-peers, which does not have metricfit.

    .venv-peers/bin/python benchmarks/autogluon_worker.py FOLDER

FOLDER holds train.parquet (features and ``__target__``), test.parquet (features) and job.json: metric, positive (label or
null), time_limit (seconds), presets, num_cpus, seed, and clock: "wall", or "processor", which replaces Python's clocks by the
processor time of this process, so that other programs do not cut the time limit short. The script adds predictions.json:
predicted (labels), fit_seconds, fit_cpu_seconds, predict_seconds, models (all that were trained), best (the model that
predicts), errors (models that were given up, and why) and failed. If no model was trained within the time limit, ``failed``
says so, and the most frequent class is predicted.

The libraries are imported before the clock starts. Folds and the trial run of dynamic stacking are fitted one after the other
in this process, not by ray, whose processes might outlive the job; all else is as the preset has it.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

TARGET = "__target__"


def limit_threads(number: int) -> None:
    """Before the imports: libraries read these variables when they are loaded."""
    for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "VECLIB_MAXIMUM"):
        os.environ[f"{name}_NUM_THREADS"] = str(number)


def count_processor_time() -> None:
    """Before the imports: from now on, Python's clocks stand still while other programs run."""
    time.time = time.monotonic = time.perf_counter = time.process_time


def import_learners() -> None:
    """What AutoGluon would import during the fit, at the expense of the time limit."""
    for name in ("lightgbm", "catboost", "xgboost", "torch", "fastai.tabular.all", "autogluon.tabular"):
        importlib.import_module(name)


def fit_predict(train: Any, test: Any, job: dict[str, Any], models_folder: Path) -> dict[str, Any]:
    from autogluon.tabular import TabularPredictor

    predictor = TabularPredictor(
        TARGET,
        problem_type="binary" if train[TARGET].nunique() == 2 else "multiclass",  # many whole numbers look like regression
        eval_metric=job["metric"],
        positive_class=job["positive"],
        path=str(models_folder),
        verbosity=0,
        learner_kwargs={"random_state": job["seed"]},
    )
    start, start_cpu = time.perf_counter(), time.process_time()
    names: list[str] = []
    try:
        predictor.fit(
            train,
            presets=job["presets"],
            time_limit=job["time_limit"],
            num_cpus=job["num_cpus"],
            num_gpus=0,
            ag_args_ensemble={"fold_fitting_strategy": "sequential_local", "model_random_seed": job["seed"]},
            ds_args={"memory_safe_fits": False},
            raise_on_no_models_fitted=False,
        )
        names = predictor.model_names()
    except AssertionError as error:
        if "Not enough time left" not in str(error):  # what AutoGluon raises where the limit is used up before the fit
            raise
    fitted = time.perf_counter()
    failures = predictor.model_failures().to_dict("records") if names else []
    refitted = set(predictor.model_refit_map().values()) if names else set()
    answer: dict[str, Any] = {
        "fit_seconds": fitted - start,
        "fit_cpu_seconds": time.process_time() - start_cpu,
        "predict_seconds": 0.0,
        "models": [name for name in names if name not in refitted],
        "best": None,
        "errors": {row["model"]: f"{row['exc_type']}: {row['exc_str']}" for row in failures},
    }
    if not names:
        most_frequent = train[TARGET].mode().iloc[0].item()
        failed = f"AutoGluon trained no model within {job['time_limit']} s"
        return {**answer, "predicted": [most_frequent] * len(test), "failed": failed}
    predicted = predictor.predict(test).tolist()
    seconds = time.perf_counter() - fitted
    return {**answer, "predicted": predicted, "predict_seconds": seconds, "best": predictor.model_best, "failed": None}


def main() -> None:
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text())
    limit_threads(job["num_cpus"])
    if job["clock"] == "processor":
        count_processor_time()
    warnings.simplefilter("ignore")
    import_learners()
    import pandas as pd

    train, test = (pd.read_parquet(folder / f"{part}.parquet") for part in ("train", "test"))
    with tempfile.TemporaryDirectory(dir=folder) as models:
        answer = fit_predict(train, test, job, Path(models) / "autogluon")
    (folder / "predictions.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
