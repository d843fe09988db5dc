"""What a table shows before anything is trained. Each warning has a table that deserves it, and one that only looks like it."""

import datetime
import json

import numpy as np
import pandas
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from metricfit.data import Column, TableSchema, layout_of, read_table, split_target
from metricfit.profile import ColumnProfile, TableProfile, profile_table

N_ROWS = 120
RNG = np.random.default_rng(0)
LABELS = RNG.permutation(np.arange(N_ROWS) % 2)
NOISE = RNG.normal(size=N_ROWS)


def look(labels=LABELS, schema=None, dropped=None, **columns):
    """The profile of a noisy number and these columns."""
    table = pa.table({"noise": NOISE[: len(labels)], **columns})
    return profile_table(table, np.asarray(labels), schema, dropped or {})


def column_of(profile, name):
    return next(column for column in profile.columns if column.name == name)


def only_warning(profile):
    (warning,) = profile.warnings
    return warning


class TestColumns:
    def test_types_uses_and_examples(self):
        days = [datetime.datetime(2024, 1, 1 + row % 28) for row in range(N_ROWS)]
        profile = look(
            sex=["f", "m", None] * 40,
            since=days,
            at=[datetime.time(row % 24, 30) for row in range(N_ROWS)],
            member=[True, False] * 60,
            remark=[f"the {row} remark that somebody wrote" for row in range(N_ROWS)],
        )
        described = {column.name: (column.type, column.use, column.n_missing, column.n_distinct) for column in profile.columns}
        assert described == {
            "noise": ("number", "number", 0, N_ROWS),
            "sex": ("text", "2 categories", 40, 2),
            "since": ("date", "date", 0, 28),
            "at": ("time of day", "number", 0, 24),
            "member": ("true or false", "number", 0, 2),
            "remark": ("text", "words", 0, N_ROWS),
        }
        assert column_of(profile, "sex").examples == ("f", "m")
        assert column_of(profile, "since").examples == ("2024-01-01", "2024-01-02", "2024-01-03")
        assert column_of(profile, "at").examples == ("00:30:00", "01:30:00", "02:30:00")
        assert column_of(profile, "remark").examples[0] == "the 0 remark that s…"
        assert not profile.warnings

    def test_formats_come_from_the_schema(self):
        schema = TableSchema((Column("price", "number", 0, "1.234,56 €"), Column("day", "date", 1, "%d.%m.%Y")), True, 3)
        profile = look(schema=schema, price=NOISE, day=[datetime.datetime(2024, 1, 1 + row % 9) for row in range(N_ROWS)])
        assert column_of(profile, "price").type == "number (1.234,56 €)"
        assert column_of(profile, "day").type == "date (31.12.2024)"

    def test_rare_categories_are_grouped_as_the_models_do(self):
        from metricfit.estimators._preprocess import build_preprocessor

        several = ["a"] * 60 + ["b"] * 57 + ["c", "d", "e"]
        many = [f"v{row % 110}" for row in range(600)]
        table = pa.table({"several": several * 5, "many": many})
        uses = [column.use for column in profile_table(table, np.tile(LABELS, 5)).columns]
        assert uses == ["5 categories", "110 categories, 11 of them rare and grouped as one"]
        assert build_preprocessor(table).fit_transform(table).shape[1] == 5 + 100
        assert column_of(look(x=["a"] + [None] * 119), "x").use == "1 category, rare"
        assert column_of(look(x=["a", "b", "c"] + [None] * 117), "x").use == "3 categories, all rare and grouped as one"
        assert column_of(look(several=several), "several").use == "5 categories, 3 of them rare and grouped as one"

    def test_missing_values_are_null_or_nan(self):
        profile = look(size=[1.5, None, float("nan")] * 40)
        assert (column_of(profile, "size").n_missing, column_of(profile, "size").n_distinct) == (80, 1)

    @pytest.mark.parametrize(
        "kind", [pa.int8(), pa.float32(), pa.decimal128(28, 2), pa.duration("s"), pa.date32(), pa.time32("s")]
    )
    def test_types_of_tables_that_are_not_from_files(self, kind):
        values = pa.array([1, 2, 3, None, 5, 6] * 20, pa.int32())
        values = (
            values.cast(pa.int64()).cast(kind)
            if pa.types.is_duration(kind) or pa.types.is_decimal(kind)
            else values.cast(kind)
        )
        assert column_of(look(x=values), "x").n_distinct == 5

    @pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())])
    def test_kinds_of_strings(self, kind):
        assert column_of(look(x=pa.array(["a", "b", "c", None] * 30).cast(kind)), "x").use == "3 categories"

    def test_control_characters_are_never_raw(self):
        profile = look(**{"na\x1b[2Jme": ["red\x1b[2J", "a\nb", "\u202eevil"] * 40, "con\nstant": ["\x07"] * N_ROWS})
        shown = [*profile.columns[1].examples, *profile.columns[2].examples, *profile.warnings]
        assert all(text.isprintable() for text in shown)
        assert profile.columns[1].examples == ("red\\x1b[2J", "a\\nb", "\\u202eevil")

    def test_dropped_columns_are_listed_with_the_reason(self):
        why = {"answer": "dropped by --drop", "row": "dropped by --drop"}
        profile = look(answer=LABELS, dropped=why)
        assert [column.name for column in profile.columns] == ["noise", "answer", "row"]
        assert [column.use for column in profile.columns[1:]] == ["dropped by --drop"] * 2
        assert not profile.warnings

    def test_as_json(self):
        profile = look(answer=LABELS, size=[1.5, None] * 60)
        found = json.loads(json.dumps(profile.as_json()))
        assert found["n_rows"] == N_ROWS
        assert (found["n_copies"], found["n_contradictory"]) == (0, 0)
        assert found["warnings"] == list(profile.warnings)
        columns = tuple(ColumnProfile(**{**column, "examples": tuple(column["examples"])}) for column in found.pop("columns"))
        assert TableProfile(columns, **{**found, "warnings": profile.warnings}) == profile


class TestTheTarget:
    def test_a_copy_of_the_target(self):
        assert only_warning(look(answer=np.where(LABELS == 1, "yes", "no"))) == (
            "Column 'answer' alone predicts the target in 100 % of the rows (balanced accuracy). "
            "Is it known only after the target? If so, pass --drop answer."
        )

    @pytest.mark.parametrize("labels", [LABELS, np.arange(N_ROWS) % 3, (np.arange(N_ROWS) % 12 == 0).astype(int)])
    def test_a_number_that_gives_the_target(self, labels):
        warning = only_warning(look(labels, **{"audit risk": labels + RNG.uniform(0.0, 0.4, N_ROWS)}))
        assert warning.startswith("Column 'audit risk' alone predicts the target in")
        assert warning.endswith("pass --drop 'audit risk'.")

    def test_a_date_and_a_boolean(self):
        days = [datetime.date(2020 + label, 1 + row % 12, 1) for row, label in enumerate(LABELS)]
        profile = look(closed=days, late=LABELS == 1)
        assert [warning.split(" alone ")[0] for warning in profile.warnings] == ["Column 'closed'", "Column 'late'"]

    def test_a_strong_feature_is_no_leak(self):
        wrong = np.where(np.arange(N_ROWS) % 25 == 0, 1 - LABELS, LABELS)
        assert not look(symptom=wrong, level=wrong + RNG.uniform(0, 0.4, N_ROWS), word=wrong.astype(str)).warnings

    def test_a_rare_class_is_not_given_by_the_majority(self):
        rare = (np.arange(N_ROWS) < 12).astype(int)
        assert not look(rare, x=RNG.normal(size=N_ROWS), word=["a", "b"] * 60).warnings

    def test_where_it_is_missing(self):
        warning = only_warning(look(paid=np.where(LABELS == 1, NOISE, np.nan)))
        assert warning.startswith(
            "Column 'paid' predicts the target in 100 % of the rows (balanced accuracy) by its missing values alone."
        )
        assert not look(paid=np.where(RNG.uniform(size=N_ROWS) < 0.5, NOISE, np.nan)).warnings

    def test_few_rows_cannot_tell(self):
        assert only_warning(look(LABELS[:20], x=LABELS[:20])).startswith("The table has 20 rows")

    def test_many_columns_share_a_sentence(self):
        profile = look(**{f"x{place}": LABELS + 0.1 * NOISE for place in range(8)})
        assert len(profile.warnings) == 6
        assert profile.warnings[-1] == "The same holds for columns 'x5', 'x6' and 'x7'."
        assert (
            look(**{f"x{place}": LABELS + 0.1 * NOISE for place in range(6)}).warnings[-1] == "The same holds for column 'x5'."
        )

    @pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
    def test_real_tables_without_a_leak(self, load):
        found = load()
        table = pa.table(dict(zip(found.feature_names, found.data.T, strict=True)))
        assert not profile_table(table, found.target).warnings


class TestIdentity:
    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("PassengerId", RNG.permutation(10**6)[:N_ROWS]),
            ("userid", RNG.permutation(10**6)[:N_ROWS].astype(float)),
            ("x", RNG.permutation(N_ROWS) + 1000),
            ("hash", [f"{row * 7919 % 10007:x}e" for row in range(N_ROWS)]),
            ("code", [f"{row:05d}" for row in range(N_ROWS)]),
        ],
    )
    def test_ids(self, name, values):
        profile = look(**{name: values})
        assert only_warning(profile) == (
            f"Column '{name}' is different in nearly every row, like an ID, and an ID cannot help with new rows. "
            f"Pass --drop {name}."
        )

    def test_two_ids_share_a_sentence(self):
        warning = only_warning(look(key=RNG.permutation(9999)[:N_ROWS], nr=RNG.permutation(9999)[:N_ROWS]))
        assert warning.startswith("Columns 'key' and 'nr' are different in nearly every row, like IDs")
        assert warning.endswith("Pass --drop key --drop nr.")

    def test_measurements_are_no_ids(self):
        remarks = [f"somebody wrote remark {row} about this" for row in range(N_ROWS)]
        income = RNG.integers(10_000, 90_000, N_ROWS)
        prices = [f"{value:.4f}" for value in NOISE[1:]] + ["free"]
        profile = look(size=NOISE**3, income=income, id_of_light=NOISE, remarks=remarks, humid=income[::-1], price=prices)
        assert not profile.warnings

    def test_a_first_column_that_rises(self):
        numbers = np.cumsum(RNG.integers(1, 90, N_ROWS))
        for values in (numbers, np.array(sorted(RNG.permutation(10**6)[:N_ROWS], key=str))):
            warnings = profile_table(pa.table({"1": values, "2": NOISE}), LABELS).warnings
            assert [warning[:30] for warning in warnings] == ["Column '1' is different in nea"]
        assert not profile_table(pa.table({"timestamp": numbers, "2": NOISE}), LABELS).warnings
        assert not look(mileage=numbers).warnings

    def test_rows_sorted_by_class(self):
        rows, labels = np.arange(N_ROWS), (np.arange(N_ROWS) >= 50).astype(int)
        labels[::20] = 1 - labels[::20]
        assert only_warning(look(labels, row=rows)) == (
            "Column 'row' counts the rows, and the rows are sorted by class: it alone predicts the target in 94.8 % of them "
            "(balanced accuracy). It means nothing for new rows. Pass --drop row."
        )
        assert "sorted by class" not in only_warning(look(row=rows))

    @pytest.mark.parametrize("name", ["customer", "CustomerID", "patient_nr", "userid", "Mouse ID"])
    def test_groups(self, name):
        values = RNG.integers(0, 30, N_ROWS)
        for group in (values, [f"C{value}" for value in values]):
            assert "may fall into both train and test. If new rows come with new values, pass --group" in only_warning(
                look(**{name: group})
            )

    @pytest.mark.parametrize("name", ["customer_age", "product", "LOCATION_ID", "user_agent", "zip"])
    def test_what_repeats_is_not_always_a_group(self, name):
        assert not look(**{name: RNG.integers(0, 30, N_ROWS)}).warnings

    def test_few_values_are_no_groups(self):
        assert not look(customer=["new", "old", "none"] * 40).warnings

    def test_groups_that_share_a_class(self):
        groups = RNG.permutation(np.arange(N_ROWS) % 30)
        labels = groups * 7 % 11 % 2
        warning = only_warning(look(labels, patient=[f"p{group}" for group in groups]))
        assert "because the rows of each of its" in warning
        assert warning.endswith("pass --group patient or --drop patient.")
        in_blocks = only_warning(look(np.sort(groups) * 7 % 11 % 2, x=np.sort(groups)))
        assert in_blocks.endswith("pass --group x or --drop x.")

    def test_an_id_whose_first_part_repeats(self):
        mice = [f"{300 + row // 6}_{row % 6 + 1}" for row in range(N_ROWS)]
        assert only_warning(look(MouseID=mice)) == (
            "Column 'MouseID' is different in each row, but its first part, such as '300', repeats (20 different ones). "
            "Rows that share it may fall into both train and test. "
            "Put this part into a separate column, and pass that column to --group."
        )
        assert "like an ID" in only_warning(look(MouseID=[f"A_{row}" for row in range(N_ROWS)]))


class TestRepeatedSubjects:
    """60 persons with 8 rows each, as in a panel study: `school` and `town` never change, `job` seldom does."""

    rng = np.random.default_rng(7)
    person = np.repeat(rng.permutation(1000)[:60], 8)

    def panel(self, order=None, **more):
        rng, n_persons = np.random.default_rng(8), 60
        constant = {name: np.repeat(rng.integers(0, high, n_persons), 8) for name, high in (("school", 15), ("town", 4))}
        moved = rng.random(480) < 0.2
        job = np.where(moved, rng.integers(0, 6, 480), np.repeat(rng.integers(0, 6, n_persons), 8))
        columns = {**more, **constant, "job": [f"job {one}" for one in job], "wage": rng.normal(size=480)}
        columns |= {"year": np.tile(np.arange(1980, 1988), n_persons)}
        labels = np.where(rng.random(480) < 0.15, rng.integers(0, 2, 480), np.repeat(rng.integers(0, 2, n_persons), 8))
        rows = np.arange(480) if order is None else order
        return pa.table({name: np.asarray(column)[rows] for name, column in columns.items()}), labels[rows]

    @pytest.mark.parametrize("name", ["nr", "x", "13"])
    @pytest.mark.parametrize("kind", [int, str])
    def test_a_column_of_any_name_is_offered_as_group(self, name, kind):
        for order in (None, np.random.default_rng(9).permutation(480)):
            warning = only_warning(profile_table(*self.panel(order, **{name: self.person.astype(kind)})))
            assert warning.startswith(f"Column '{name}' has 60 values in 480 rows, and rows of one value are alike (")
            assert "the target agrees in 8" in warning  # each row by 0.925, so pairs by 0.925² + 0.075² = 0.86
            assert warning.endswith(f"If new rows come with new values, pass --group {name}.")

    def test_the_column_says_so_too(self):
        profile = profile_table(*self.panel(nr=self.person))
        assert column_of(profile, "nr").note == only_warning(profile)

    def test_blocks_without_a_column_are_named(self):
        features, labels = self.panel()
        features = features.drop_columns("year").append_column("age", [np.repeat(self.rng.normal(40, 9, 60), 8)])
        assert only_warning(profile_table(features, labels)).startswith("Adjacent rows of the file are alike (")
        shuffled = np.random.default_rng(9).permutation(480)
        assert not profile_table(features.take(shuffled), labels[shuffled]).warnings

    def test_nothing_is_said_if_rows_are_not_held_out_at_random(self):
        assert not profile_table(*self.panel(nr=self.person), random_folds=False).warnings

    def test_measurements_categories_and_lookups_are_no_subjects(self):
        rng = np.random.default_rng(3)
        age, city = rng.integers(20, 80, 2000), rng.integers(0, 40, 2000)
        others = {
            "height": age + rng.normal(size=2000),
            "weight": 2 * age + rng.normal(size=2000),
            "shop": rng.integers(0, 9, 2000),
        }
        table = pa.table(
            {"age": age, "city": [f"c{one}" for one in city], "state": city * 7 % 10, "x": rng.normal(size=2000), **others}
        )
        assert not profile_table(table, (age + rng.normal(0, 5, 2000) > 50).astype(int)).warnings

    def test_a_grid_of_all_combinations_is_no_block(self):
        grid = np.array(np.meshgrid(*[np.arange(5)] * 4, indexing="ij")).reshape(4, -1)
        table = pa.table(dict(zip("abcd", grid, strict=True)))
        assert not profile_table(table, (grid[0] * grid[1] > grid[2] * grid[3]).astype(int)).warnings


class TestColumnsWithoutEffect:
    def test_constant_and_empty(self):
        profile = look(
            a=[1.0] * N_ROWS,
            b=["x"] * N_ROWS,
            c=pa.nulls(N_ROWS),
            d=pa.nulls(N_ROWS, pa.string()),
            e=pa.nulls(N_ROWS, pa.float64()),
        )
        assert (
            only_warning(profile)
            == "Columns 'a' and 'b' are constant and columns 'c', 'd' and 'e' are empty: they have no effect."
        )
        assert [column.use for column in profile.columns[1:]] == ["not used: constant"] * 2 + ["not used: empty"] * 3

    def test_one_value_or_missing_is_not_constant(self):
        assert not look(a=[1.0, None] * 60, b=["x", None] * 60).warnings

    def test_almost_all_missing(self):
        profile = look(a=[1.0, 2.0, 3.0] + [None] * 117, b=["x"] + [None] * 119, c=[1.0, 2.0, 3.0, None] * 30)
        assert (
            only_warning(profile)
            == "Columns 'a' and 'b' are missing in at least 97.5 % of the rows, so they help little at best."
        )
        assert column_of(profile, "b").note == "Column 'b' is missing in 99.1 % of the rows, so it helps little at best."


class TestTextThatIsNumbers:
    @pytest.mark.parametrize("number", ["{}", "{}.5", "1.{:03d},50 €", "$ {}", "-{}%", "1e{}"])
    def test_a_note(self, number):
        values = [number.format(row % 9) for row in range(N_ROWS - 1)] + ["LOHARU"]
        profile = look(place=values)
        assert not profile.warnings
        assert (
            column_of(profile, "place").note
            == "99.1 % of the values are numbers, but not 'LOHARU': they are used as categories."
        )

    def test_codes(self):
        note = column_of(look(place=["007", "042"] * 60), "place").note
        assert note == "All values are numbers, but some are written like codes: they are used as categories."

    @pytest.mark.parametrize("values", [["a1", "b2"], ["-", "€"], ["1", "red"], [".", "$"]])
    def test_other_text(self, values):
        assert not column_of(look(place=values * 60), "place").note


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
        profile = profile_table(pa.table(table), labels)
        assert (profile.n_copies, profile.n_contradictory) == (20, 3)
        assert only_warning(profile) == (
            "20 rows equal an earlier row in all features, 3 of them with another label. "
            "Copies may fall into both train and test, so scores may be too good. Remove them if they are mistakes."
        )
        with_id = profile_table(pa.table({**table, "id": np.arange(N_ROWS) * 3}), labels)
        assert with_id.n_copies == 20
        assert with_id.warnings[-1].startswith("20 rows equal an earlier row in all features without column 'id', 3 of them")

    def test_few_values_repeat_by_chance(self):
        profile = profile_table(pa.table({"a": RNG.integers(0, 3, N_ROWS), "b": RNG.integers(0, 3, N_ROWS)}), LABELS)
        assert profile.n_copies >= N_ROWS - 9
        assert not profile.warnings

    def test_texts_do_not(self):
        texts = [f"somebody wrote remark {row % 100} about this" for row in range(N_ROWS)]
        assert only_warning(profile_table(pa.table({"a": texts}), LABELS)).startswith("20 rows equal an earlier row")

    def test_a_few_copies_are_counted_only(self):
        rows = np.r_[np.arange(N_ROWS - 3), 0, 1, 2]
        profile = profile_table(pa.table({"a": NOISE[rows], "b": NOISE[::-1][rows]}), LABELS)
        assert profile.n_copies == 3
        assert not profile.warnings

    def test_the_same_as_pandas(self):
        frame = pandas.DataFrame(RNG.integers(-1, 3, (400, 5)).astype(float))
        frame[frame == 2] = np.nan
        frame[0] = frame[0] * -0.0 + frame[0]
        table = pa.table({str(name): pa.array(frame[name], from_pandas=True) for name in frame})
        profile = profile_table(table, np.zeros(400))
        assert profile.n_copies == frame.duplicated().sum() > 0


class TestSize:
    def test_few_rows(self):
        assert (
            only_warning(look(LABELS[:40]))
            == "The table has 40 rows, so scores are rough. Pass --repeats 10 for steadier ones."
        )

    def test_few_rows_of_a_class(self):
        labels = np.where(np.arange(N_ROWS) < 4, "c", LABELS.astype(str))
        assert only_warning(look(labels)) == "Class 'c' has 4 rows, too few to judge. Add rows, or merge classes."
        labels[5:8] = "d"
        assert only_warning(look(labels)).startswith("2 of 4 classes have fewer than 10 rows ('d' 3), too few to judge.")

    def test_more_columns_than_rows(self):
        table = pa.table(
            dict(zip("abcdefgh" * 8, RNG.normal(size=(64, 60)), strict=True))
            | {f"x{n}": RNG.normal(size=60) for n in range(60)}
        )
        warning = only_warning(profile_table(table, LABELS[:60]))
        assert warning.startswith("The table has more columns (68) than rows (60)")


def test_a_file_as_the_commands_read_it(tmp_path):
    path = tmp_path / "table.csv"
    lines = [f"{row},{0.5 * row:.1f},{'red' if row % 3 else 'blue'},?,{2 * label},{label}" for row, label in enumerate(LABELS)]
    path.write_text("\n".join(["row id,size,colour,nothing,points,y", *lines]) + "\n")
    raw, schema = read_table(path, layout_of(path), "y")
    table = split_target(raw, "y", path)
    profile = profile_table(table.features, table.labels, schema)
    assert [column.use for column in profile.columns] == ["number", "number", "2 categories", "not used: empty", "number"]
    assert [warning.split(".")[0] for warning in profile.warnings] == [
        "Column 'points' alone predicts the target in 100 % of the rows (balanced accuracy)",
        "Column 'row id' is different in nearly every row, like an ID, and an ID cannot help with new rows",
        "Column 'nothing' is empty: it has no effect",
    ]


def test_nothing_depends_on_the_order_of_classes_or_on_chance():
    columns = {"answer": LABELS + 0.3 * RNG.uniform(size=N_ROWS), "c": RNG.integers(0, 9, N_ROWS)}
    assert look(**columns) == look(**columns)
    assert look(1 - LABELS, **columns).warnings == look(**columns).warnings
