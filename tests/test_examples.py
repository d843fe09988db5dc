"""The demo and the reproductions run, small, and say what they should."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run(*arguments):
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_demo(tmp_path):
    lines = run("examples/toy.py", "--out", tmp_path).splitlines()
    rows = {
        (cells[0], cells[1]): cells[2:] for cells in ([c.strip() for c in line.split("|")[1:-1]] for line in lines) if cells
    }
    assert abs(float(rows["toy 1", "EXACT"][1]) - 0.125) < 0.005
    assert abs(float(rows["toy 1", "cross-entropy"][1]) - 0.7) < 0.005
    assert 0.75 <= float(rows["toy 1", "hinge"][1]) <= 1
    for loss in ("cross-entropy", "hinge"):
        assert 0 < float(rows["toy 1, free weight", loss][1]) < 0.25
    assert -6 < float(rows["toy 2", "EXACT"][1]) < -5
    assert rows["toy 2", "EXACT"][3] == "80 %"
    for name in ("fig1", "fig3", "fig4", "fig10"):
        assert (tmp_path / f"{name}.png").stat().st_size > 5000


def test_decisions_by_the_scores_of_another_model():
    out = run("examples/other_model.py")
    assert "it is >= 0.8 in the population that they came from" in out
    plain, rule = ([float(cell.rstrip("%")) for cell in line.split()[-3:]] for line in out.splitlines()[-2:])
    assert rule[1] > plain[1] + 0.1
    assert rule[2] >= 80  # per cent of draws, of finite test sets


def test_fraud_in_money_prints_what_the_page_shows():
    out = run("examples/fraud_money.py")
    assert f"```text\n{out}```" in (ROOT / "docs" / "guide" / "actions.md").read_text()
