"""Killed and started again, a run ends in the same bytes."""

import math
import multiprocessing
import random
import signal
from dataclasses import replace

import pytest
import torch

from metricfit._progress import Progress
from metricfit._threads import single_threaded
from reproductions._experiment import Experiment, Scope, get_experiment, names
from reproductions._runner import file_name, read_results, run
from reproductions.exact_2022 import tabular
from reproductions.exact_2022._arms import table_8, train_seeds
from reproductions.exact_2022._protocol import STEPS, load_data
from tests.processes import PATIENCE, die_after

CELLS = ["a0", "a1", "b1", "a2", "b0", "a3"]  # sets and seeds


def experiment_of(ran):
    """Cells of two sets, which note that they were run."""

    def one(cell, scope):
        ran.append(f"{cell['set']}{cell['seed']}")
        return {"value": random.Random(f"{cell['set']}{cell['seed']}").random()}

    return Experiment(
        name="toy",
        title="Toy",
        datasets=("a", "b"),
        cells=lambda scope: [{"set": name, "seed": int(seed)} for name, seed in CELLS],
        run=one,
        summary=lambda found: f"{sum(numbers['value'] for _, numbers in found):.6f}\n",
    )


class DieAfterOneCell(Progress):
    """Kills this process soon after it has done a cell."""

    def __init__(self, n_calls):
        self.n_calls = n_calls

    def step(self, stage, value):
        if stage != "already saved":
            die_after(self.n_calls)


def run_ablation(data, out, progress=None):
    return run(get_experiment("exact-ablation"), Scope(data, quick=True), out, 1, progress)


def test_killed_three_times_and_resumed(data, tmp_path):
    """A real reproduction, of eighteen cells. Its processes are forked from one that has imported everything."""
    whole = run_ablation(data, tmp_path / "whole")
    moments = random.Random(0)
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["reproductions.exact_2022.ablation", __name__])
    folder = tmp_path / "killed" / ".exact-ablation-cells2"
    for n_killed in (1, 2, 3):
        progress = DieAfterOneCell(moments.randrange(2000))  # a cell takes more calls than that
        process = processes.Process(target=run_ablation, args=(data, tmp_path / "killed", progress))
        process.start()
        process.join(PATIENCE)
        assert process.exitcode == -signal.SIGKILL
        assert n_killed <= len(list(folder.glob("*.json"))) < 18  # killed in its midst, and something was won each time
    assert run_ablation(data, tmp_path / "killed") == whole
    for name in ("exact-ablation-quick.csv", "exact-ablation-quick.md"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_saved_cells_are_not_run_again_and_every_set_comes_first(tmp_path):
    """The other cells keep their order. A file that is not JSON, of a machine that stopped, is run again."""
    ran = []
    experiment, scope = experiment_of(ran), Scope(tmp_path)
    whole = run(experiment, scope, tmp_path)
    assert ran == ["a0", "b1", "a1", "a2", "b0", "a3"]
    (tmp_path / ".toy-cells" / file_name({"set": "a", "seed": 3}, scope)).write_text("")
    assert run(experiment, scope, tmp_path) == whole
    assert ran[6:] == ["a3"]


@pytest.mark.parametrize("change", [{"version": 2}, {"quick": True}])
def test_another_version_and_another_scope_have_cells_of_their_own(tmp_path, change):
    ran = []
    for options in ({}, change):
        experiment = replace(experiment_of(ran), version=options.get("version", 1))
        run(experiment, Scope(tmp_path, quick="quick" in options), tmp_path)
    assert len(ran) == 2 * len(CELLS)


@pytest.mark.parametrize("name", names())
def test_a_tiny_version_of_every_reproduction(name, data, tmp_path):
    """A cell depends on nothing but itself: the first one, run again after the others, has the same numbers."""
    experiment = get_experiment(name)
    small = tuple(known for known in ("wine", "balance-scale") if known in experiment.datasets)
    scope = Scope(data, quick=True, datasets=small)
    text = run(experiment, scope, tmp_path)
    assert text.startswith(f"# {experiment.title}\n")
    assert "nan" not in text
    found = read_results(experiment, tmp_path / f"{name}-quick.csv")
    ran = [tuple(cell.values()) for cell, _ in found]
    assert list(dict.fromkeys(ran)) == [tuple(cell.values()) for cell in experiment.cells(scope)]
    assert all(math.isfinite(value) for _, numbers in found for value in numbers.values())
    assert experiment.figure is None or (tmp_path / f"{name}-quick.svg").read_text().startswith("<?xml")
    cell = experiment.cells(scope)[0]
    with single_threaded():
        again = experiment.run(cell, scope)
    for (_, numbers), row in zip(found, again if isinstance(again, list) else [again], strict=False):
        same = {key: value for key, value in numbers.items() if not key.endswith(("seconds", "ms", "MB"))}
        assert same == {key: float(f"{row[key]:.6g}") for key in same}


def test_balance_scale_is_as_published(data):
    """With the full protocol EXACT reaches the 91.60 % of Table 1."""
    rows = load_data("balance-scale", data)
    models = train_seeds(rows, "EXACT", table_8("EXACT", "balance-scale"), steps=STEPS, seeds=[0])
    assert models.accuracy(rows.train[0][None], rows.train[1][None]).item() == pytest.approx(91.6, abs=0.5)


@pytest.mark.parametrize("method", tabular.METHODS)
def test_search_keeps_the_best_on_held_out_rows(method, data):
    """The only draws that help are the ones that it finds by itself: more draws are at least as good on the rows held out."""
    whole, found = load_data("wine", data), []
    inner = tabular._held_out(whole)
    rows = torch.cat([inner.train[0], inner.test[0]])
    assert torch.equal(rows.sort(0).values, whole.train[0].sort(0).values)
    for n_draws in (1, 6):
        if method == "Sklearn":
            found.append(tabular._sklearn(inner, tabular._searched_penalty(whole, n_draws))[1])
        else:
            options = tabular._searched_options(whole, method, n_draws, 50)
            models = train_seeds(inner, method, options, steps=50, seeds=[0])
            found.append(models.accuracy(inner.test[0][None], inner.test[1][None]).item())
    assert found[1] >= found[0]
    (row,) = tabular.run({"set": "wine", "method": method}, Scope(data, quick=True, search=3))
    assert 30.0 < row["test"] <= 100.0
