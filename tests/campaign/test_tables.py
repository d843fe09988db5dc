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


def test_a_table_has_every_kind_of_column_and_is_damaged_in_at_least_twenty_ways():
    random = np.random.default_rng(0)
    table = draw_table(random)
    files = [damage(random, table) for damage in DAMAGES]
    assert len(DAMAGES) >= 20
    assert len({file.content for file in files}) == len(DAMAGES)
    assert count_rows(as_csv(table)) == len(table.rows)


def test_all_damages_are_tried():
    made = [value for name, value in vars(_damage).items() if inspect.isfunction(value) and not name.startswith("_")]
    helpers = {"draw_table", "as_csv", "as_parquet", "as_json_lines", "count_rows", "dataclass", "replace"}
    assert {one.__name__ for one in made} - helpers == {one.__name__ for one in DAMAGES}


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


def test_lost_rows_are_noticed():
    assert tables._check_rows(FINE, File("table.csv", b"", 60)) is None
    assert tables._check_rows(FINE, File("table.csv", b"", None)) is None
    assert tables._check_rows(FINE, File("table.csv", b"", 61))[0] is Outcome.LOST
    dropped = CommandResult(0, "", FINE.err + "1 rows without a value in 'state' are dropped.\n")
    assert tables._check_rows(dropped, File("table.csv", b"", 61)) is None


@pytest.mark.parametrize(
    ("text", "n_rows", "outcome"),
    [
        ("prediction,probability_a,probability_b\na,0.25,0.75\nb,0.5,0.5\n", 2, None),
        ("prediction,probability_a,probability_b\na,0.25,0.75\n", 2, Outcome.LOST),
        ("prediction,probability_a,probability_b\nc,0.25,0.75\n", 1, Outcome.WRONG),
        ("prediction,probability_a,probability_b\na,nan,nan\n", 1, Outcome.WRONG),
        ("prediction,probability_a,probability_b\na,0.25,0.25\n", 1, Outcome.WRONG),
    ],
)
def test_predictions_are_checked(tmp_path, text, n_rows, outcome):
    (tmp_path / "model.json").write_text('{"classes": {"values": ["a", "b"]}}')
    (tmp_path / "out.csv").write_text(text)
    found = tables._check_predictions(tmp_path, tmp_path / "out.csv", n_rows)
    assert (found and found[0]) == outcome


def test_a_comparison_without_numbers_is_noticed():
    wrong = CommandResult(0, '{"results": [{"mean": NaN}]}', "")
    assert tables._check_compare(wrong, File("table.csv", b"", None))[0] is Outcome.WRONG


def test_a_worker_ends_what_takes_too_long(tmp_path, monkeypatch):
    with CommandWorker(time_limit=0.0) as worker:
        assert worker.run(["metrics"], tmp_path).code is None
