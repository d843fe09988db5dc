"""What ``compare`` and ``fit`` read and decide, without training anything."""

import io
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metricfit._errors import DataError, UsageError
from metricfit.cli._compare import CompareOptions
from metricfit.cli._demo import QUESTIONS
from metricfit.cli._inputs import read_inputs
from metricfit.metrics import Cost, resolve_metric

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


def read(data, **options):
    return read_inputs(data, CompareOptions(data=data, **options))


class TestOrder:
    def test_names_without_an_order_are_refused_with_the_option(self, levels):
        with pytest.raises(UsageError, match=r"needs the order of the classes.*Pass --classes 'high,low,medium,very high'"):
            read(levels, metric="quadratic_kappa")

    def test_it_is_given(self, levels, capsys):
        found = read(levels, metric="quadratic_kappa", classes="low, medium,HIGH,very high")
        assert found.choice.class_order == LEVELS
        assert "The order of the classes is low < medium < high < very high." in capsys.readouterr().err

    def test_ordered_categories_of_a_file_are_used(self, tmp_path, capsys):
        table = frame()
        table["level"] = pd.Categorical(table["level"], categories=LEVELS, ordered=True)
        table.to_parquet(tmp_path / "levels.parquet")
        assert read(tmp_path / "levels.parquet", metric="quadratic_kappa").choice.class_order == LEVELS
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
        assert read(tmp_path / "t.csv", metric="quadratic_kappa").choice.class_order is None
        assert "The order of the classes is 0 < 1 < 2 < 3." in capsys.readouterr().err


class TestPositiveClass:
    def test_the_rarer_one_and_it_is_said(self, loans, capsys):
        assert read(loans).choice.pos_label == "bad"
        assert "The positive class for f1 is 'bad', the rarer one. Pass --positive to change this." in capsys.readouterr().err

    def test_the_given_one(self, loans, capsys):
        assert read(loans, positive="Good").choice.pos_label == "good"
        assert "The positive class for f1 is 'good'.\n" in capsys.readouterr().err

    def test_the_last_of_a_given_order(self, loans):
        assert read(loans, classes="bad,good").choice.pos_label == "good"

    @pytest.mark.parametrize("dtype", [int, float])
    def test_the_larger_of_two_numbers_as_in_python(self, tmp_path, dtype, capsys):
        table = frame()
        table["level"] = (np.arange(120) % 5 != 0).astype(dtype)
        table.to_csv(tmp_path / "t.csv", index=False)
        table.to_parquet(tmp_path / "t.parquet")
        for name in ("t.csv", "t.parquet"):
            found = read(tmp_path / name).choice.pos_label
            assert found == 1
            assert isinstance(found, int)
            assert "The positive class for f1 is 1, the larger number." in capsys.readouterr().err
        assert resolve_metric("f1", None, None, np.array([0, 1]), None, np.array([24, 96])).positive == 1

    def test_it_does_not_apply_to_many_classes(self, levels):
        with pytest.raises(UsageError, match="does not apply to f1_macro with 4 classes"):
            read(levels, positive="low")


class TestCosts:
    def test_by_names(self, loans, capsys):
        found = read(loans, cost="bad,good=5; good,bad=1").choice
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
        features, labels = read(loans, test=tmp_path / "test.csv", keep_shared=True).test
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


class TestRowsOfTheTrainingFile:
    """``--test`` with rows that models were trained on."""

    def files(self, tmp_path, n_old, n_new, other_label=0):
        train, new = frame(200, seed=1), frame(n_new, seed=2) if n_new else frame(1)[:0]
        old = train.head(n_old).copy()
        old.loc[: other_label - 1, "level"] = [LEVELS[LEVELS.index(level) - 1] for level in old["level"][:other_label]]
        train.to_csv(tmp_path / "train.csv", index=False)
        pd.concat([old, new]).to_csv(tmp_path / "new.csv", index=False)
        return {"data": tmp_path / "train.csv", "test": tmp_path / "new.csv"}

    def test_shared_rows_are_counted_and_left_out(self, tmp_path, capsys):
        found = read(**self.files(tmp_path, 30, 50, other_label=2))
        assert found.test[0].num_rows == len(found.test[1]) == 52
        warning = (
            "28 of 80 rows of new.csv are rows of the training file, with the same label. They are left out: scores are those "
            "of the other 52 rows. Pass --keep-shared to judge them, too. 2 more have the features of such a row and another label."
        )
        assert found.profile.warnings[-1] == warning  # and so in the report and in --json
        assert f"Warning: {warning}" in capsys.readouterr().err

    def test_they_can_be_kept(self, tmp_path):
        found = read(**self.files(tmp_path, 30, 50), keep_shared=True)
        assert found.test[0].num_rows == 80
        assert "They are judged because of --keep-shared, so scores are too good." in found.profile.warnings[-1]

    def test_nothing_is_left_to_judge_by(self, tmp_path):
        with pytest.raises(DataError, match=r"All 30 rows of .*new.csv are rows of the training file.* leave out --test"):
            read(**self.files(tmp_path, 30, 0))

    def test_nothing_is_said_about_other_rows(self, tmp_path):
        assert not read(**self.files(tmp_path, 0, 50)).profile.warnings

    def test_columns_of_few_values_share_rows_by_chance(self, tmp_path, capsys):
        random = np.random.default_rng(0)
        for name in ("train", "new"):
            cells = random.integers(0, 4, (300, 3))
            few = pd.DataFrame(cells, columns=list("abc")).assign(y=np.where(cells.sum(1) > 4, "yes", "no"))
            few.to_csv(tmp_path / f"{name}.csv", index=False)
        found = read(data=tmp_path / "train.csv", test=tmp_path / "new.csv")
        assert found.test[0].num_rows == 300
        assert "rows equal a training row, as often as training rows repeat. They are judged." in capsys.readouterr().err

    def test_an_id_does_not_hide_them(self, tmp_path):
        files = self.files(tmp_path, 30, 50)
        for path, first in ((files["data"], 0), (files["test"], 1000)):
            table = pd.read_csv(path)
            table.insert(0, "id", np.arange(first, first + len(table)))
            table.to_csv(path, index=False)
        assert read(**files).test[0].num_rows == 50


class TestDeadEnds:
    """What is known from the counts is said before anything is trained."""

    def with_rare(self, path, n_rows, label="odd"):
        table = pd.read_csv(path)
        table.loc[: n_rows - 1, "level"] = label
        table.to_csv(path, index=False)
        return path

    def test_a_class_of_two_rows(self, levels):
        with pytest.raises(DataError) as caught:
            read(self.with_rare(levels, 2))
        assert str(caught.value) == (
            "Class 'odd' has 2 rows, which allow 2 folds and 4 scores with --repeats 2; a verdict needs 5. Pass --drop-rare 3 to "
            "leave the rows of rare classes out, --merge-rare 3 to join them with others, or --repeats 3."
        )

    @pytest.mark.parametrize("cure", [{"merge_rare": 3}, {"drop_rare": 3}, {"repeats": 3}, {"folds": 2, "repeats": 2}])
    def test_what_it_says_helps(self, levels, cure):
        assert read(self.with_rare(levels, 2), **cure).table.features.num_rows in (118, 120)

    def test_one_row_can_be_dropped(self, levels):
        assert len(read(self.with_rare(levels, 1), drop_rare=2).table.labels) == 119

    def test_merging_and_dropping_exclude_each_other(self, levels):
        with pytest.raises(UsageError, match="--merge-rare and --drop-rare exclude each other"):
            read(levels, merge_rare=3, drop_rare=3)

    @pytest.mark.parametrize("names", [None, "1,2,3,4,9"])
    def test_merged_classes_keep_their_order(self, tmp_path, names):
        table = frame()
        table["level"] = [LEVELS.index(level) + 1 for level in table["level"]]
        table.loc[:2, "level"] = 9
        table.to_csv(tmp_path / "grades.csv", index=False)
        found = read(tmp_path / "grades.csv", metric="quadratic_kappa", merge_rare=10, classes=names)
        assert sorted(set(found.table.labels.tolist())) == [1, 2, 3, 4]
        assert "The order of the classes is 1 < 2 < 3 < 4." in found.choice.notes

    def test_names_need_an_order_before_they_are_merged(self, levels):
        with pytest.raises(UsageError, match=r"quadratic_kappa needs the order of the classes.*--classes"):
            read(self.with_rare(levels, 2), metric="quadratic_kappa", merge_rare=3)

    def test_the_test_file_has_the_merged_and_dropped_classes(self, levels, tmp_path):
        self.with_rare(levels, 2)
        new = frame(60, seed=5)
        new.loc[:3, "level"] = "odd"
        new.to_csv(tmp_path / "new.csv", index=False)
        merged = read(levels, merge_rare=3, test=tmp_path / "new.csv")
        assert set(merged.test[1].tolist()) <= set(merged.table.labels.tolist())
        assert len(read(levels, drop_rare=3, test=tmp_path / "new.csv").test[1]) == 56

    def test_a_class_in_one_group(self, loans):
        self.with_rare(loans, 3)  # the rows of one customer
        with pytest.raises(DataError, match=r"Class 'odd' \(3 rows\) occurs in one value of --group only.*--merge-rare 4"):
            read(loans, group="customer")

    def test_few_groups(self, loans):
        table = pd.read_csv(loans)
        table["customer"] = np.where(np.arange(120) % 2, "a", "b")
        table.to_csv(loans, index=False)
        with pytest.raises(DataError, match=r"--group has 2 values, which allow 2 folds; .* Pass --repeats 3"):
            read(loans, group="customer")

    def test_a_class_that_comes_late(self, loans):
        table = pd.read_csv(loans)
        table["level"] = np.where(np.arange(120) > 90, "bad", "good")
        table.to_csv(loans, index=False)
        with pytest.raises(DataError, match="Class 'bad' is missing from the training rows of split 1"):
            read(loans, time="day")


def test_stdin(loans, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(loans.read_bytes())))
    assert read(Path("-")).name == "stdin"


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.data)
def test_the_data_of_the_demo_can_be_read(question):
    path = Path(str(files("metricfit.cli") / "examples" / question.data))
    found = read(path, metric=question.command["metric"])
    assert found.table.features.num_rows in (1728, 699)
    assert question.data in (path.parent / "README.md").read_text()
