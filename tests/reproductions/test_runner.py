"""Killed and started again, a run ends in the same bytes."""

import math
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from metricfit.reproductions import Experiment, Scope, names, of_name, run
from metricfit.reproductions._runner import kept


def slow_experiment():
    """Cells that need a while each, so that it shows whether they are run."""
    return Experiment(
        name="slow",
        title="Slow",
        datasets=("a", "b"),
        cells=lambda scope: [{"set": name, "seed": seed} for name in "ab" for seed in range(4)],
        run=slow_cell,
        summary=lambda found: f"{sum(numbers['value'] for _, numbers in found):.6f}\n",
    )


def slow_cell(cell, scope):
    time.sleep(0.4)
    return {"value": random.Random(f"{cell['set']}{cell['seed']}").random()}


COMMAND = """
from pathlib import Path
from metricfit.reproductions import Scope, of_name, run
run(of_name("exact-ablation"), Scope(Path({data!r}), quick=True), Path({out!r}))
"""


def test_killed_three_times_and_resumed(data, tmp_path):
    """A real reproduction, of sixteen cells."""
    experiment, scope = of_name("exact-ablation"), Scope(data, quick=True)
    whole = run(experiment, scope, tmp_path / "whole")
    moments = random.Random(0)
    folder = tmp_path / "killed" / ".exact-ablation-cells"
    for _ in range(3):
        code = COMMAND.format(data=str(data), out=str(tmp_path / "killed"))
        process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stderr=subprocess.DEVNULL)
        before = len(list(folder.glob("*.json")))
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None and len(list(folder.glob("*.json"))) <= before:
            time.sleep(0.01)
        time.sleep(moments.uniform(0.0, 0.3))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert 3 <= len(list(folder.glob("*.json"))) < 16  # killed in its midst, and something was won each time
    assert run(experiment, scope, tmp_path / "killed") == whole
    for name in ("exact-ablation.csv", "exact-ablation.md"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_what_is_there_is_not_run_again(tmp_path):
    experiment = slow_experiment()
    run(experiment, Scope(tmp_path), tmp_path)
    start = time.monotonic()
    run(experiment, Scope(tmp_path), tmp_path)
    assert time.monotonic() - start < 1.0  # eight cells of 0.4 s


def test_a_scope_has_cells_of_its_own(tmp_path):
    experiment = slow_experiment()
    run(experiment, Scope(tmp_path), tmp_path)
    run(experiment, Scope(tmp_path, quick=True), tmp_path)
    assert len(list((tmp_path / ".slow-cells").glob("*.json"))) == 16


@pytest.mark.parametrize("name", names())
def test_a_tiny_version_of_every_reproduction(name, data, tmp_path):
    experiment = of_name(name)
    small = tuple(known for known in ("wine", "balance-scale") if known in experiment.datasets)
    scope = Scope(data, quick=True, datasets=small)
    text = run(experiment, scope, tmp_path)
    assert text.startswith(f"# {experiment.title}\n")
    assert "nan" not in text
    found = kept(experiment, tmp_path / f"{name}.csv")
    ran = [tuple(cell.values()) for cell, _ in found]
    assert list(dict.fromkeys(ran)) == [tuple(cell.values()) for cell in experiment.cells(scope)]
    assert all(math.isfinite(value) for _, numbers in found for value in numbers.values())
    assert experiment.figure is None or (tmp_path / f"{name}.svg").read_text().startswith("<?xml")


def test_balance_scale_is_as_published(data, tmp_path):
    """With the full protocol EXACT reaches the 91.60 % of Table 1."""
    experiment = of_name("exact-tabular")
    found = experiment.run({"set": "balance-scale", "method": "EXACT", "seed": 0}, Scope(data))
    assert found["train"] == pytest.approx(91.6, abs=0.5)


def test_search_draws_and_keeps_the_best(data, tmp_path):
    found = of_name("exact-tabular").run({"set": "wine", "method": "Hinge", "seed": 0}, Scope(data, quick=True, search=3))
    assert found["test"] > 85.0
