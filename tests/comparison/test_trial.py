"""The time that is announced: extrapolated from given seconds, never from the clock."""

from itertools import count

import numpy as np
import pytest

import metricfit as mf
from metricfit._progress import Progress
from metricfit.comparison import _run
from metricfit.comparison._run import Trial, describe_time


class Announcement(Progress):
    """Keeps the line that a comparison announces."""

    text = None

    def announce(self, line):
        self.text = line()


def made(n_rows):
    features = np.random.default_rng(0).normal(size=(n_rows, 3))
    return features, np.array(["a", "b", "c"])[(features[:, :1] > [-2.2, 0.0]).sum(1)]  # class "a" has 1.4 % of the rows


def test_half_of_the_seconds_grow_with_the_rows():
    trial = Trial(1000, {"linear, auto": 2.0, "boosting, threshold": 3.0})
    assert trial.extrapolate(16_000) == pytest.approx({"linear, auto": 17.0, "boosting, threshold": 25.5})  # 8.5 times
    assert trial.extrapolate(1000) == trial.seconds


def test_splits_of_different_sizes_are_added():
    trial = Trial(1000, {"boosting, threshold": 60.0})  # 60, 90 and 120 seconds
    assert describe_time(trial, [1000, 2000, 3000], 1, 1) == "3 splits: about 4 minutes (measured on 1,000 rows)."


def test_jobs_run_in_rounds():
    trial = Trial(1000, {"boosting, threshold": 60.0})
    assert describe_time(trial, [1000] * 5, 2, 4) == "5 splits: about 3 minutes (measured on 1,000 rows)."  # 2 + 2 + 1
    one = describe_time(trial, [1000] * 5, 1, 4)
    assert one == "5 splits: about 5 minutes (measured on 1,000 rows). --jobs 4 would take about 2 minutes."


def test_a_time_limit_is_part_of_every_split():
    trial = Trial(1000, {"boosting, threshold": 60.0}, limit=120.0)
    assert describe_time(trial, [1000] * 4, 1, 1) == "4 splits: about 12 minutes (measured on 1,000 rows)."
    assert describe_time(Trial(1, {}, 60.0), [100] * 10, 1, 1) == "10 splits: about 10 minutes (by the limit of 60 s each)."


def test_a_method_that_takes_most_of_the_time_is_named():
    seconds = {"linear, threshold": 10.0, "linear, exact": 80.0, "boosting, threshold": 10.0}
    text = describe_time(Trial(1000, seconds), [1000], 1, 1)
    assert text.endswith(" linear, exact takes 80 % of it: --methods without it is faster.")
    assert "--methods" not in describe_time(Trial(1000, {"boosting, threshold": 80.0}), [1000], 1, 1)


@pytest.fixture
def small_trial(monkeypatch):
    monkeypatch.setattr(_run, "TRIAL_ROWS", 50)
    monkeypatch.setattr(_run, "cpu_count", lambda: 1)


OPTIONS = {"models": ["linear"], "methods": ["threshold", "hinge"], "n_splits": 3, "n_repeats": 3}


def test_a_trial_is_announced_and_changes_no_result(small_trial, monkeypatch):
    """Nine splits of 200 training rows, from a clock that ticks once for each of three contenders on 50 rows."""
    features, target = made(300)
    progress, ticks = Announcement(), count()
    monkeypatch.setattr(_run, "clock", lambda: float(next(ticks)))
    found = mf.compare(features, target, "f1_macro", **OPTIONS, progress=progress)
    assert progress.text == "9 splits: about 68 s (measured on 50 rows)."  # 9 * 3 * (0.5 + 0.5 * 4),
    plain = mf.compare(features, target, "f1_macro", **OPTIONS)
    assert [one.scores for one in found.results.values()] == [one.scores for one in plain.results.values()]


def test_a_small_table_is_not_tried(small_trial):
    progress = Announcement()
    mf.compare(*made(150), "f1_macro", **OPTIONS, progress=progress)  # 100 training rows, less than three times 50
    assert progress.text == ""


def test_every_class_is_in_the_trial():
    labels = np.array([0] * 5000 + [1] * 4)
    rows = _run._pick(labels, 100)
    assert 100 <= len(rows) <= 120
    assert (labels[rows] == 1).sum() == 4


def test_the_ensemble_with_a_time_limit_is_announced_and_not_tried():
    announced = Announcement()
    features, labels = made(400)
    options = {"models": ["ensemble"], "methods": ["threshold"], "n_splits": 2, "n_repeats": 1, "time_limit": 1e-9}
    found = mf.compare(features, labels, "mcc", **options, progress=announced)
    assert announced.text.startswith("2 splits: about ")
    ensemble = found.results["ensemble, threshold"].contender
    assert ensemble.about_model == "as many models as 1e-09 seconds allow, and their mean"
    assert found.results["linear, threshold"].contender.time_limit is None
