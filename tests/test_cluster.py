"""A real cluster of two worker processes: the same bits as without it, and what happens when parts of it die."""

import json
import os
import random
import signal
import sys
import time

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from joblib.parallel import ThreadingBackend
from pyarrow import parquet
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import metricfit as mf
from metricfit import _cluster
from metricfit._errors import ClusterError, DataError
from metricfit._parallel import count_workers, parallel, runs_here
from metricfit._progress import Progress
from metricfit.cli import app, run_app
from reproductions._experiment import Experiment, Scope
from reproductions._runner import run as reproduce
from tests.clusters import Cluster
from tests.processes import wait_for

distributed = pytest.importorskip("distributed")
X, Y = make_classification(160, 6, n_informative=4, random_state=0)
LIMIT = 240  # seconds for a test, on a busy machine


@pytest.fixture(autouse=True)
def no_test_hangs():
    """A test that waits for something that never comes is an error."""

    def stop(*_):
        raise TimeoutError(f"the test took more than {LIMIT} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    yield found
    found.stop()


@pytest.fixture
def cluster(processes):
    """A scheduler and two workers. A test may kill them."""
    processes.repair()
    return processes


@pytest.fixture
def on_cluster(cluster):
    with _cluster.connected(cluster.address) as client:
        yield client


class Table:
    """Data that count how often they are pickled."""

    n_pickled = 0

    def __getstate__(self):
        Table.n_pickled += 1
        return {"content": "x" * 10_000}


def where(data, place):
    """The process of a task, and how much it may do at once."""
    time.sleep(0.05)
    inner = list(parallel(pow, 2, [(place,)], n_jobs=4))
    return place, os.getpid(), torch.get_num_threads(), runs_here(4), inner


def fail(data, place):
    raise DataError(f"row {place} is wrong")


@pytest.mark.parametrize("ordered", [True, False])
def test_data_are_sent_once_and_tasks_run_alone_in_both_workers(on_cluster, ordered):
    table, before = Table(), Table.n_pickled
    items = [(place,) for place in range(8)]
    assert count_workers(None) == 2
    for _ in range(2):
        found = list(parallel(where, table, items, ordered=ordered))
        assert [row[0] for row in (found if ordered else sorted(found))] == list(range(8))
    assert Table.n_pickled == before + 1
    assert len({process for _, process, *_ in found} - {os.getpid()}) == 2
    assert {tuple(row[2:4]) for row in found} == {(1, True)}
    assert [row[4] for row in sorted(found)] == [[2**place] for place in range(8)]


def test_one_job_stays_here(on_cluster):
    assert {process for _, process, *_ in parallel(where, None, [(0,), (1,)], n_jobs=1)} == {os.getpid()}


def test_errors_are_raised_as_they_are_and_a_module_that_workers_lack_is_named(on_cluster, tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"^row 3 is wrong$"):
        list(parallel(fail, None, [(3,)]))
    (tmp_path / "only_here.py").write_text("def twice(data, number):\n    return 2 * number\n")
    monkeypatch.syspath_prepend(tmp_path)
    from only_here import twice

    with pytest.raises(ClusterError, match=r"has no module 'only_here'\. Install it there"):
        list(parallel(twice, None, [(1,)]))


def comparison():
    """The numbers of a small comparison, without seconds."""
    options = {"models": ["linear"], "methods": ["cross_entropy", "auto"], "n_splits": 2, "n_repeats": 1}
    found = mf.compare(X, Y, "f1", **options).results
    return {name: (one.scores, one.offsets.tolist(), one.held_out.predicted.tolist()) for name, one in found.items()}


def answers(**options):
    """What a classifier says of all rows."""
    fitted = mf.MetricClassifier("f1", cv=2, random_state=0, **options).fit(X, Y)
    return np.hstack(fitted.scores_and_probabilities(X))


def offsets():
    return mf.OffsetClassifier(LogisticRegression(), "f1", random_state=0).fit(X, Y).offsets_


def test_the_same_bits_as_without_a_cluster(cluster):
    """In Python, by joblib's own setting; all models of ``auto``, and a network whose folds are candidates."""
    with distributed.Client(cluster.address), joblib.parallel_config(backend="dask"):
        found = comparison(), answers(), answers(model=mf.Network(max_epochs=2)), offsets()
    assert found[0] == comparison()
    for one, other in zip(found[1:], (answers(), answers(model=mf.Network(max_epochs=2)), offsets()), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_forest_sums_over_its_trees_in_one_order():
    """Also where joblib says that everything runs on two threads."""
    fitted = mf.MetricClassifier("f1", model="extra_trees", cv=3, random_state=0).fit(X, Y)
    alone = fitted.predict_proba(X)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        for _ in range(20):
            np.testing.assert_array_equal(fitted.predict_proba(X), alone)


def test_two_threads_of_one_process_give_the_same_bits():
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0") as local,
        distributed.Client(local),
        joblib.parallel_config(backend="dask"),
    ):
        found = answers(model=mf.Network(max_epochs=2))
        with (
            pytest.raises(ClusterError, match="has a worker with 2 threads, expected one"),
            _cluster.connected(local.scheduler_address, True),
        ):
            pass
    np.testing.assert_array_equal(found, answers(model=mf.Network(max_epochs=2)))


def metricfit(monkeypatch, capsys, *arguments):
    """Exit code, stdout and stderr of the command."""
    monkeypatch.setattr(sys, "argv", ["metricfit", *map(str, arguments)])
    code = run_app(app, "metricfit")
    return code, *capsys.readouterr()


def test_compare_and_fit_on_a_cluster(cluster, tmp_path, monkeypatch, capsys):
    table = tmp_path / "table.csv"
    pd.DataFrame(X[:, :3], columns=list("abc")).assign(label=Y).to_csv(table, index=False)
    options = (table, "--folds", 2, "--repeats", 1, "--json")
    found = {}
    for where in ([], ["--cluster", cluster.address]):
        code, out, err = metricfit(monkeypatch, capsys, "compare", *options, "--models", "linear", *where)
        assert code == 0
        assert ("2 workers with 2 threads" in err) == bool(where)
        model = tmp_path / f"model{len(where)}"
        code, fitted, _ = metricfit(monkeypatch, capsys, "fit", *options, "--model", "linear", "--out", model, *where)
        assert code == 0
        files = {file.name: file.read_bytes() for file in model.iterdir() if file.suffix == ".safetensors"}
        assert files
        found[bool(where)] = without_seconds(json.loads(out)), without_seconds(json.loads(fitted)), files
    assert found[True] == found[False]


@pytest.mark.parametrize("model", ["linear", "xgboost"])
def test_files_are_fitted_in_parts_on_a_cluster(cluster, tmp_path, monkeypatch, capsys, model):
    """By workers that see the files, with and without a scratch folder that they share. XGBoost merges the workers' bins."""
    for number, rows in enumerate(np.array_split(np.arange(len(Y)), 3)):
        columns = {f"x{column}": X[rows, column] for column in range(3)}
        parquet.write_table(pa.table({**columns, "label": Y[rows]}), tmp_path / f"part-{number}.parquet")
    monkeypatch.chdir(tmp_path)
    rows, found = pa.table({f"x{column}": X[:, column] for column in range(3)}), {}
    for name, where in {
        "here": [],
        "processes": ["--jobs", "2"],
        "cluster": ["--cluster", cluster.address],
        "scratch": ["--cluster", cluster.address, "--scratch", "."],
    }.items():
        options = ("--metric", "f1", "--target", "label", "--model", model, "--out", name, *where)
        code, _, err = metricfit(monkeypatch, capsys, "fit", "part-*.parquet", *options)
        assert code == 0, err
        assert ("2 workers with 2 threads" in err) == ("--cluster" in where)
        fitted = mf.MetricClassifier.load(tmp_path / name, trusted=["xgboost.core.Booster", "xgboost.sklearn.XGBClassifier"])
        found[name] = fitted.predict_proba(rows)
    for one in found.values():
        np.testing.assert_allclose(one, found["here"], rtol=0, atol=0 if model == "linear" else 1e-5)


def without_seconds(found):
    """What a run prints, but for times and the name of the model, which the next command has too."""
    for row in found["results"]:
        del row["seconds"]
    return {**found, "model": "", "next_command": ""}


def test_files_are_predicted_on_a_cluster(cluster, tmp_path, monkeypatch, capsys):
    """By workers, which read and write the same disk; a bad file leaves the others."""
    table = "".join(f"{a:.6g},{b:.6g},{y}\n" for (a, b), y in zip(X[:, :2], Y, strict=True))
    (tmp_path / "table.csv").write_text("a,b,label\n" + table)
    fitting = ("--model", "linear", "--folds", 2, "--repeats", 1, "--out", tmp_path / "model")
    assert metricfit(monkeypatch, capsys, "fit", tmp_path / "table.csv", *fitting)[0] == 0
    files = [tmp_path / f"part{place}.csv" for place in range(3)]
    for place, file in enumerate(files):
        file.write_text("a,b\n" + "".join(f"{a:.6g},{b:.6g}\n" for a, b in X[place::3, :2]))
    files[1].write_text("a,b\n1,word\n")
    for where in ([], ["--cluster", cluster.address]):
        out = tmp_path / f"out{len(where)}"
        code, _, err = metricfit(monkeypatch, capsys, "predict", tmp_path / "model", *files, "--out", out, *where)
        assert code == 1
        assert err.splitlines()[-1].startswith("metricfit: 1 of 3 files could not be predicted, see above.")
    outputs = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("out0", "out2")]
    assert outputs[0] == outputs[1]
    assert outputs[0].keys() == {"part0.csv", "part2.csv"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--cluster", "tcp://127.0.0.1:1"], 1, "--cluster tcp://127.0.0.1:1 cannot be reached: "),
        (["--cluster", "nonsense://x"], 1, "--cluster nonsense://x cannot be reached: "),
        (["--cluster", "tcp://127.0.0.1:1", "--jobs", "2"], 2, "--jobs 2 and --cluster cannot be combined"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_one_line(arguments, code, message, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(_cluster, "CONNECT", 0.5)
    found, out, err = metricfit(monkeypatch, capsys, "compare", tmp_path / "none.csv", *arguments)
    assert (found, out) == (code, "")
    assert err.startswith(f"metricfit: {message}")
    assert err.count("\n") == 1


def toy_experiment(seconds):
    """Twelve cells, each of which takes a while."""

    def one(cell, scope):
        time.sleep(seconds)
        return {"value": random.Random(cell["seed"]).random()}

    return Experiment(
        name="toy",
        title="Toy",
        datasets=(),
        cells=lambda scope: [{"method": "a", "seed": seed} for seed in range(12)],
        run=one,
        summary=lambda found: f"{sum(numbers['value'] for _, numbers in found):.6f}\n",
    )


class KillAfter(Progress):
    """Kills a process when some cells are done."""

    def __init__(self, process, n_cells):
        self.process, self.left = process, n_cells

    def step(self, stage, value):
        self.left -= 1
        if self.left == 0:
            self.process.kill()


def test_a_killed_worker_costs_time_only(cluster, tmp_path):
    """Killed while it works. Its tasks are done by the other one, and the files are the same."""
    whole = reproduce(toy_experiment(0.0), Scope(tmp_path), tmp_path / "here")
    with _cluster.connected(cluster.address, one_thread=True):
        killer = KillAfter(cluster.workers[0], 3)
        assert reproduce(toy_experiment(0.1), Scope(tmp_path), tmp_path / "killed", None, killer) == whole
    assert cluster.workers[0].wait(timeout=10) == -signal.SIGKILL
    assert (tmp_path / "killed" / "toy.csv").read_bytes() == (tmp_path / "here" / "toy.csv").read_bytes()


def test_data_that_no_worker_has_any_more_are_an_error(processes, monkeypatch):
    processes.repair(1)
    with _cluster.connected(processes.address) as client:
        table, found, before = Table(), [], processes.workers[:]

        def run_until_killed():
            for row in parallel(where, table, [(index,) for index in range(30)]):
                if len(found) == 3:
                    processes.start_worker()
                    processes.wait_for_workers(len(processes.workers))
                    for worker in before:
                        worker.kill()
                found.append(row)

        with pytest.raises(ClusterError, match="All workers of the cluster that had the data ended"):
            run_until_killed()
        assert 3 <= len(found) < 30
        monkeypatch.setattr(_cluster, "NO_WORKERS", 1.0)
        processes.workers[-1].kill()
        wait_for(lambda: not client.nthreads())
        with pytest.raises(ClusterError, match=r"no workers for 1 seconds"):
            list(parallel(where, None, [(0,)]))


def test_a_killed_scheduler_is_an_error_and_what_is_done_is_kept(processes, tmp_path):
    processes.repair(1)
    whole = reproduce(toy_experiment(0.0), Scope(tmp_path), tmp_path / "here")
    with (
        pytest.raises(ClusterError, match=r"^The connection to the scheduler of the cluster is lost.*$") as error,
        _cluster.connected(processes.address),
    ):
        reproduce(toy_experiment(0.1), Scope(tmp_path), tmp_path / "lost", None, KillAfter(processes.scheduler, 3))
    assert "\n" not in str(error.value)
    assert 3 <= len(list((tmp_path / "lost" / ".toy-cells").glob("*.json"))) < 12
    assert reproduce(toy_experiment(0.0), Scope(tmp_path), tmp_path / "lost") == whole


class NoGenerators(ThreadingBackend):
    """As Ray's; joblib refuses to return a generator from it."""

    supports_return_generator = False


def test_a_backend_without_generators_gives_a_list():
    joblib.register_parallel_backend("no-generators", NoGenerators)
    with joblib.parallel_config(backend="no-generators", n_jobs=2):
        with pytest.raises(ValueError, match="generator"):
            joblib.Parallel(return_as="generator")
        assert list(parallel(pow, 2, [(3,), (4,)])) == [8, 16]
