"""Killed and started again, a run ends in the same bytes."""

import math
import multiprocessing
import random
import signal
from dataclasses import replace

import pytest
import torch

from metricfit._progress import Progress
from reproductions._experiment import Experiment, Scope, get_experiment, names
from reproductions._runner import read_results, run
from reproductions.exact_2022 import tabular
from reproductions.exact_2022._arms import table_8, train_seeds
from reproductions.exact_2022._protocol import STEPS, load_data
from tests.processes import PATIENCE, die_after


def experiment_of(ran=None):
    """Eight cells of two sets, which note that they were run."""

    def one(cell, scope):
        if ran is not None:
            ran.append(f"{cell['set']}{cell['seed']}")
        return {"value": random.Random(f"{cell['set']}{cell['seed']}").random()}

    return Experiment(
        name="toy",
        title="Toy",
        datasets=("a", "b"),
        cells=lambda scope: [{"set": name, "seed": seed} for name in "ab" for seed in range(4)],
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


def test_what_is_there_is_not_run_again_and_every_set_comes_first(tmp_path):
    ran = []
    whole = run(experiment_of(ran), Scope(tmp_path), tmp_path)
    assert ran == ["a0", "b0", "a1", "a2", "a3", "b1", "b2", "b3"]
    assert run(experiment_of(ran), Scope(tmp_path), tmp_path) == whole
    assert len(ran) == 8


def test_other_cells_keep_their_order(tmp_path):
    """An experiment lists important cells first."""
    ran = []
    by_seed = [{"set": name, "seed": seed} for seed in range(3) for name in "ab"]
    run(replace(experiment_of(ran), cells=lambda scope: by_seed), Scope(tmp_path), tmp_path)
    assert ran == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_a_scope_has_cells_of_its_own(tmp_path):
    experiment = experiment_of()
    run(experiment, Scope(tmp_path), tmp_path)
    run(experiment, Scope(tmp_path, quick=True), tmp_path)
    assert len(list((tmp_path / ".toy-cells").glob("*.json"))) == 16


@pytest.mark.parametrize("name", names())
def test_a_tiny_version_of_every_reproduction(name, data, tmp_path):
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


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("exact-splits", {"set": "wine", "method": "EXACT with predicted sigma"}),
        ("exact-vision", {"set": "mnist", "optimizer": "ASAM", "loss": "EXACT", "variant": "Table 7", "seed": 1}),
        ("leaky-tabular", {"set": "pima", "method": "LEErr", "seed": 1, "fold": 1}),
        ("east-tabular", {"set": "mammography", "method": "F1*", "seed": 3}),
        ("east-splits", {"set": "mammography", "method": "CE", "split": 1}),
        ("critique", {"set": "trec", "model": "word vectors", "method": "EXACT", "seed": 3}),
        ("beyond", {"paper": "east", "set": "mammography", "method": "EAST for f1, batch 64, batch-size-free", "seed": 1}),
        ("label-noise", {"set": "cifar10", "noise": "symmetric 20 %", "method": "mixup", "seed": 1}),
    ],
)
def test_a_cell_depends_on_nothing_but_itself(name, cell, data):
    experiment, scope = get_experiment(name), Scope(data, quick=True)
    other = next(one for one in experiment.cells(scope) if one != cell)
    first = experiment.run(cell, scope)
    experiment.run(other, scope)
    torch.rand(3)
    assert without_time(experiment.run(cell, scope)) == without_time(first)


def without_time(found):
    rows = found if isinstance(found, list) else [found]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_balance_scale_is_as_published(data):
    """With the full protocol EXACT reaches the 91.60 % of Table 1."""
    rows = load_data("balance-scale", data)
    models = train_seeds(rows, "EXACT", table_8("EXACT", "balance-scale"), steps=STEPS, seeds=[0])
    assert models.accuracy(rows.train[0][None], rows.train[1][None]).item() == pytest.approx(91.6, abs=0.5)


@pytest.mark.parametrize("method", tabular.METHODS)
def test_search_keeps_the_best_on_held_out_rows(method, data):
    """The only draws that help are the ones that it finds by itself: more draws are at least as good on the rows held out."""
    inner = tabular._held_out(load_data("wine", data))
    found = []
    for n_draws in (1, 6):
        if method == "Sklearn":
            found.append(tabular._sklearn(inner, tabular._searched_penalty(load_data("wine", data), n_draws))[1])
        else:
            options = tabular._searched_options(load_data("wine", data), method, n_draws, 50)
            models = train_seeds(inner, method, options, steps=50, seeds=[0])
            found.append(models.accuracy(inner.test[0][None], inner.test[1][None]).item())
    assert found[1] >= found[0]
    (row,) = tabular.run({"set": "wine", "method": method}, Scope(data, quick=True, search=3))
    assert 30.0 < row["test"] <= 100.0


def test_held_out_rows_are_training_rows(data):
    whole = load_data("wine", data)
    inner = tabular._held_out(whole)
    assert [len(y) for _, y in (inner.train, inner.test)] == [114, 28]
    rows = torch.cat([inner.train[0], inner.test[0]])
    assert torch.equal(rows.sort(0).values, whole.train[0].sort(0).values)


def test_a_cell_that_is_no_json_is_run_again(tmp_path):
    experiment = experiment_of()
    whole = run(experiment, Scope(tmp_path), tmp_path)
    next((tmp_path / ".toy-cells").glob("*.json")).write_text("")
    assert run(experiment, Scope(tmp_path), tmp_path) == whole


def test_another_version_has_cells_of_its_own(tmp_path):
    experiment = experiment_of()
    run(experiment, Scope(tmp_path), tmp_path)
    run(replace(experiment, version=2), Scope(tmp_path), tmp_path)
    assert len(list((tmp_path / ".toy-cells2").glob("*.json"))) == 8
