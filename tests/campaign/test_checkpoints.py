"""The campaign of checkpoints notices a load that does nothing, fails, says too much, or runs code."""

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from campaign import checkpoints
from campaign._tally import FINE, Outcome
from metricfit.training import Trainer

N_ATTACKS = len(checkpoints.ATTACKS)


def outcomes(folder, n_cases=N_ATTACKS):
    tally = checkpoints.run(np.random.default_rng(0), n_cases, folder)
    assert tally.n_tried == n_cases
    assert all(line.startswith("checkpoints: ") for line in tally.failures)
    return tally.counts


def test_a_few_cases(tmp_path):
    counts = outcomes(tmp_path, 2 * N_ATTACKS)
    assert set(counts) == set(FINE)
    assert counts[Outcome.ANSWERED] >= 2  # files that are as they were
    assert counts[Outcome.REFUSED] >= 6


def do_nothing(self, file, batches=None):
    pass


def fail(self, file, batches=None):
    raise KeyError(file)


def say_two_lines(self, file, batches=None):
    raise ValueError(f"{file} cannot be loaded:\nwhatever.")


@pytest.mark.parametrize(
    ("load", "outcome"), [(do_nothing, Outcome.WRONG), (fail, Outcome.TRACEBACK), (say_two_lines, Outcome.WRONG)]
)
def test_a_load_that_does_not_keep_the_rules(tmp_path, monkeypatch, load, outcome):
    load_first = iter([Trainer.load])
    monkeypatch.setattr(Trainer, "load", lambda *arguments: next(load_first, load)(*arguments))
    assert outcomes(tmp_path) == Counter({outcome: N_ATTACKS})


def test_a_load_that_runs_code(tmp_path, monkeypatch):
    def load(self, file, batches=None):
        try:
            pickle.loads(Path(file).read_bytes())
        except Exception as error:
            raise ValueError(f"{file} cannot be loaded.") from error

    def attack(random, original, file, ran):
        file.write_bytes(pickle.dumps(checkpoints._Attack(ran)))
        return "bare"

    load_first = iter([Trainer.load])
    monkeypatch.setattr(Trainer, "load", lambda *arguments: next(load_first, load)(*arguments))
    monkeypatch.setattr(checkpoints, "ATTACKS", (("code", attack),))
    assert outcomes(tmp_path, 2) == Counter({Outcome.CODE: 2})


def test_without_checksums(tmp_path, monkeypatch):
    """Torch alone loads damaged weights."""
    monkeypatch.setattr("metricfit.training._checkpoint._check_archive", lambda file: None)
    assert outcomes(tmp_path, 40 * N_ATTACKS)[Outcome.WRONG] >= 1


def test_same_is_about_bits():
    state = checkpoints.Run(0).state()
    assert checkpoints.same(state, checkpoints.Run(0).state())
    assert not checkpoints.same(state, checkpoints.Run(1).state())
