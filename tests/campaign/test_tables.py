"""The campaign on damaged tables runs, and would notice what it looks for."""

import inspect

import numpy as np
import pytest

from campaign import _damage, tables
from campaign._damage import DAMAGES, File, as_csv, count_rows, draw_table
from campaign._tally import Outcome
from campaign._worker import CommandResult, CommandWorker

FINE = CommandResult(0, "", "table.csv: 60 rows, 5 columns (5 number); classes in 'state': a 30, b 30.\n")


def test_three_tables(tmp_path):
    tally = tables.run(np.random.default_rng(0), 3, tmp_path)
    assert tally.n_tried == 3
    assert tally.failures == []


def test_every_damage_is_tried_and_makes_another_file():
    random = np.random.default_rng(0)
    table = draw_table(random)
    assert len({damage(random, table).content for damage in DAMAGES}) == len(DAMAGES)
    assert count_rows(as_csv(table)) == len(table.rows)
    functions = [one for name, one in vars(_damage).items() if inspect.isfunction(one) and name[0] != "_"]
    assert {one for one in functions if inspect.get_annotations(one).get("return") == "File"} == set(DAMAGES)


@pytest.mark.parametrize(
    ("ended", "outcome"),
    [
        (CommandResult(1, "", "metricfit: table.csv is empty.\n"), None),
        (CommandResult(None, "", "took too long"), Outcome.TRACEBACK),
        (CommandResult(1, "", "Traceback (most recent call last):\nValueError: no\n"), Outcome.TRACEBACK),
        (CommandResult(1, "", ""), Outcome.TRACEBACK),
        (CommandResult(130, "", "metricfit: Interrupted.\n"), Outcome.TRACEBACK),
        (CommandResult(1, "half", "metricfit: table.csv is empty.\n"), Outcome.WRONG),
        (CommandResult(1, "", "metricfit: \x1b[31m is no class.\n"), Outcome.WRONG),
    ],
)
def test_how_a_command_ends(tmp_path, ended, outcome):
    found = tables.judge(ended, lambda _: None, tmp_path, set())
    assert (found and found[0]) == outcome


def test_files_that_are_left_are_noticed(tmp_path):
    (tmp_path / ".r.csv-123").touch()
    assert tables.judge(FINE, lambda _: None, tmp_path, set())[0] is Outcome.WRONG
    (tmp_path / ".r.csv-123").rename(tmp_path / "r.csv")
    assert tables.judge(FINE, lambda _: None, tmp_path, set()) is None
    assert tables.judge(CommandResult(1, "", "metricfit: no.\n"), lambda _: None, tmp_path, set())[0] is Outcome.WRONG


def test_lost_rows_and_comparisons_without_numbers_are_noticed():
    assert tables._check_rows(FINE, File("table.csv", b"", 60)) is None
    assert tables._check_rows(FINE, File("table.csv", b"", 61))[0] is Outcome.LOST
    dropped = CommandResult(0, "", FINE.err + "1 rows without a value in 'state' are dropped.\n")
    assert tables._check_rows(dropped, File("table.csv", b"", 61)) is None
    wrong = CommandResult(0, '{"results": [{"mean": NaN}]}', "")
    assert tables._check_compare(wrong, File("table.csv", b"", None))[0] is Outcome.WRONG


@pytest.mark.parametrize(
    ("row", "n_rows", "outcome"),
    [
        ("a,0.25,0.75", 1, None),
        ("a,0.25,0.75", 2, Outcome.LOST),
        ("c,0.25,0.75", 1, Outcome.WRONG),
        ("a,nan,nan", 1, Outcome.WRONG),
        ("a,0.25,0.25", 1, Outcome.WRONG),
    ],
)
def test_predictions_are_checked(tmp_path, row, n_rows, outcome):
    (tmp_path / "model.json").write_text('{"classes": {"values": ["a", "b"]}}')
    (tmp_path / "out.csv").write_text(f"prediction,probability_a,probability_b\n{row}\n")
    found = tables._check_predictions(tmp_path, tmp_path / "out.csv", n_rows)
    assert (found and found[0]) == outcome


def test_a_worker_ends_what_takes_too_long(tmp_path):
    with CommandWorker(time_limit=0.0) as worker:
        assert worker.run(["metrics"], tmp_path).code is None
