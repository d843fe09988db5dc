"""Predictions: what is copied, what is left out, and what happens to rows that cannot be read."""

import io
import json
import shutil
import sys

import numpy as np
import pytest
from pyarrow import csv

from metricfit.cli import _prediction
from metricfit.data import _raw as reading
from tests.cli.conftest import HEADER, rows
from tests.data.workbook import write_workbook
from tests.estimators.forged import seal

NEW = ["id,age,colour,day", "007,44,red,2024-05-01", "008,20,blue,2024-05-02", "009,70,red,2024-05-03"]


def answers(out):
    """The rows of a CSV text as lists of cells."""
    return [line.replace('"', "").split(",") for line in out.splitlines()]


def test_a_prediction_is_one_column_unless_more_is_asked_for(run, fitted, table):
    new = table(NEW, "new.csv")
    code, out, _ = run("predict", fitted, new)
    assert code == 0
    assert answers(out)[0] == ["prediction"]
    plain = [row[0] for row in answers(out)]
    more = answers(run("predict", fitted, new, "--probabilities")[1])
    assert more[0] == ["prediction", "probability_sick", "probability_well"]
    assert [row[0] for row in more] == plain
    np.testing.assert_allclose([float(row[1]) + float(row[2]) for row in more[1:]], 1.0)


def test_kept_columns_come_first_and_stay_as_written(run, fitted, table):
    new = table(NEW, "new.csv")
    code, out, _ = run("predict", fitted, new, "--keep", "id,colour")
    assert code == 0
    found = answers(out)
    assert found[0] == ["id", "colour", "prediction"]
    assert [row[:2] for row in found[1:]] == [["007", "red"], ["008", "blue"], ["009", "red"]]
    assert run("predict", fitted, new, "--keep", "1", "--keep", "colour", "--keep", "id")[1] == out


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        ("idd", "--keep 'idd' is not a column. Did you mean 'id'? Columns: id, age, colour, day, prediction."),
        ("id,prediction", "--keep 'prediction' has the name of a column of the output. Rename it in the file."),
    ],
)
def test_columns_that_cannot_be_kept(run, fitted, table, keep, message):
    new = table([NEW[0] + ",prediction", *(line + ",x" for line in NEW[1:])], "new.csv")
    assert run("predict", fitted, new, "--keep", keep) == (2, "", f"metricfit: {message}\n")


def test_rows_that_cannot_be_read_keep_their_place(run, fitted, table):
    bad = ["1,old,red,2024-05-01", "2,50", "3,1e300,red,2024-05-01", "4,70,red,2024-05-01", "5,70,red,soon"]
    new = table([NEW[0], *bad], "new.csv")
    code, out, err = run("predict", fitted, new, "--keep", "id", "--probabilities", "--on-error", "skip")
    assert code == 0
    found = answers(out)[1:]
    assert [row[0] for row in found] == ["1", "", "3", "4", "5"]  # what belongs to which column of a short row is not known
    assert [row[1] for row in found] == ["", "", "", "sick", ""]
    assert [row[2] == "" for row in found] == [True, True, True, False, True]
    assert err.splitlines() == [
        "4 rows have no prediction, because they cannot be read:",
        "  row 2, column 'age': 'old' is not a number",
        "  row 3 has 2 cells, expected 4 as in the first row",
        "  row 4, column 'age': 1e+300 is too large (maximum 1e+100)",
        "  row 6, column 'day': 'soon' is not a date",
    ]
    assert "nan" not in (out + err).lower()


def test_only_the_first_ten_bad_rows_are_named(run, fitted, table, monkeypatch):
    monkeypatch.setattr(reading, "CHUNK_BYTES", 100)
    new = table([NEW[0], *(f"{n},old,red,2024-05-01" for n in range(30)), NEW[1]], "new.csv")
    code, _, err = run("predict", fitted, new, "--on-error", "skip", "--out", "p.csv")
    assert code == 0
    lines = err.splitlines()
    assert lines[:2] == ["31 rows: p.csv", "30 rows have no prediction, because they cannot be read; the first 10:"]
    assert len(lines) == 12
    assert csv.read_csv("p.csv").num_rows == 31  # a reader that skips blank lines finds all rows too


def test_an_error_in_the_first_rows_leaves_nothing_on_stdout(run, fitted, table):
    new = table([NEW[0], "1,old,red,2024-05-01"], "new.csv")
    message = f"metricfit: {new}, row 2, column 'age': 'old' is not a number.\n"
    assert run("predict", fitted, new) == (1, "", message)


def test_from_json_excel_and_stdin(run, fitted, table, tmp_path, monkeypatch):
    expected = run("predict", fitted, table(NEW, "new.csv"), "--keep", "colour")[1]
    cells = [line.split(",") for line in NEW]
    sheet = [cells[0], *([row[0], float(row[1]), *row[2:]] for row in cells[1:])]
    book = write_workbook(tmp_path / "new.xlsx", first=sheet, second=[["x"]])
    code, out, err = run("predict", fitted, book, "--keep", "colour")
    assert (code, out, err) == (0, expected, "Sheet 'first' is read, the first of 2.\n")
    objects = table([json.dumps(dict(zip(cells[0], row, strict=True))) for row in sheet[1:]], "new.jsonl")
    assert run("predict", fitted, objects, "--keep", "colour")[:2] == (0, expected)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(NEW).encode())))
    assert run("predict", fitted, "-", "--keep", "colour")[:2] == (0, expected)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"age,colour,day\nold,red,\n")))
    assert run("predict", fitted, "-") == (1, "", "metricfit: stdin, row 2, column 'age': 'old' is not a number.\n")


def test_progress_without_a_terminal_is_a_line_now_and_then(run, fitted, good, monkeypatch):
    monkeypatch.setattr(_prediction, "ROWS_PER_LINE", 50)
    monkeypatch.setattr(reading, "CHUNK_BYTES", 1000)
    code, _, err = run("predict", fitted, good, "--out", "p.csv")
    assert code == 0
    lines = err.splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines] == ["rows predicted.", "rows predicted.", "rows: p.csv"]
    assert 50 <= int(lines[0].split()[0]) < 100 <= int(lines[1].split()[0])


def test_a_model_with_an_unknown_format_is_refused(run, fitted, good, tmp_path):
    shutil.copytree(fitted, tmp_path / "model")
    found = json.loads((tmp_path / "model" / "table.json").read_text())
    found["columns"][0]["format"] = "%s"
    (tmp_path / "model" / "table.json").write_text(json.dumps(found))
    seal(tmp_path / "model")
    message = "metricfit: model/table.json is damaged: columns or target are missing or invalid.\n"
    assert run("predict", "model", good) == (1, "", message)


def test_control_characters_of_a_file_are_not_printed(run, fitted, table):
    new = table([HEADER.replace("age", "\x1b[31mage\u202e"), *rows(30)], "new.csv")
    code, _, err = run("predict", fitted, new)
    assert code == 1
    assert "\x1b" not in err
    new = table([NEW[0], "1,\x1b[2J\u202e,red,2024-05-01", *NEW[1:]], "new.csv")
    code, _, err = run("predict", fitted, new)
    assert code == 1
    assert "'\\x1b[2J\\u202e' is not a number." in err
    code, _, err = run("predict", fitted, new, "--keep", "\x1b]0;title\x07")
    assert code == 2
    assert "\\x1b]0;title\\x07" in err


class TestDataThatMoved:
    """Years since birth became days, and colours got other names."""

    moved = (HEADER, *(f"{1000 * age},{colour},2024-05-01,well" for age in range(40, 60) for colour in ("pink", "rot")))
    notes = (
        "Warning: these rows differ from the training table, so predictions may be poor. Pass --strict to refuse them.",
        "  Column 'age': 40 of 40 numbers (100 %) are outside the training range, ",
        "  Column 'colour': 40 of 40 cells (100 %) have categories without a training row: 'pink', 'rot'.",
    )

    def test_it_is_said_once_with_counts(self, run, fitted, table):
        code, out, err = run("predict", fitted, table(self.moved, "moved.csv"))
        assert (code, len(out.splitlines())) == (0, 41)
        lines = err.splitlines()
        assert [line.startswith(note) for line, note in zip(lines, self.notes, strict=True)] == [True] * 3

    def test_strict_is_an_error_before_anything_is_written(self, run, fitted, table, tmp_path):
        new = table(self.moved, "moved.csv")
        for out in ([], ["--out", tmp_path / "out.csv"]):
            code, printed, err = run("predict", fitted, new, "--strict", *out)
            assert (code, printed) == (1, "")
            assert err.startswith(
                f"metricfit: {new} differs from the training table, and --strict is given. Column 'age': 40 of"
            )
        assert not (tmp_path / "out.csv").exists()

    def test_ordinary_rows_are_predicted_without_a_word(self, run, fitted, table):
        new = table([HEADER, *rows(200, seed=9)], "new.csv")
        for strict in ([], ["--strict"]):
            code, _, err = run("predict", fitted, new, *strict)
            assert (code, err) == (0, "")

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_many_files_get_one_summary(self, run, fitted, table, tmp_path, jobs):
        files = [table(self.moved, f"part{place}.csv") for place in range(3)]
        code, _, err = run("predict", fitted, *files, "--out", tmp_path / "out", "--jobs", jobs)
        assert code == 0
        assert err.count("Warning: these rows differ from the training table") == 1
        assert "Column 'colour': 120 of 120 cells (100 %)" in err

    def test_rows_in_blocks_are_counted_together(self, run, fitted, table, monkeypatch):
        monkeypatch.setattr(reading, "CHUNK_BYTES", 200)
        err = run("predict", fitted, table(self.moved, "moved.csv"))[2]
        assert err.count("Column 'colour'") == 1
        assert "40 of 40 cells" in err

    def test_stdin(self, run, fitted, monkeypatch):
        text = "\n".join(self.moved) + "\n"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        code, out, err = run("predict", fitted, "-", "--strict")
        assert (code, out) == (1, "")
        assert err.startswith("metricfit: stdin differs from the training table")

    def test_a_model_that_was_saved_without_ranges(self, run, fitted, table, tmp_path):
        shutil.copytree(fitted, tmp_path / "model")
        found = json.loads((tmp_path / "model" / "table.json").read_text())
        for column in found["columns"]:
            del column["seen"]
        (tmp_path / "model" / "table.json").write_text(json.dumps(found))
        seal(tmp_path / "model")
        code, _, err = run("predict", tmp_path / "model", table(self.moved, "moved.csv"))
        assert (code, err) == (0, "")


@pytest.mark.parametrize("suffix", ["arff", "data"])
def test_the_same_predictions_from_arff_and_aligned_columns(run, fitted, table, good, suffix):
    """``fit``, ``compare`` and ``predict`` read tables in the same way."""
    lines = rows(30)
    if suffix == "arff":
        head = ["@relation r", "@attribute age real", "@attribute colour {red,green,blue}", "@attribute day date yyyy-MM-dd"]
        other = [*head, "@attribute state {sick,well}", "@data", *lines]
    else:
        other = [line.replace(",", "    ") for line in (HEADER, *lines)]
    expected = run("predict", fitted, table([HEADER, *lines], "new.csv"))[1]
    code, out, _ = run("predict", fitted, table(other, f"new.{suffix}"))
    assert (code, out) == (0, expected)
