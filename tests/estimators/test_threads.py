"""Fits and predictions in several threads at once: the same bits as alone, and nothing global is changed."""

import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from sklearn.datasets import make_classification
from torch import nn

from metricfit import Method, MetricClassifier, Network
from metricfit._threads import free_threads, single_threaded
from metricfit.smoothing import Normal

X, Y = make_classification(300, 8, n_informative=5, random_state=0)


class Noisy(nn.Module):
    """A user's own module: it is drawn from the global generator, and so is its dropout."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))

    def forward(self, features):
        return self.layers(features)


def noisy(n_features, n_classes):
    return Noisy()


QUICK = {"max_epochs": 8, "batch_size": 32}
SAMPLED = Method("sampled", smoothing=Normal(1.0, "monte_carlo"))
FITS = {
    "mlp": {"model": Network(**QUICK)},
    "mlp, sampled noise": {"model": Network(**QUICK), "method": SAMPLED},
    "own": {"model": Network(noisy, **QUICK)},
    "linear": {"model": "linear"},
}


def fitted(name, seed):
    return MetricClassifier("f1", **FITS[name], cv=3, random_state=seed).fit(X, Y)


def answers(name, seed):
    return fitted(name, seed).decision_function(X)


def test_networks_fitted_at_the_same_time_are_as_alone():
    jobs = [(name, seed) for seed in (0, 1) for name in FITS]
    alone = {job: answers(*job) for job in jobs}
    before, n_threads = torch.get_rng_state(), torch.get_num_threads()
    with ThreadPoolExecutor(4) as pool:
        together = dict(zip(jobs * 2, pool.map(lambda job: answers(*job), jobs * 2), strict=True))
    for job in jobs:
        assert (alone[job] == together[job]).all(), job
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == n_threads


@pytest.mark.parametrize("name", FITS)
def test_a_fit_neither_reads_nor_moves_the_global_generator(name):
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        found.append(answers(name, 0))
        assert torch.equal(torch.get_rng_state(), before)
    assert (found[0] == found[1]).all()


def test_an_mlp_does_not_touch_the_global_generator_meanwhile(monkeypatch):
    def refuse(*args, **options):
        raise AssertionError("the global generator was seeded")

    monkeypatch.setattr(torch, "manual_seed", refuse)
    fitted("mlp", 0)


def test_the_threads_of_torch_are_those_of_each_thread():
    """The first to come is the first to leave, and finds its number again; the other keeps to one thread."""
    before, inside, leave, seen = torch.get_num_threads(), threading.Event(), threading.Event(), []

    def other():
        with single_threaded():
            seen.append(torch.get_num_threads())
            inside.set()
            leave.wait()
            seen.append(torch.get_num_threads())
        seen.append(torch.get_num_threads())

    torch.set_num_threads(3)
    try:
        with single_threaded():
            thread = threading.Thread(target=other)
            thread.start()
            inside.wait()
            free_threads()  # within a limit of its own it changes nothing
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
        free_threads()
        assert torch.get_num_threads() == 3
        leave.set()
        thread.join()
        assert seen == [1, 1, 3]
    finally:
        torch.set_num_threads(before)


FILTERS = """
import warnings, numpy, scipy.special, sklearn.base, sklearn.ensemble, torch
from metricfit import MetricClassifier, Network, OffsetClassifier
from sklearn.linear_model import LogisticRegression
before = list(warnings.filters)
X = numpy.random.default_rng(0).normal(size=(60, 3))
y = (X[:, 0] > 0).astype(int)
for model in ("linear", Network(max_epochs=2), "boosting"):
    MetricClassifier("f1", model=model, cv=2, random_state=0).fit(X, y).predict(X)
OffsetClassifier(LogisticRegression(), "f1", cv=2).fit(X, y)
assert list(warnings.filters) == before, [one for one in warnings.filters if one not in before]
"""


def test_the_first_fit_leaves_the_filters_of_warnings():
    found = subprocess.run([sys.executable, "-c", textwrap.dedent(FILTERS)], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("model", ["linear", Network(max_epochs=3), "ensemble"])
def test_predictions_of_eight_threads(model):
    classifier = MetricClassifier("f1", model=model, cv=3, random_state=0).fit(X, Y)
    parts = [X[start::7] for start in range(7)] * 4
    serial = [(classifier.predict_proba(part), classifier.predict(part)) for part in parts]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda part: (classifier.predict_proba(part), classifier.predict(part)), parts))
    for (expected, labels), (probabilities, predicted) in zip(serial, found, strict=True):
        assert (expected == probabilities).all()
        assert (labels == predicted).all()
