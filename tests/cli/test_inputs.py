"""What ``compare`` and ``fit`` read and decide, without training anything."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metricfit._errors import DataError, UsageError
from metricfit.cli._inputs import check_options, read_inputs
from metricfit.cli._main import QUESTIONS
from metricfit.cli._options import CompareOptions
from metricfit.metrics import Cost, resolve_metric
from metricfit.profile import profile_table

ROWS = np.arange(120)
LEVELS = ["low", "medium", "high", "very high"]
COST = "bad,good=5; good,bad=1"
COSTS = Cost({("bad", "good"): 5.0, ("good", "bad"): 1.0})


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
    options = CompareOptions(data=data, **options)
    check_options(options)
    return read_inputs(data, options)


def changed(path, **columns):
    """The file with other columns; a function gets the old one."""
    table = pd.read_csv(path)
    for name, values in columns.items():
        table[name] = values(table[name].to_numpy()) if callable(values) else values
    table.to_csv(path, index=False)
    return path


def of_one_customer(levels):
    return np.where(ROWS < 3, "odd", levels)


def with_rare(path, n_rows):
    """The file with a class 'odd' of so many rows."""
    return changed(path, level=lambda old: np.where(np.arange(len(old)) < n_rows, "odd", old))


@pytest.mark.parametrize(
    ("options", "metric", "pos_label", "class_order", "note"),
    [
        ({}, "f1", "bad", None, "The positive class for f1 is 'bad', the rarer one. Pass --positive to change this."),
        ({"positive": "Good"}, "f1", "good", None, "The positive class for f1 is 'good'."),
        ({"classes": "bad,good"}, "f1", "good", None, "The positive class for f1 is 'good', the last in the order."),
        ({"metric": "mcc"}, "mcc", None, None, ""),
        ({"cost": COST}, COSTS, None, None, "Costs (true class, predicted class): bad, good = 5; good, bad = 1."),
    ],
)
def test_the_metric_of_two_classes(loans, capsys, options, metric, pos_label, class_order, note):
    choice = read(loans, **options).choice
    assert (choice.metric, choice.pos_label, choice.class_order) == (metric, pos_label, class_order)
    assert note in capsys.readouterr().err


@pytest.mark.parametrize("dtype", [int, float])
def test_the_larger_of_two_numbers_is_positive_as_in_python(tmp_path, dtype, capsys):
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


def test_the_order_of_the_classes_is_given_or_known(levels, tmp_path, capsys):
    assert read(levels, metric="quadratic_kappa", classes="low, medium,HIGH,very high").choice.class_order == LEVELS
    table = frame()
    table["level"] = pd.Categorical(table["level"], categories=LEVELS, ordered=True)
    table.to_parquet(tmp_path / "levels.parquet")
    assert read(tmp_path / "levels.parquet", metric="quadratic_kappa").choice.class_order == LEVELS
    assert capsys.readouterr().err.count("The order of the classes is low < medium < high < very high.") == 2
    changed(levels, level=lambda old: [LEVELS.index(level) for level in old])
    assert read(levels, metric="quadratic_kappa").choice.class_order is None  # numbers have one
    assert "The order of the classes is 0 < 1 < 2 < 3." in capsys.readouterr().err


def test_several_classes_take_the_macro_mean(levels, capsys):
    assert read(levels, metric="f1").choice.metric == "f1_macro"
    assert "f1_macro, the mean over classes, is used instead" in capsys.readouterr().err


KAPPA = {"metric": "quadratic_kappa"}


@pytest.mark.parametrize(
    ("file", "options", "error", "match"),
    [
        ("levels", KAPPA, UsageError, r"order of the classes.*: 'high', 'low', 'medium', 'very high'\. .* --classes LOWEST,\.\.\.,HI"),
        ("levels", {**KAPPA, "classes": "low,medium,high"}, UsageError, "'very high' is missing"),
        ("levels", {**KAPPA, "classes": "low,low,medium,high,very high"}, UsageError, "twice"),
        ("levels", {**KAPPA, "classes": "lo,b"}, UsageError, "is not a class"),
        ("levels", {"positive": "low"}, UsageError, "does not apply to f1_macro with 4 classes"),
        ("levels", {"merge_rare": 3, "drop_rare": 3}, UsageError, "--merge-rare and --drop-rare cannot be combined"),
        ("loans", {"cost": COST, "metric": "f1"}, UsageError, "--cost or --metric, not both"),
        ("loans", {"cost": COST, "positive": "bad"}, UsageError, "--positive does not apply to --cost"),
        ("loans", {"numeric": ["level"]}, UsageError, "--numeric 'level' is the target"),
        ("loans", {"group": "customer", "time": "day"}, UsageError, "Both --group and --time say which rows are held out"),
        ("loans", {"time": "customer"}, DataError, "should contain dates or numbers, got text such as 'c0'"),
        ("loans", {"group": "custmer"}, UsageError, "Did you mean 'customer'"),
        ("loans", {"group": "level"}, UsageError, "'level' is the target or is dropped"),
        ("loans", {"time": "2", "drop": ["day"]}, UsageError, "'day' is the target or is dropped"),
    ],
)  # fmt: skip
def test_mistakes(request, file, options, error, match):
    with pytest.raises(error, match=match):
        read(request.getfixturevalue(file), **options)


class TestColumns:
    def test_groups_are_not_a_feature(self, loans, capsys):
        found = read(loans, group="customer")
        assert found.groups.tolist()[:4] == ["c0", "c0", "c0", "c1"]
        assert found.table.features.column_names == ["day", "a", "b"] == [column.name for column in found.schema.columns]
        assert "Column 'customer' groups the rows and is not used as a feature." in capsys.readouterr().err
        assert {one.name: one.use for one in found.profile.columns}["customer"] == "groups the rows, --group"
        changed(loans, customer=lambda old: [None, *old[1:]])
        with pytest.raises(DataError, match="--group 'customer' has 1 rows without a value"):
            read(loans, group="customer")

    def test_time_is_not_a_feature_and_numbers_count_all_columns(self, loans):
        found = read(loans, time="2", drop=["customer"])
        assert found.time[0] < found.time[1]
        assert "day" not in found.table.features.column_names

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

    def test_warnings_of_shuffled_folds_are_for_these_alone(self, loans, tmp_path, monkeypatch):
        shuffled = []

        def remember(*arguments):
            shuffled.append(arguments[-1])
            return profile_table(*arguments)

        monkeypatch.setattr("metricfit.cli._inputs.profile_table", remember)
        frame(40, seed=5).assign(level="bad", customer="c", day="2025-01-01").to_csv(tmp_path / "new.csv", index=False)
        for options in ({}, {"group": "customer"}, {"time": "day"}, {"test": tmp_path / "new.csv"}):
            read(loans, **options)
        assert shuffled == [True, False, False, False]

    def test_what_may_mislead_is_said(self, loans, capsys):
        changed(loans, a=np.where(pd.read_csv(loans)["level"] == "bad", 0.9, 0.1))
        assert any("'a'" in line for line in read(loans).profile.warnings)
        assert "Warning: Column 'a'" in capsys.readouterr().err


class TestTestFile:
    """``--test``: rows to judge by, without those that models were trained on."""

    def files(self, tmp_path, n_old, n_new, other_label=0):
        train, new = frame(200, seed=1), frame(n_new, seed=2) if n_new else frame(1)[:0]
        old = train.head(n_old).copy()
        old.loc[: other_label - 1, "level"] = [LEVELS[LEVELS.index(level) - 1] for level in old["level"][:other_label]]
        train.to_csv(tmp_path / "train.csv", index=False)
        pd.concat([old, new]).to_csv(tmp_path / "new.csv", index=False)
        return {"data": tmp_path / "train.csv", "test": tmp_path / "new.csv"}

    def test_it_has_the_types_of_the_table(self, loans, tmp_path):
        test = pd.read_csv(loans).head(20)
        test.loc[3, "level"] = np.nan
        test[["level", "b", "a", "day", "customer"]].to_csv(tmp_path / "test.csv", index=False)
        features, labels = read(loans, test=tmp_path / "test.csv", keep_shared=True).test
        assert features.column_names == ["customer", "day", "a", "b"]
        assert (features.num_rows, len(labels), set(labels)) == (19, 19, {"good", "bad"})

    def test_its_labels_are_of_the_type_of_the_table(self, levels, tmp_path):
        """Labels 1, 2 and x are text; of a file with 1 and 2 alone they would be numbers."""
        changed(levels, level=np.array(["1", "2", "x"])[np.arange(120) % 3])
        test = frame(40, seed=5)
        test["level"] = 1 + np.arange(40) % 2
        test.to_csv(tmp_path / "new.csv", index=False)
        assert set(read(levels, test=tmp_path / "new.csv").test[1].tolist()) == {"1", "2"}

    def test_shared_rows_are_counted_and_left_out(self, tmp_path, capsys):
        found = read(**self.files(tmp_path, 30, 50, other_label=2))
        assert found.test[0].num_rows == len(found.test[1]) == 52
        warning = (
            "28 of 80 rows of new.csv are rows of the training file, with the same label. They are left out: scores come from "
            "the other 52 rows. Pass --keep-shared to include them. 2 more rows have the features of a training row but another label."
        )
        assert found.profile.warnings[-1] == warning  # and so in the report and in --json
        assert f"Warning: {warning}" in capsys.readouterr().err

    def test_they_can_be_kept_and_other_rows_get_no_warning(self, tmp_path):
        found = read(**self.files(tmp_path, 30, 50), keep_shared=True)
        assert found.test[0].num_rows == 80
        assert "They count because of --keep-shared, so scores are too optimistic." in found.profile.warnings[-1]
        assert not read(**self.files(tmp_path, 0, 50)).profile.warnings

    def test_nothing_is_left_to_judge_by(self, tmp_path):
        with pytest.raises(DataError, match=r"All 30 rows of .*new.csv are rows of the training file.* leave out --test"):
            read(**self.files(tmp_path, 30, 0))

    def test_columns_of_few_values_share_rows_by_chance(self, tmp_path, capsys):
        random = np.random.default_rng(0)
        for name in ("train", "new"):
            cells = random.integers(0, 4, (300, 3))
            few = pd.DataFrame(cells, columns=list("abc")).assign(y=np.where(cells.sum(1) > 4, "yes", "no"))
            few.to_csv(tmp_path / f"{name}.csv", index=False)
        found = read(tmp_path / "train.csv", test=tmp_path / "new.csv")
        assert found.test[0].num_rows == 300
        assert "rows equal a training row. Training rows repeat just as often, so these rows count." in capsys.readouterr().err

    def test_an_id_does_not_hide_them(self, tmp_path):
        paths = self.files(tmp_path, 30, 50)
        for path, first in ((paths["data"], 0), (paths["test"], 1000)):
            table = pd.read_csv(path)
            table.insert(0, "id", np.arange(first, first + len(table)))
            table.to_csv(path, index=False)
        assert read(**paths).test[0].num_rows == 50

    def test_it_has_the_merged_and_dropped_classes(self, levels, tmp_path):
        with_rare(levels, 2)
        frame(60, seed=5).to_csv(tmp_path / "new.csv", index=False)
        with_rare(tmp_path / "new.csv", 4)
        merged = read(levels, merge_rare=3, test=tmp_path / "new.csv")
        assert set(merged.test[1].tolist()) <= set(merged.table.labels.tolist())
        assert len(read(levels, drop_rare=3, test=tmp_path / "new.csv").test[1]) == 56


class TestRareClasses:
    """What the counts tell is said before anything is trained."""

    def test_a_class_of_two_rows(self, levels):
        with pytest.raises(DataError) as caught:
            read(with_rare(levels, 2))
        assert str(caught.value) == (
            "Class 'odd' has 2 rows, which allow 2 folds and 4 scores with --repeats 2; a verdict needs 5. Pass --drop-rare 3 to "
            "drop the rows of rare classes, --merge-rare 3 to join them with others, or --repeats 3."
        )

    @pytest.mark.parametrize(
        ("cure", "n_rows"),
        [({"merge_rare": 3}, 120), ({"drop_rare": 3}, 118), ({"repeats": 3}, 120), ({"folds": 2, "repeats": 2}, 120)],
    )
    def test_what_it_says_helps(self, levels, cure, n_rows):
        assert read(with_rare(levels, 2), **cure).table.features.num_rows == n_rows

    def test_a_class_of_one_row(self, levels, capsys):
        with_rare(levels, 1)
        with pytest.raises(DataError, match=r"class 'odd' has one row.*--merge-rare"):
            read(levels)
        assert "other" in read(levels, merge_rare=30).table.labels.tolist()
        assert "'odd'" in capsys.readouterr().err
        assert len(read(levels, drop_rare=2).table.labels) == 119

    @pytest.mark.parametrize("names", [None, "1,2,3,4,9"])
    def test_merged_classes_keep_their_order(self, levels, names):
        changed(levels, level=lambda old: [9, 9, 9, *(LEVELS.index(level) + 1 for level in old[3:])])
        found = read(levels, **KAPPA, merge_rare=10, classes=names)
        assert sorted(set(found.table.labels.tolist())) == [1, 2, 3, 4]
        assert "The order of the classes is 1 < 2 < 3 < 4." in found.choice.notes

    def test_names_need_an_order_before_they_are_merged(self, levels):
        with pytest.raises(UsageError, match=r"quadratic_kappa needs the order of the classes.*--classes"):
            read(with_rare(levels, 2), **KAPPA, merge_rare=3)

    @pytest.mark.parametrize(
        ("columns", "options", "match"),
        [
            ({"level": of_one_customer}, {"group": "customer"}, r"Class 'odd' \(3 rows\) occurs in only one value of --group.*--merge-rare 4"),
            ({"customer": np.where(ROWS % 2, "a", "b")}, {"group": "customer"}, r"--group has 2 values, enough for 2 folds; .* Pass --repeats 3"),
            ({"level": np.where(ROWS > 90, "bad", "good")}, {"time": "day"}, "Class 'bad' is missing from the training rows of split 1"),
            ({"day": np.where(ROWS % 2, "2024-01-01", "2024-01-02")}, {"time": "day"}, "--time has so many rows of the same moment that there are 1 forward splits; a verdict needs 5"),
        ],
    )  # fmt: skip
    def test_groups_and_moments(self, loans, columns, options, match):
        with pytest.raises(DataError, match=match):
            read(changed(loans, **columns), **options)


def test_stdin(loans, feed):
    feed(loans.read_text())
    assert read(Path("-")).name == "stdin"


@pytest.mark.parametrize(("name", "options"), [question[1:] for question in QUESTIONS])
def test_the_data_of_the_demo_can_be_read(name, options):
    path = Path(str(files("metricfit.cli") / "examples" / name))
    assert read(path, metric=options["metric"]).table.features.num_rows in (1728, 699)
    assert name in (path.parent / "README.md").read_text()
