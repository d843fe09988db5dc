"""The profile of a table. Each warning has a table that deserves it, and one that only looks like it."""

import datetime
import json

import numpy as np
import pandas
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from metricfit.data import Column, TableSchema, layout_of, read_table, split_target
from metricfit.estimators._preprocess import build_preprocessor
from metricfit.profile import ColumnProfile, TableProfile, profile_table

N_ROWS = 120
RNG = np.random.default_rng(0)
ROWS = np.arange(N_ROWS)
LABELS = RNG.permutation(ROWS % 2)
NOISE = RNG.normal(size=N_ROWS)
IDS = RNG.permutation(10**6)[:N_ROWS]
INCOME = RNG.integers(10_000, 90_000, N_ROWS)
RISING = np.cumsum(RNG.integers(1, 90, N_ROWS))
GROUPS = RNG.permutation(ROWS % 30)
SORTED = np.where(ROWS % 20 == 0, ROWS < 50, ROWS >= 50).astype(int)  # by class, with a few exceptions
NEARLY = np.where(ROWS % 25 == 0, 1 - LABELS, LABELS)
RARE_CLASS = np.where(ROWS < 4, "c", LABELS.astype(str))
REMARKS = [f"somebody wrote remark {row} about this" for row in ROWS]


def profile(labels=LABELS, schema=None, dropped=None, **columns):
    """The profile of a noisy number and these columns."""
    table = pa.table({"noise": NOISE[: len(labels)], **columns})
    return profile_table(table, np.asarray(labels), schema, dropped or {})


def column_of(found, name):
    return next(column for column in found.columns if column.name == name)


def leak(name, share="100 %", quoted=None):
    return (
        f"Column '{name}' alone predicts the target in {share} of the rows (balanced accuracy). "
        f"Is it known only after the target? If so, pass --drop {quoted or name}."
    )


def an_id(name):
    return f"Column '{name}' is different in nearly every row, like an ID, and an ID cannot help with new rows. Pass --drop {name}."


def a_group(name, n_groups, quoted=None):
    return (
        f"Column '{name}' has {n_groups} values in 120 rows. Rows of one value may fall into both train and test. "
        f"If new rows come with new values, pass --group {quoted or name}."
    )


def group_leak(name):
    return (
        f"Column '{name}' alone predicts the target in 100 % of the rows (balanced accuracy), because the rows of each of its 30 "
        f"values share a class. If new rows come with new values, pass --group {name} or --drop {name}."
    )


@pytest.mark.parametrize(
    ("labels", "columns", "warnings"),
    [
        # columns that know the target
        (LABELS, {"answer": np.where(LABELS == 1, "yes", "no")}, [leak("answer")]),
        (LABELS, {"audit risk": LABELS + RNG.uniform(0.0, 0.4, N_ROWS)}, [leak("audit risk", quoted="'audit risk'")]),
        (ROWS % 3, {"risk": ROWS % 3 + RNG.uniform(0.0, 0.4, N_ROWS)}, [leak("risk")]),
        (ROWS % 12 == 0, {"risk": (ROWS % 12 == 0) + RNG.uniform(0.0, 0.4, N_ROWS)}, [leak("risk")]),
        (
            LABELS,
            {"closed": [datetime.date(2020 + label, 1 + row % 12, 1) for row, label in enumerate(LABELS)]},
            [leak("closed")],
        ),
        (LABELS, {"late": LABELS == 1}, [leak("late")]),
        (
            LABELS,
            {"paid": np.where(LABELS == 1, NOISE, np.nan)},
            [
                "Column 'paid' predicts the target in 100 % of the rows (balanced accuracy) by its missing values alone. "
                "Is it filled in only after the target is known? If so, pass --drop paid."
            ],
        ),
        (
            SORTED,
            {"row": ROWS},
            [
                "Column 'row' counts the rows, and the rows are sorted by class: it alone predicts the target in 94.8 % of them "
                "(balanced accuracy). It means nothing for new rows. Pass --drop row."
            ],
        ),
        (GROUPS * 7 % 11 % 2, {"patient": [f"p{group}" for group in GROUPS]}, [group_leak("patient")]),
        (np.sort(GROUPS) * 7 % 11 % 2, {"x": np.sort(GROUPS)}, [group_leak("x")]),
        (
            LABELS,
            {f"x{index}": LABELS + 0.1 * NOISE for index in range(8)},
            [*(leak(f"x{index}") for index in range(5)), "The same holds for columns 'x5', 'x6' and 'x7'."],
        ),
        # IDs and groups
        (LABELS, {"PassengerId": IDS}, [an_id("PassengerId")]),
        (LABELS, {"userid": IDS.astype(float)}, [an_id("userid")]),
        (LABELS, {"x": RNG.permutation(N_ROWS) + 1000}, [an_id("x")]),
        (LABELS, {"hash": [f"{row * 7919 % 10007:x}e" for row in ROWS]}, [an_id("hash")]),
        (LABELS, {"code": [f"{row:05d}" for row in ROWS]}, [an_id("code")]),
        (LABELS, {"row": ROWS}, [an_id("row")]),
        (LABELS, {"MouseID": [f"A_{row}" for row in ROWS]}, [an_id("MouseID")]),
        (
            LABELS,
            {"key": IDS, "nr": IDS[::-1]},
            [
                "Columns 'key' and 'nr' are different in nearly every row, like IDs, and an ID cannot help with new rows. "
                "Pass --drop key --drop nr."
            ],
        ),
        (
            LABELS,
            {"MouseID": [f"{300 + row // 6}_{row % 6 + 1}" for row in ROWS]},
            [
                "Column 'MouseID' is different in each row, but its first part, such as '300', repeats (20 different ones). "
                "Rows that share it may fall into both train and test. "
                "Put this part into a separate column, and pass that column to --group."
            ],
        ),
        (LABELS, {"customer": GROUPS}, [a_group("customer", 30)]),
        (LABELS, {"CustomerID": [f"C{group}" for group in GROUPS]}, [a_group("CustomerID", 30)]),
        (LABELS, {"patient_nr": GROUPS}, [a_group("patient_nr", 30)]),
        (LABELS, {"userid": GROUPS}, [a_group("userid", 30)]),
        (LABELS, {"Mouse ID": [f"C{group}" for group in GROUPS]}, [a_group("Mouse ID", 30, "'Mouse ID'")]),
        # columns without effect
        (
            LABELS,
            {"a": [1.0] * N_ROWS, "b": ["x"] * N_ROWS, "c": pa.nulls(N_ROWS), "d": pa.nulls(N_ROWS, pa.string())},
            ["Columns 'a' and 'b' are constant and columns 'c' and 'd' are empty: they have no effect."],
        ),
        (
            LABELS,
            {"a": [1.0, 2.0, 3.0] + [None] * 117, "b": ["x"] + [None] * 119, "c": [1.0, 2.0, 3.0, None] * 30},
            ["Columns 'a' and 'b' are missing in at least 97.5 % of the rows, so they help little at best."],
        ),
        # few rows
        (
            LABELS[:20],
            {"x": LABELS[:20]},
            ["The table has 20 rows, so scores are rough. Pass --repeats 10 for steadier ones."],
        ),
        (RARE_CLASS, {}, ["Class 'c' has 4 rows, too few to judge. Add rows, or pass --merge-rare 10."]),
        (np.where(ROWS < 4, "c", "a"), {}, ["Class 'c' has 4 rows, too few to judge. Add rows."]),  # two cannot be merged
        (
            np.where(ROWS // 3 == 2, "d", RARE_CLASS),
            {},
            ["2 of 4 classes have fewer than 10 rows ('d' 3), too few to judge. Add rows, or pass --merge-rare 10."],
        ),
        (
            LABELS[:60],
            {f"x{index}": RNG.normal(size=60) for index in range(67)},
            [
                "The table has more columns (68) than rows (60), so chance patterns are likely. Pass --repeats 5 for steadier scores."
            ],
        ),
    ],
)
def test_warnings(labels, columns, warnings):
    assert list(profile(labels, **columns).warnings) == warnings


@pytest.mark.parametrize(
    ("labels", "columns"),
    [
        (LABELS, {"symptom": NEARLY, "level": NEARLY + RNG.uniform(0, 0.4, N_ROWS), "word": NEARLY.astype(str)}),  # strong features
        (ROWS < 12, {"x": RNG.normal(size=N_ROWS), "word": ["a", "b"] * 60}),  # a majority is not a leak
        (LABELS, {"paid": np.where(RNG.uniform(size=N_ROWS) < 0.5, NOISE, np.nan)}),
        (LABELS, {"size": NOISE**3, "income": INCOME, "humid": INCOME[::-1], "id_of_light": NOISE}),  # measurements, not IDs
        (LABELS, {"remarks": REMARKS, "price": [f"{value:.4f}" for value in NOISE[1:]] + ["free"]}),
        (LABELS, {"mileage": RISING}),
        (LABELS, {"customer_age": GROUPS, "product": GROUPS[::-1], "LOCATION_ID": GROUPS, "user_agent": GROUPS, "zip": GROUPS}),
        (LABELS, {"customer": ["new", "old", "none"] * 40}),  # too few for groups
        (LABELS, {"a": [1.0, None] * 60, "b": ["x", None] * 60}),  # known or missing is not constant
    ],
)  # fmt: skip
def test_tables_without_warnings(labels, columns):
    assert not profile(labels, **columns).warnings


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_real_tables_without_warnings(load):
    found = load()
    assert not profile_table(pa.table(dict(zip(found.feature_names, found.data.T, strict=True))), found.target).warnings


def test_a_rising_first_column_is_an_id():
    for values in (RISING, np.array(sorted(IDS, key=str))):
        assert profile_table(pa.table({"1": values, "2": NOISE}), LABELS).warnings == (an_id("1"),)
    assert not profile_table(pa.table({"timestamp": RISING, "2": NOISE}), LABELS).warnings


def test_the_profile_does_not_depend_on_the_order_of_classes_or_on_chance():
    columns = {"answer": LABELS + 0.3 * RNG.uniform(size=N_ROWS), "c": RNG.integers(0, 9, N_ROWS)}
    assert profile(**columns) == profile(**columns)
    assert profile(1 - LABELS, **columns).warnings == profile(**columns).warnings


class TestColumns:
    def test_types_uses_and_examples(self):
        found = profile(
            sex=["f", "m", None] * 40,
            since=[datetime.datetime(2024, 1, 1 + row % 28) for row in ROWS],
            at=[datetime.time(row % 24, 30) for row in ROWS],
            member=[True, False] * 60,
            remark=REMARKS,
            size=[1.5, None, float("nan")] * 40,
        )
        assert {column.name: (column.type, column.use, column.n_missing, column.n_distinct) for column in found.columns} == {
            "noise": ("number", "number", 0, N_ROWS),
            "sex": ("text", "2 categories", 40, 2),
            "since": ("date", "date", 0, 28),
            "at": ("time of day", "number", 0, 24),
            "member": ("true or false", "number", 0, 2),
            "remark": ("text", "words", 0, N_ROWS),
            "size": ("number", "number", 80, 1),
        }
        assert column_of(found, "sex").examples == ("f", "m")
        assert column_of(found, "since").examples == ("2024-01-01", "2024-01-02", "2024-01-03")
        assert column_of(found, "at").examples == ("00:30:00", "01:30:00", "02:30:00")
        assert column_of(found, "remark").examples[0] == "somebody wrote rema…"
        assert column_of(found, "size").examples == ("1.5",)
        assert not found.warnings

    def test_formats_come_from_the_schema(self):
        schema = TableSchema((Column("price", "number", 0, "1.234,56 €"), Column("day", "date", 1, "%d.%m.%Y")), True, 3)
        found = profile(schema=schema, price=NOISE, day=[datetime.datetime(2024, 1, 1 + row % 9) for row in ROWS])
        assert [column.type for column in found.columns] == ["number", "number (1.234,56 €)", "date (31.12.2024)"]

    def test_rare_categories_are_grouped_as_the_models_do(self):
        several = ["a"] * 60 + ["b"] * 57 + ["c", "d", "e"]
        table = pa.table({"several": several * 5, "many": [f"v{row % 110}" for row in range(600)]})
        uses = [column.use for column in profile_table(table, np.tile(LABELS, 5)).columns]
        assert uses == ["5 categories", "110 categories, 11 of them rare and grouped as one"]
        assert build_preprocessor(table).fit_transform(table).shape[1] == 5 + 100
        found = profile(a=several, b=["a"] + [None] * 119, c=["a", "b", "c"] + [None] * 117)
        assert [column.use for column in found.columns[1:]] == [
            "5 categories, 3 of them rare and grouped as one",
            "1 category, rare",
            "3 categories, all rare and grouped as one",
        ]

    @pytest.mark.parametrize(
        ("kind", "type"),
        [
            (pa.int8(), "number"),
            (pa.float32(), "number"),
            (pa.decimal128(28, 2), "number"),
            (pa.duration("s"), "number"),
            (pa.date32(), "date"),
            (pa.time32("s"), "time of day"),
            (pa.string(), "text"),
            (pa.large_string(), "text"),
            (pa.string_view(), "text"),
            (pa.dictionary(pa.int8(), pa.string()), "text"),
        ],
    )
    def test_types_of_tables_that_are_not_from_files(self, kind, type):
        values = pa.array([1, 2, 3, None, 5, 6] * 20, pa.int32())
        through = (
            pa.int64() if pa.types.is_duration(kind) or pa.types.is_decimal(kind) else pa.string() if type == "text" else kind
        )
        found = column_of(profile(x=values.cast(through).cast(kind)), "x")
        assert (found.type, found.n_distinct, found.n_missing) == (type, 5, 20)
        assert (found.use == "5 categories") == (type == "text")

    def test_control_characters_are_escaped(self):
        found = profile(**{"na\x1b[2Jme": ["red\x1b[2J", "a\nb", "\u202eevil"] * 40, "con\nstant": ["\x07"] * N_ROWS})
        assert all(text.isprintable() for text in [*found.columns[2].examples, *found.warnings])
        assert found.columns[1].examples == ("red\\x1b[2J", "a\\nb", "\\u202eevil")

    def test_dropped_columns_are_listed_with_the_reason(self):
        found = profile(dropped={"row": "dropped by --drop"})
        assert [(column.name, column.use) for column in found.columns[1:]] == [("row", "dropped by --drop")]
        assert not found.warnings

    def test_notes(self):
        found = profile(a=[1.0] * N_ROWS, b=["x"] + [None] * 119, answer=LABELS)
        assert [column.note for column in found.columns] == [
            "",
            "It has no effect.",
            "Column 'b' is missing in 99.1 % of the rows, so it helps little at best.",
            leak("answer"),
        ]

    @pytest.mark.parametrize("number", ["{}", "{}.5", "1.{:03d},50 €", "$ {}", "-{}%", "1e{}"])
    def test_text_that_is_mostly_numbers_gets_a_note(self, number):
        found = profile(x=[number.format(row % 9) for row in range(N_ROWS - 1)] + ["LOHARU"])
        assert not found.warnings
        assert column_of(found, "x").note == "99.1 % of the values are numbers, but not 'LOHARU': they are used as categories."

    def test_codes_get_a_note_and_other_text_does_not(self):
        note = "All values are numbers, but some are written like codes: they are used as categories."
        assert column_of(profile(x=["007", "042"] * 60), "x").note == note
        for values in (["a1", "b2"], ["-", "€"], ["1", "red"], [".", "$"]):
            assert not column_of(profile(x=values * 60), "x").note

    def test_as_json(self):
        found = profile(answer=LABELS, size=[1.5, None] * 60)
        plain = json.loads(json.dumps(found.as_json()))
        columns = tuple(ColumnProfile(**{**column, "examples": tuple(column["examples"])}) for column in plain.pop("columns"))
        assert TableProfile(columns, **{**plain, "warnings": tuple(plain["warnings"])}) == found


class TestRepeatedSubjects:
    """60 persons with 8 rows each, as in a panel study: `school` and `town` never change, `job` seldom does."""

    rng = np.random.default_rng(7)
    person = np.repeat(rng.permutation(1000)[:60], 8)
    shuffled = np.random.default_rng(9).permutation(480)

    def panel(self, rows=None, **more):
        rng, n_persons = np.random.default_rng(8), 60
        constant = {name: np.repeat(rng.integers(0, high, n_persons), 8) for name, high in (("school", 15), ("town", 4))}
        moved = rng.random(480) < 0.2
        job = np.where(moved, rng.integers(0, 6, 480), np.repeat(rng.integers(0, 6, n_persons), 8))
        columns = {**more, **constant, "job": [f"job {one}" for one in job], "wage": rng.normal(size=480)}
        columns |= {"year": np.tile(np.arange(1980, 1988), n_persons)}
        labels = np.where(rng.random(480) < 0.15, rng.integers(0, 2, 480), np.repeat(rng.integers(0, 2, n_persons), 8))
        rows = np.arange(480) if rows is None else rows
        return pa.table({name: np.asarray(column)[rows] for name, column in columns.items()}), labels[rows]

    @pytest.mark.parametrize("name", ["nr", "x", "13"])
    @pytest.mark.parametrize("kind", [int, str])
    def test_a_column_of_any_name_is_offered_as_group(self, name, kind):
        for rows in (None, self.shuffled):
            found = profile_table(*self.panel(rows, **{name: self.person.astype(kind)}))
            (warning,) = found.warnings
            assert warning.startswith(f"Column '{name}' has 60 values in 480 rows, and rows of one value are alike (")
            assert "the target agrees in 8" in warning  # each row by 0.925, so pairs by 0.925² + 0.075² = 0.86
            assert warning.endswith(f"If new rows come with new values, pass --group {name}.")
            assert column_of(found, name).note == warning
        assert not profile_table(*self.panel(**{name: self.person.astype(kind)}), random_folds=False).warnings

    def test_adjacent_rows_that_are_alike(self):
        features, labels = self.panel()
        features = features.drop_columns("year").append_column("age", [np.repeat(self.rng.normal(40, 9, 60), 8)])
        (warning,) = profile_table(features, labels).warnings
        assert warning.startswith("Adjacent rows of the file are alike (")
        assert not profile_table(features.take(self.shuffled), labels[self.shuffled]).warnings

    def test_measurements_categories_and_lookups_are_not_subjects(self):
        rng = np.random.default_rng(3)
        age, city = rng.integers(20, 80, 2000), rng.integers(0, 40, 2000)
        columns = {"age": age, "city": [f"c{one}" for one in city], "state": city * 7 % 10, "x": rng.normal(size=2000)}
        columns |= {
            "height": age + rng.normal(size=2000),
            "weight": 2 * age + rng.normal(size=2000),
            "shop": rng.integers(0, 9, 2000),
        }
        assert not profile_table(pa.table(columns), (age + rng.normal(0, 5, 2000) > 50).astype(int)).warnings

    def test_a_grid_of_all_combinations_is_not_a_series(self):
        grid = np.array(np.meshgrid(*[np.arange(5)] * 4, indexing="ij")).reshape(4, -1)
        table = pa.table(dict(zip("abcd", grid, strict=True)))
        assert not profile_table(table, (grid[0] * grid[1] > grid[2] * grid[3]).astype(int)).warnings


class TestCopies:
    def test_copies_with_and_without_another_label(self):
        rows = np.r_[np.arange(N_ROWS - 20), np.arange(20)]
        labels = LABELS[rows]
        labels[-3:] = 1 - labels[-3:]
        table = {
            "a": pa.array(NOISE[rows]),
            "b": pa.array([f"w{row % 7}" if row % 5 else None for row in rows]),
            "c": pa.array(rows % 2 == 0),
        }
        for more, without in (({}, ""), ({"id": ROWS * 3}, " without column 'id'")):
            found = profile_table(pa.table({**table, **more}), labels)
            assert (found.n_copies, found.n_contradictory) == (20, 3)
            assert found.warnings[-1] == (
                f"20 rows equal an earlier row in all features{without}, 3 of them with another label. "
                "Copies may fall into both train and test, so scores may be too good. Remove them if they are mistakes."
            )

    @pytest.mark.parametrize(
        ("columns", "n_copies", "has_warning"),
        [
            ({"a": ROWS % 3, "b": ROWS // 3 % 3}, N_ROWS - 9, False),  # few values repeat by chance
            ({"a": [REMARKS[row % 100] for row in ROWS]}, 20, True),  # texts do not
            ({"a": NOISE[ROWS % 117], "b": NOISE[::-1][ROWS % 117]}, 3, False),  # too few to matter
        ],
    )
    def test_copies_that_are_expected_or_few_are_only_counted(self, columns, n_copies, has_warning):
        found = profile_table(pa.table(columns), LABELS)
        assert (found.n_copies, bool(found.warnings)) == (n_copies, has_warning)

    def test_the_same_as_pandas(self):
        frame = pandas.DataFrame(RNG.integers(-1, 3, (400, 5)).astype(float))
        frame[frame == 2] = np.nan
        frame[0] = np.where((frame[0] == 0) & (np.arange(400) % 2 == 0), -0.0, frame[0])
        table = pa.table({str(name): pa.array(frame[name], from_pandas=True) for name in frame})
        assert profile_table(table, np.zeros(400)).n_copies == frame.duplicated().sum() > 0


def test_a_file_as_the_commands_read_it(tmp_path):
    path = tmp_path / "table.csv"
    lines = [f"{row},{0.5 * row:.1f},{'red' if row % 3 else 'blue'},?,{2 * label},{label}" for row, label in enumerate(LABELS)]
    path.write_text("\n".join(["row id,size,colour,nothing,points,y", *lines]) + "\n")
    raw, schema = read_table(path, layout_of(path), "y")
    table = split_target(raw, "y", path)
    found = profile_table(table.features, table.labels, schema)
    assert [column.use for column in found.columns] == ["number", "number", "2 categories", "not used: empty", "number"]
    assert found.warnings == (
        leak("points"),
        an_id("row id").replace("--drop row id", "--drop 'row id'"),
        "Column 'nothing' is empty: it has no effect.",
    )
