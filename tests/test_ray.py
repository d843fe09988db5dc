"""Ray's joblib backend, which has no generators: the same bits as without it. Ray is large, and not among the test packages."""

import os

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import metricfit as mf
from metricfit._parallel import count_workers, parallel

ray = pytest.importorskip("ray", reason="Ray is large, and not among the test packages")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray
X, Y = load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module", autouse=True)
def two_workers():
    from ray.util.joblib import register_ray

    register_ray()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture
def on_ray():
    return joblib.parallel_config(backend="ray", n_jobs=2)


def process_of(data, place):
    return place, os.getpid()


def test_tasks_run_in_processes_of_ray_and_come_as_a_list(on_ray):
    with on_ray:
        with pytest.raises(ValueError, match="generator"):
            joblib.Parallel(return_as="generator")
        assert count_workers(None) == 2
        places, processes = zip(*parallel(process_of, None, [(place,) for place in range(8)]), strict=True)
    assert list(places) == list(range(8))
    assert os.getpid() not in processes


def test_a_classifier_has_the_same_bits(on_ray):
    def answers():
        return np.hstack(mf.MetricClassifier("f1", model="linear", random_state=0).fit(X, Y).scores_and_probabilities(X))

    with on_ray:
        found = answers()
    np.testing.assert_array_equal(found, answers())


def test_a_comparison_has_the_same_bits(on_ray):
    def numbers():
        options = {"models": ["linear"], "methods": ["cross_entropy", "auto"], "n_splits": 2, "n_repeats": 1}
        found = mf.compare(X, Y, "f1", **options).results
        return {name: (one.scores, one.offsets.tolist(), one.held_out.predicted.tolist()) for name, one in found.items()}

    with on_ray:
        found = numbers()
    assert found == numbers()
