"""What ``compare`` and ``fit`` read and decide, without training anything."""

import io
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metricfit._errors import DataError, UsageError
from metricfit.cli._demo import QUESTIONS
from metricfit.cli._inputs import Asked, read_inputs
from metricfit.metrics import Cost

LEVELS = ["low", "medium", "high", "very high"]


def frame(n=120, seed=0):
    random = np.random.default_rng(seed)
    numbers = random.normal(size=(n, 2))
    levels = np.array(LEVELS)[np.digitize(numbers[:, 0], [-1, 0, 1])]
    return pd.DataFrame({"a": numbers[:, 0] + random.normal(size=n), "b": numbers[:, 1], "level": levels})


@pytest.fixture
def levels(tmp_path):
    path = tmp_path / "levels.csv"
    frame().to_csv(path, index=False)
    return path


@pytest.fixture
def loans(tmp_path):
    """Four of five are good; with a customer of three rows, and a day."""
    table = frame()
    table["level"] = np.where(np.arange(120) % 5 == 0, "bad", "good")
    table.insert(0, "customer", [f"c{row // 3}" for row in range(120)])
    table.insert(1, "day", pd.date_range("2024-01-01", periods=120).astype(str))
    path = tmp_path / "loans.csv"
    table.to_csv(path, index=False)
    return path


def read(path, **options):
    return read_inputs(Asked(path, **options))


class TestOrder:
    def test_names_without_an_order_are_refused_with_the_option(self, levels):
        with pytest.raises(UsageError, match=r"needs the order of the classes.*Pass --classes 'high,low,medium,very high'"):
            read(levels, metric="quadratic_kappa")

    def test_it_is_given(self, levels, capsys):
        found = read(levels, metric="quadratic_kappa", classes="low, medium,HIGH,very high")
        assert found.judged.class_order == LEVELS
        assert "The order of the classes is low < medium < high < very high." in capsys.readouterr().err

    def test_ordered_categories_of_a_file_are_used(self, tmp_path, capsys):
        table = frame()
        table["level"] = pd.Categorical(table["level"], categories=LEVELS, ordered=True)
        table.to_parquet(tmp_path / "levels.parquet")
        assert read(tmp_path / "levels.parquet", metric="quadratic_kappa").judged.class_order == LEVELS
        assert "low < medium < high < very high" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("given", "match"),
        [
            ("low,medium,high", "'very high' is missing"),
            ("low,low,medium,high,very high", "twice"),
            ("lo,b", "is not a class"),
        ],
    )
    def test_a_wrong_order(self, levels, given, match):
        with pytest.raises(UsageError, match=match):
            read(levels, metric="quadratic_kappa", classes=given)

    def test_numbers_have_one_and_it_is_said(self, tmp_path, capsys):
        table = frame()
        table["level"] = table["level"].map(LEVELS.index)
        table.to_csv(tmp_path / "t.csv", index=False)
        assert read(tmp_path / "t.csv", metric="quadratic_kappa").judged.class_order is None
        assert "The order of the classes is 0 < 1 < 2 < 3." in capsys.readouterr().err


class TestPositiveClass:
    def test_the_rarer_one_and_it_is_said(self, loans, capsys):
        assert read(loans).judged.pos_label == "bad"
        assert "The positive class for f1 is 'bad', the rarer one. Pass --positive to change this." in capsys.readouterr().err

    def test_the_given_one(self, loans, capsys):
        assert read(loans, positive="Good").judged.pos_label == "good"
        assert "The positive class for f1 is 'good'.\n" in capsys.readouterr().err

    def test_the_last_of_a_given_order(self, loans):
        assert read(loans, classes="bad,good").judged.pos_label == "good"

    def test_numbers_too(self, tmp_path):
        table = frame()
        table["level"] = (np.arange(120) % 5 != 0).astype(int)
        table.to_csv(tmp_path / "t.csv", index=False)
        assert read(tmp_path / "t.csv").judged.pos_label == 0

    def test_it_does_not_apply_to_many_classes(self, levels):
        with pytest.raises(UsageError, match="does not apply to f1_macro with 4 classes"):
            read(levels, positive="low")


class TestCosts:
    def test_by_names(self, loans, capsys):
        found = read(loans, cost="bad,good=5; good,bad=1").judged
        assert found.metric == Cost({("bad", "good"): 5.0, ("good", "bad"): 1.0})
        assert (found.pos_label, found.class_order) == (None, None)
        assert "Costs (true class, predicted class): bad, good = 5; good, bad = 1." in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("options", "match"),
        [({"metric": "f1"}, "--cost or --metric, not both"), ({"positive": "bad"}, "--positive does not apply to --cost")],
    )
    def test_what_does_not_go_with_them(self, loans, options, match):
        with pytest.raises(UsageError, match=match):
            read(loans, cost="bad,good=5; good,bad=1", **options)


class TestHeldOutRows:
    def test_groups_are_no_feature(self, loans, capsys):
        found = read(loans, group="customer")
        assert found.groups.tolist()[:4] == ["c0", "c0", "c0", "c1"]
        assert found.table.features.column_names == ["day", "a", "b"] == [column.name for column in found.schema.columns]
        assert "Column 'customer' groups the rows and is not used as a feature." in capsys.readouterr().err
        assert {one.name: one.use for one in found.profile.columns}["customer"] == "groups the rows, --group"

    def test_time_is_no_feature_and_numbers_count_all_columns(self, loans):
        found = read(loans, time="2", drop=["customer"])
        assert found.time[0] < found.time[1]
        assert "day" not in found.table.features.column_names

    def test_a_test_file_has_the_types_of_the_table(self, loans, tmp_path):
        test = pd.read_csv(loans).head(20)
        test.loc[3, "level"] = np.nan
        test[["level", "b", "a", "day", "customer"]].to_csv(tmp_path / "test.csv", index=False)
        features, labels = read(loans, test=tmp_path / "test.csv").test
        assert features.column_names == ["customer", "day", "a", "b"]
        assert (features.num_rows, len(labels), set(labels)) == (19, 19, {"good", "bad"})

    @pytest.mark.parametrize(
        ("options", "error", "match"),
        [
            ({"group": "customer", "time": "day"}, UsageError, "--group and --time exclude each other"),
            ({"time": "customer"}, DataError, "should hold dates or numbers, got text such as 'c0'"),
            ({"group": "custmer"}, UsageError, "Did you mean 'customer'"),
            ({"group": "level"}, UsageError, "'level' is the target or is dropped"),
            ({"time": "2", "drop": ["day"]}, UsageError, "'day' is the target or is dropped"),
        ],
    )
    def test_mistakes(self, loans, options, error, match):
        with pytest.raises(error, match=match):
            read(loans, **options)

    def test_gaps_in_the_groups(self, loans):
        table = pd.read_csv(loans)
        table.loc[5, "customer"] = np.nan
        table.to_csv(loans, index=False)
        with pytest.raises(DataError, match="--group 'customer' has 1 rows without a value"):
            read(loans, group="customer")


class TestColumns:
    def test_several_in_one_option_by_name_or_number(self, loans):
        found = read(loans, drop=["customer,2"])
        assert found.table.features.column_names == ["a", "b"]
        uses = {one.name: one.use for one in found.profile.columns}
        assert (uses["customer"], uses["day"]) == ("dropped by --drop", "dropped by --drop")

    def test_repeated_names_can_be_dropped_by_number(self, tmp_path, capsys):
        (tmp_path / "twice.csv").write_text("a,b,b,state\n" + "1,2,3,x\n2,3,4,y\n" * 30)
        assert read(tmp_path / "twice.csv", drop=["3"]).table.features.column_names == ["a", "b"]
        assert "several columns named 'b'" in capsys.readouterr().err

    def test_types_can_be_told(self, loans):
        kinds = {one.name: one.type for one in read(loans, categorical=["a"], numeric=["b"]).schema.columns}
        assert (kinds["a"], kinds["b"]) == ("string", "number")

    def test_the_target_is_none_of_them(self, loans):
        with pytest.raises(UsageError, match="--numeric 'level' is the target"):
            read(loans, numeric=["level"])

    def test_what_may_mislead_is_said(self, loans, capsys):
        table = pd.read_csv(loans)
        table.insert(0, "score", np.where(table["level"] == "bad", 0.9, 0.1))
        table.to_csv(loans, index=False)
        assert any("'score'" in line for line in read(loans).profile.warnings)
        assert "Warning: Column 'score'" in capsys.readouterr().err


def test_rare_classes_are_merged(levels, capsys):
    table = pd.read_csv(levels)
    table.loc[0, "level"] = "odd"
    table.to_csv(levels, index=False)
    with pytest.raises(DataError, match=r"class 'odd' has one row.*--merge-rare"):
        read(levels)
    found = read(levels, merge_rare=30)
    assert "other" in found.table.labels.tolist()
    assert "'odd'" in capsys.readouterr().err


def test_stdin(loans, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(loans.read_bytes())))
    assert read(Path("-")).name == "stdin"


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.data)
def test_the_data_of_the_demo_can_be_read(question):
    path = Path(str(files("metricfit.cli") / "examples" / question.data))
    found = read(path, metric=question.command["metric"])
    assert found.table.features.num_rows in (1728, 699)
    assert question.data in (path.parent / "README.md").read_text()
