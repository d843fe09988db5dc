"""Ray's joblib backend, which has no generators: the same bits as without it. Ray is large, and not among the test packages."""

import os

import joblib
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


def process_of(data, place):
    return place, os.getpid()


def test_tasks_run_in_processes_of_ray_and_come_as_a_list():
    with joblib.parallel_config(backend="ray", n_jobs=2):
        assert count_workers(None) == 2
        places, processes = zip(*parallel(process_of, None, [(place,) for place in range(8)]), strict=True)
    assert list(places) == list(range(8))
    assert os.getpid() not in processes


def test_the_same_bits_as_without_it():
    def numbers():
        options = {"models": ["linear"], "methods": ["cross_entropy", "auto"], "n_splits": 2, "n_repeats": 1}
        found = mf.compare(X, Y, "f1", **options).results
        fitted = mf.MetricClassifier("f1", model="linear", random_state=0).fit(X, Y)
        return {name: one.scores for name, one in found.items()}, fitted.predict_proba(X).tolist()

    with joblib.parallel_config(backend="ray", n_jobs=2):
        found = numbers()
    assert found == numbers()
