"""Columns of scores are found by their names, in the fit and in new rows."""

import numpy as np
import pytest
from scipy.special import expit

from metricfit import DecisionRule, tune_offsets

pd = pytest.importorskip("pandas")


@pytest.fixture
def draw():
    random = np.random.default_rng(0)
    y = np.where(random.random(600) < 0.1, "fraud", "ok")
    fraud = expit(random.normal(size=600) + 3.0 * (y == "fraud") - 3.0)
    return pd.DataFrame({"ok": 1.0 - fraud, "fraud": fraud}), y


def test_new_rows_are_read_by_name(draw):
    frame, y = draw
    rule = DecisionRule("f1").fit(frame, y)
    expected = rule.predict(frame)
    for other in (frame[["fraud", "ok"]], frame.assign(id="a")[["id", "fraud", "ok"]], frame.to_numpy()):
        np.testing.assert_array_equal(rule.predict(other), expected)
    np.testing.assert_allclose(rule.adapt(frame[["fraud", "ok"]]).shares_, rule.adapt(frame).shares_)
    assert rule.score(frame[["fraud", "ok"]], y) == rule.score(frame, y)
    with pytest.raises(ValueError, match=r"columns of the fit, 'ok', 'fraud', got 'ok', 'theft'\. Rename them"):
        rule.predict(frame.rename(columns={"fraud": "theft"}))


def test_other_frames_are_read_by_name(draw):
    frame, y = draw
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    rule = DecisionRule("f1").fit(frame, y)
    swapped = {name: frame[name].to_numpy() for name in ("fraud", "ok")}
    for other in (pl.DataFrame(swapped), pa.table(swapped)):
        np.testing.assert_array_equal(rule.predict(other), rule.predict(frame))
        np.testing.assert_array_equal(DecisionRule("f1").fit(other, y).predict(frame), rule.predict(frame))


def test_default_names_say_nothing(draw):
    frame, y = draw
    table = frame[["fraud", "ok"]].to_numpy()
    of_array, of_default = (DecisionRule("f1").fit(one, y) for one in (table, pd.DataFrame(table)))
    for rule in (of_array, of_default):
        for new in (table, pd.DataFrame(table), frame, frame[["fraud", "ok"]]):  # the last two by their classes
            np.testing.assert_array_equal(rule.predict(new), of_array.predict(table))


@pytest.mark.parametrize("names", [("p_ok", "p_fraud"), ("proba[ok]", "proba[FRAUD]"), ("score ok", "score fraud")])
def test_the_fit_reads_what_names_say(draw, names):
    frame, y = draw
    rule = DecisionRule("f1").fit(frame.set_axis(names, axis=1), y)
    assert rule.classes_.tolist() == ["ok", "fraud"]
    assert rule.score_ == DecisionRule("f1").fit(frame, y).score_ > 0.5
    offsets = tune_offsets(frame.set_axis(names, axis=1), y, "f1")
    np.testing.assert_allclose(offsets, tune_offsets(frame, y, "f1"))


def test_numbers_and_classes_without_rows(draw):
    frame, y = draw
    numbers = frame.set_axis(["p_0", "p_1"], axis=1)[["p_1", "p_0"]]
    rule = DecisionRule("f1").fit(numbers, (y == "fraud").astype(int))
    assert rule.classes_.tolist() == [1, 0]
    assert rule.score_ > 0.5
    three = frame.assign(theft=0.0).add_prefix("p_")[["p_theft", "p_ok", "p_fraud"]]
    assert DecisionRule("accuracy").fit(three, y).classes_.tolist() == ["theft", "ok", "fraud"]


def test_names_that_match_in_part_are_an_error(draw):
    frame, y = draw
    with pytest.raises(ValueError, match=r"'p_fraud' has the name of label 'fraud', .* Pass `classes=`"):
        DecisionRule("f1").fit(frame.set_axis(["rest", "p_fraud"], axis=1), y)
    rule = DecisionRule("f1", classes=["ok", "fraud"]).fit(frame.set_axis(["rest", "p_fraud"], axis=1), y)
    assert rule.score_ > 0.5


def test_a_single_column_is_about_the_class_in_its_name(draw):
    frame, y = draw
    for scores in (frame[["ok"]].add_prefix("p_"), frame["ok"].rename("p_ok")):
        rule = DecisionRule("accuracy").fit(scores, y)
        assert rule.positive_ == "ok"
        assert "The positive class is 'ok', by the name of the column." in rule.notes_
        assert rule.score_ > 0.9
        with pytest.raises(ValueError, match="the only column of scores, 'p_ok', belongs to 'ok'"):
            DecisionRule("f1", pos_label="fraud").fit(scores, y)


def test_several_labels():
    random = np.random.default_rng(0)
    table = random.integers(0, 2, (300, 3))
    scores = expit(2.0 * random.normal(size=(300, 3)) + 4.0 * table - 2.0)
    order = [2, 0, 1]  # folk, jazz, rock
    labels = np.array(["jazz", "rock", "folk"])
    frame = pd.DataFrame(scores, columns=labels)[labels[order]]
    expected = DecisionRule("f1_macro", classes=labels.tolist()).fit(scores, table)
    lists = [labels[row == 1].tolist() for row in table]
    by_lists = DecisionRule("f1_macro").fit(frame.add_prefix("p_"), lists)
    assert by_lists.classes_.tolist() == ["folk", "jazz", "rock"]
    assert by_lists.score_ == pytest.approx(expected.score_)
    by_table = DecisionRule("f1_macro").fit(frame, pd.DataFrame(table, columns=labels))
    assert by_table.score_ == pytest.approx(expected.score_)
    np.testing.assert_array_equal(by_table.predict(frame[labels]), by_table.predict(frame))
