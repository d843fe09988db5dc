"""The campaign's checkpoints: a few cases are fine, and a load that is too trusting is found."""

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from campaign import checkpoints
from campaign._tally import FINE, Outcome
from metricfit.training import Trainer
from metricfit.training._checkpoint import write_state

N_ATTACKS = len(checkpoints.ATTACKS)


def outcomes(folder, n_cases=N_ATTACKS):
    tally = checkpoints.run(np.random.default_rng(0), n_cases, folder)
    assert tally.n_tried == n_cases
    assert all(line.startswith("checkpoints: ") for line in tally.failures)
    return tally.counts


def test_a_few_cases(tmp_path):
    counts = outcomes(tmp_path, 2 * N_ATTACKS)
    assert set(counts) == set(FINE)
    assert counts[Outcome.ANSWERED] >= 4  # values, and files that were written again


def test_the_same_seed_draws_the_same_cases(tmp_path, monkeypatch):
    found = []
    monkeypatch.setattr(
        checkpoints, "_judge", lambda run, file, must, ran, what: found.append(what) or (Outcome.REFUSED, what)
    )
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        outcomes(tmp_path / name)
    assert found[:N_ATTACKS] == found[N_ATTACKS:]


def test_without_a_checksum_and_checks(tmp_path, monkeypatch):
    monkeypatch.setattr("metricfit.training._resume._check", lambda *args: None)
    counts = outcomes(tmp_path)
    assert counts[Outcome.WRONG] >= 1


@pytest.mark.parametrize(
    ("load", "outcome"),
    [
        (lambda self, file, batches=None: None, Outcome.WRONG),
        (lambda self, file, batches=None: {}["x"], Outcome.TRACEBACK),
    ],
    ids=["does nothing", "raises something"],
)
def test_a_load_that(tmp_path, monkeypatch, load, outcome):
    monkeypatch.setattr(Trainer, "load", load)
    assert outcomes(tmp_path) == Counter({outcome: N_ATTACKS})


def test_a_load_that_changes_before_it_refuses(tmp_path, monkeypatch):
    def load(self, file, batches=None):
        self.step += 1
        raise ValueError(f"{file} cannot be loaded.")

    monkeypatch.setattr(Trainer, "load", load)
    assert outcomes(tmp_path) == Counter({Outcome.WRONG: N_ATTACKS})


def test_a_load_that_runs_code(tmp_path, monkeypatch):
    def load(self, file, batches=None):
        try:
            pickle.loads(Path(file).read_bytes())
        except Exception as error:
            raise ValueError(f"{file} cannot be loaded.") from error

    def attack(random, original, file, ran):
        file.write_bytes(pickle.dumps(checkpoints._Attack(ran)))
        return "bare"

    monkeypatch.setattr(Trainer, "load", load)
    monkeypatch.setattr(checkpoints, "ATTACKS", (("code", attack, True),))
    assert outcomes(tmp_path, 2) == Counter({Outcome.CODE: 2})


def test_same_is_about_bits(tmp_path):
    state = checkpoints.Run(0).state()
    assert checkpoints.same(state, checkpoints.Run(0).state())
    assert not checkpoints.same(state, checkpoints.Run(1).state())
    write_state(tmp_path / "file", state)
    assert checkpoints.same(state, checkpoints.read_state(tmp_path / "file", checkpoints.LIMIT))
