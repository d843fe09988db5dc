"""``--cost``: by names, as text or as a file."""

import numpy as np
import pytest

from metricfit._errors import DataError, UsageError
from metricfit.cli._metric import parse_cost

TWO = np.array(["bad", "good"])
THREE = np.array([1, 2, 3])


def matrix(given, classes=TWO):
    return parse_cost(str(given), classes).for_classes(classes.tolist()).matrix


@pytest.mark.parametrize("given", ["bad,good=5; good,bad=1", " good , bad = 1 ;bad,good=5.0;", "BAD,good=5;good,bad=1"])
def test_pairs(given):
    assert matrix(given) == ((0.0, 5.0), (1.0, 0.0))


def test_otherwise_is_for_all_other_pairs():
    assert matrix("3,1=9; otherwise=2", THREE) == ((0.0, 2.0, 2.0), (2.0, 0.0, 2.0), (9.0, 2.0, 0.0))


@pytest.mark.parametrize(
    "text",
    [
        ",good,bad\ngood,0,1\nbad,5,0\n",
        "true,bad,good\nbad,0,5\ngood,1,0\n",
        "true,predicted,cost\ngood,bad,1\nbad,good,5\n",
        "\ufeffTrue,Predicted,Cost\ngood,bad,1\nbad,good,5\n",
    ],
    ids=["wide", "another order", "long", "byte order mark"],
)
def test_files(text, tmp_path):
    file = tmp_path / "costs.csv"
    file.write_text(text, encoding="utf-8")
    assert matrix(file) == ((0.0, 5.0), (1.0, 0.0))


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ("bad,good=5", UsageError, r"no cost for predicting 'bad' where the truth is 'good'.*otherwise="),
        ("bad,god=5; good,bad=1", UsageError, "Did you mean 'good'"),
        ("bad,good=much; good,bad=1", DataError, "should be a number, got 'much'"),
        ("bad,good=amount; good,bad=1", DataError, r"got 'amount'\. Costs that differ from row to row.* `metricfit decide`"),
        ("bad,good=inf; good,bad=1", DataError, r"should be a number, got 'inf'\.$"),
        ("bad=5", UsageError, "should have parts such as"),
        ("bad,good=5; bad,good=6", DataError, "has two costs"),
        ("missing.csv", UsageError, "neither a file nor a list of costs"),
        ("otherwise=1", UsageError, "names no pair"),
    ],
)
def test_what_is_no_list_of_costs(given, error, match):
    with pytest.raises(error, match=match):
        parse_cost(given, TWO)


@pytest.mark.parametrize(
    ("text", "match"),
    [("", "a header and a row"), (",good,bad\ngood,0\n", "line 2 has 2 cells"), (",good,bad\ngood,0,x\nbad,5,0\n", "got 'x'")],
)
def test_a_file_that_is_no_table_of_costs(text, match, tmp_path):
    file = tmp_path / "costs.csv"
    file.write_text(text)
    with pytest.raises(DataError, match=match):
        parse_cost(str(file), TWO)
