"""Sweep options of `MetricLoss` and of a small network with Optuna. Which reach the best F1? Do they beat cross-entropy?

    python examples/sweep.py [--trials 40] [--processes 2] [--storage sweep.log]

scikit-learn generates the table: 2,000 rows for the trials, 6 % of them positive, and 20,000 test rows that no trial uses.
There are two studies with the same number of trials, which makes the comparison fair. One may choose any loss, the other uses
cross-entropy only. Every trial tunes its threshold, because cross-entropy needs that.

Both studies are in one file, which all processes share. If a process is killed, the others continue, and its trials are run
again. The same command resumes the studies in the file. With more `--trials` it adds the missing ones. Run one command at
a time per file. Progress goes to stderr, the result to stdout.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import optuna
import torch
from numpy.typing import NDArray
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, Trial, TrialState
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

import metricfit as mf

EPOCHS = 12
STUDIES = {"any loss": ["cross_entropy", "f1"], "cross-entropy": ["cross_entropy"]}  # the losses that each may choose
SMOOTHINGS = {"softmax": mf.smoothing.Softmax, "normal": mf.smoothing.Normal, "soft_set": mf.smoothing.SoftSet}
SCALES = {"softmax": (0.1, 3.0), "normal": (0.1, 3.0), "soft_set": (0.03, 0.4)}  # a soft set is no wider than 0.4


class Table(NamedTuple):
    """Features and labels: of the trials' rows, and of the test rows."""

    x: Tensor
    y: Tensor
    test_x: Tensor
    test_y: Tensor


@functools.cache
def read_table() -> Table:
    """Replace this by your table."""
    rows = make_classification(
        22_000, 20, n_informative=8, n_clusters_per_class=3, weights=[0.95], flip_y=0.02, class_sep=1.0, random_state=0
    )
    x, test_x, y, test_y = train_test_split(*rows, train_size=2_000, stratify=rows[1], random_state=0)
    scaler = StandardScaler().fit(x)
    x, test_x = (torch.as_tensor(scaler.transform(part), dtype=torch.float32) for part in (x, test_x))
    return Table(x, torch.as_tensor(y), test_x, torch.as_tensor(test_y))


def suggest_options(trial: Trial, losses: Sequence[str]) -> None:
    """The space of the sweep. Afterwards ``trial.params`` has the options."""
    trial.suggest_int("width", 8, 128, log=True)
    trial.suggest_float("dropout", 0.0, 0.5)
    trial.suggest_float("lr", 1e-3, 0.1, log=True)
    trial.suggest_categorical("batch_size", [128, 512])
    if trial.suggest_categorical("loss", losses) == "f1":
        smoothing = trial.suggest_categorical("smoothing", list(SMOOTHINGS))
        trial.suggest_float(f"{smoothing}_scale", *SCALES[smoothing], log=True)
        trial.suggest_categorical("link", ["linear", "log"])
        trial.suggest_categorical("leak", [0.0, 0.1, 1.0])


def make_loss(options: Mapping[str, Any]) -> nn.Module:
    if options["loss"] == "cross_entropy":
        return nn.CrossEntropyLoss()
    name = options["smoothing"]
    return mf.MetricLoss("f1", SMOOTHINGS[name](options[f"{name}_scale"]), options["link"], leak=options["leak"])


def train(options: Mapping[str, Any], x: Tensor, y: Tensor, seed: int) -> mf.training.Trainer:
    torch.manual_seed(seed)
    width = options["width"]
    module = nn.Sequential(nn.Linear(x.shape[1], width), nn.ReLU(), nn.Dropout(options["dropout"]), nn.Linear(width, 2))
    optimizer = torch.optim.Adam(module.parameters(), lr=options["lr"])
    batches = mf.training.Batches(x, y, size=options["batch_size"], seed=seed)
    rate = mf.schedules.cosine(options["lr"], 0.0, EPOCHS * len(batches))
    trainer = mf.training.Trainer(module, make_loss(options), optimizer, metric="f1", lr=rate)
    trainer.fit(batches, (x, y), epochs=EPOCHS)
    return trainer


class Fit(NamedTuple):
    """Networks of three folds, and the offsets (the threshold) that are best for the rows that each has not seen."""

    networks: list[mf.training.Trainer]
    offsets: NDArray[np.float64]
    f1: float  # of the rows that each has not seen

    def predict(self, x: Tensor) -> NDArray[np.int64]:
        scores = torch.stack([network.scores(x) for network in self.networks]).mean(0)
        return mf.decide(scores.numpy(), self.offsets)


def fit(options: Mapping[str, Any], seed: int) -> Fit:
    """The same options and seed give the same numbers. The test rows are not used."""
    x, y, *_ = read_table()
    networks, scores = [], np.zeros((len(y), 2))
    for kept, left_out in StratifiedKFold(3, shuffle=True, random_state=0).split(x, y):
        networks.append(train(options, x[kept], y[kept], seed))
        scores[left_out] = networks[-1].scores(x[left_out]).numpy()
    offsets = mf.tune_offsets(scores, y.numpy(), "f1")
    return Fit(networks, offsets, f1_score(y, mf.decide(scores, offsets)))


def open_study(storage: Path, name: str, seed: int = 0) -> optuna.Study:
    """The study in the file, which is made if it is not there."""
    return optuna.create_study(
        storage=JournalStorage(JournalFileBackend(str(storage))),
        study_name=name,
        sampler=optuna.samplers.TPESampler(seed=seed),
        direction="maximize",
        load_if_exists=True,
    )


def run_trial(losses: Sequence[str], trial: Trial) -> float:
    trial.set_user_attr("process", os.getpid())
    suggest_options(trial, losses)
    return fit(trial.params, seed=trial.number).f1


def report(study: optuna.Study, trial: FrozenTrial) -> None:
    line = f"{study.study_name}: trial {trial.number} has F1 {trial.value:.4f}, the best {study.best_value:.4f}"
    print(line, file=sys.stderr, flush=True)
    starter = multiprocessing.parent_process()
    if starter is not None and not starter.is_alive():
        raise SystemExit("The process that started this one is gone.")


def run_trials(storage: Path, n_trials: Mapping[str, int], seed: int) -> None:
    """What one process does: so many trials of each study."""
    if multiprocessing.parent_process() is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    torch.set_num_threads(1)  # the networks are small, and there are other processes
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for name, n in n_trials.items():
        study = open_study(storage, name, seed)
        study.optimize(functools.partial(run_trial, STUDIES[name]), n_trials=n, callbacks=[report])


def count_finished(study: optuna.Study) -> int:
    return len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))


def count_missing(studies: Mapping[str, optuna.Study], n_trials: int) -> dict[str, int]:
    return {name: max(0, n_trials - count_finished(study)) for name, study in studies.items()}


def sweep(storage: Path, n_trials: int, n_processes: int) -> dict[str, optuna.Study]:
    """Run trials until each study in the file has so many that are finished."""
    studies = {name: open_study(storage, name) for name in STUDIES}
    while any((missing := count_missing(studies, n_trials)).values()):
        for study in studies.values():
            for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
                study.tell(trial.number, state=TrialState.FAIL)  # its process was killed
        n_used = min(n_processes, max(missing.values()))
        shares = [{name: len(range(place, n, n_used)) for name, n in missing.items()} for place in range(n_used)]
        n_before = sum(len(study.trials) for study in studies.values())
        seeds = range(n_before, n_before + n_used)  # with the same seed, two processes would try the same options
        if n_used == 1:
            run_trials(storage, shares[0], seeds[0])
        else:
            run_in_processes([(storage, share, seed) for share, seed in zip(shares, seeds, strict=True)])
        if count_missing(studies, n_trials) == missing:
            raise SystemExit("All processes ended, and none of them finished a trial.")
    return studies


def run_in_processes(arguments: Sequence[tuple[Path, dict[str, int], int]]) -> None:
    """``run_trials`` of each, side by side. One that dies leaves its trials to the next round."""
    processes = [multiprocessing.get_context("spawn").Process(target=run_trials, args=each, daemon=True) for each in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode:
            print(f"Process {process.pid} ended with code {process.exitcode}.", file=sys.stderr, flush=True)


def result(studies: Mapping[str, optuna.Study]) -> str:
    """The best trial of each study, trained again from its number, on the test rows."""
    _, y, test_x, test_y = read_table()
    lines = [f"{'study':<16}{'trials':>8}{'F1 of trials':>14}{'F1 of test':>12}  options of the best trial"]
    for name, study in studies.items():
        best = study.best_trial
        tested = f1_score(test_y, fit(best.params, seed=best.number).predict(test_x))
        shown = {key: f"{value:.3g}" if isinstance(value, float) else value for key, value in best.params.items()}
        options = ", ".join(f"{key} {value}" for key, value in shown.items())
        lines.append(f"{name:<16}{count_finished(study):>8}{best.value:>14.4f}{tested:>12.4f}  {options}")
    f1_all, test_f1_all = (f1_score(labels, np.ones(len(labels))) for labels in (y, test_y))
    return "\n".join([*lines, f"{'all positive':<16}{'':>8}{f1_all:>14.4f}{test_f1_all:>12.4f}"])


def at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"should be a number from 1, got {text!r}")
    return int(text)


def journal(text: str) -> Path:
    """Optuna would add its lines to any file."""
    path = Path(text)
    if not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"should be a file in a folder that exists, got {text!r}")
    if path.exists() and not (path.is_file() and path.read_bytes()[:11] in (b"", b'{"op_code":')):
        raise argparse.ArgumentTypeError(f"should be a new file, or one that this command wrote, got {text!r}")
    return path


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=at_least_one, default=40, help="finished trials of each study (default: %(default)s)")
    parser.add_argument("--processes", type=at_least_one, default=2, help="that share the file (default: %(default)s)")
    parser.add_argument("--storage", type=journal, default="sweep.log", help="file of both studies (default: %(default)s)")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        print(result(sweep(given.storage, given.trials, given.processes)))
    except KeyboardInterrupt:
        raise SystemExit("Stopped. The same command continues.") from None


if __name__ == "__main__":
    main()
