"""The parts of the page, each alone: words, the headline, the main figure, heat maps, features, the data."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from metricfit.comparison._features import Effect
from metricfit.profile import ColumnProfile, TableProfile
from metricfit.report import _confusion as heatmap
from metricfit.report import _strips as strips
from metricfit.report._confusion import gain
from metricfit.report._page import _cards, _lead
from metricfit.report._strips import effects, forest
from metricfit.report._svg import Strip, axis
from metricfit.report._words import MINUS, PageWords, marks, score, visible
from tests.comparison.made import around, compare_scores
from tests.report.conftest import bare


def shifted(comparison, **differences):
    """The comparison with other differences to the reference, by the beginning of a contender's name."""
    results = {}
    for name, result in comparison.results.items():
        start = next((start for start in differences if name.startswith(start)), None)
        own = result.difference if start is None else replace(result.difference, **differences[start])
        results[name] = replace(result, difference=own)
    return replace(comparison, results=results)


def untested(comparison):
    """The comparison as it is with fewer than five scores: no intervals, no p-values."""

    def bare(estimate):
        return replace(estimate, low=-math.inf, high=math.inf, p=math.nan)

    return replace(
        comparison,
        results={
            name: replace(
                result,
                estimate=bare(result.estimate),
                difference=bare(result.difference),
                behind_best=bare(result.behind_best),
            )
            for name, result in comparison.results.items()
        },
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 日本 😀", "plain ü 日本 😀"),
        ("a\tb\nc\x00", "a\\tb\nc\\x00"),
        ("\x1b[31m", "\\x1b[31m"),
        ("txt.\u202eexe", "txt.\\u202eexe"),  # would turn what follows
        ("\ud800", "\\ud800"),  # half a character: it cannot be written to a file
        ("a\u200db", "a\u200db"),  # joins emoji
    ],
)
def test_nothing_is_invisible(text, shown):
    assert visible(text) == shown
    visible(text).encode("utf-8")


def test_contenders_in_words(two):
    words = {name: result.contender.in_words for name, result in two.results.items()}
    assert words["trivial, constant"] == "a constant answer"
    assert words["linear, threshold"] == "the linear model with a tuned threshold"
    assert words["boosting, cross_entropy"] == "boosted trees trained by plain cross-entropy"
    assert words["linear, auto"] == "the linear model with the automatic choice of a method"


def lead(comparison):
    return _lead(comparison, PageWords.of(comparison))


def test_the_lead_names_scores():
    unclear = compare_scores(linear_threshold=around(0.60), boosting_threshold=around(0.63, 0.04))
    assert lead(unclear) == (
        "Best of 3 for f1: boosted trees with a tuned threshold (0.6300). Reference: the linear model with a tuned threshold (0.6000)."
    )
    assert lead(compare_scores(linear_threshold=around(0.698, 0.001), boosting_threshold=around(0.7))) == (
        "For f1: the linear model with a tuned threshold (0.6980). Best: boosted trees with a tuned threshold (0.7000)."
    )
    assert lead(unclear.about("linear, threshold")) == "Fitted: the linear model with a tuned threshold (0.6000)."


def test_headlines_are_short_and_have_no_p_values(two, four):
    """Two lines at 1200 pixels."""
    for found in (two, four, untested(two), *(two.about(name) for name in two.results if not name.startswith("trivial"))):
        assert len(found.verdict.headline) <= 140
        assert " p " not in found.verdict.headline


def test_cards_and_rows_are_about_the_fitted_model(two):
    """The issue: the report of `fit` was about the best contender, whatever was fitted."""
    fitted = two.about("ensemble, cross_entropy")
    card = _cards(fitted, PageWords.of(fitted))[0]
    assert card == ("This model", score(fitted.main.estimate.mean), "ensemble, cross_entropy")
    assert gain(fitted)["result"] is fitted.results["ensemble, cross_entropy"]
    assert fitted.choice is fitted.main
    assert "fitted" in marks(fitted)["ensemble, cross_entropy"]


def test_rows_of_the_main_figure(two):
    found = forest(two)
    rows = found["rows"]
    assert [row["name"] for row in rows] == list(two.results)
    assert [row["evidence"] for row in rows if row["result"] is two.reference] == [""]
    for row in rows:
        hollow = 'class="ring' in row["strip"]
        assert hollow == (row["hollow"] and not row["outside"])
        assert f"{row['name']}: " in row["strip"]
    assert rows[0]["outside"] == ("outside the scale" in rows[0]["strip"])


def test_a_far_contender_does_not_stretch_the_scale(two):
    far = shifted(two, trivial={"mean": -9.0, "low": -9.1, "high": -8.9}, boosting={"mean": -5.0, "low": -5.1, "high": -4.9})
    outside = {row["name"] for row in forest(far)["rows"] if row["outside"]}
    assert outside == {"trivial, constant", "boosting, cross_entropy", "boosting, threshold"}
    assert forest(far)["has_outside"]


def test_without_intervals_there_are_dots_and_no_lines(two):
    found = forest(untested(two))
    assert not found["has_intervals"]
    assert {row["words"] for row in found["rows"] if row["evidence"]} == {"not tested"}
    assert all("whisker" not in row["strip"] for row in found["rows"])


def test_a_strip_puts_things_where_they_belong():
    strip = Strip(-1.0, 3.0, "tip <b>")
    strip.whisker(-5.0, 1.0, 2)
    strip.dot(0.0, 2)
    strip.bar(-1.0, "away")
    found = strip.svg()
    assert 'x1="0.00%" y1="50%" x2="50.00%"' in found  # as far as it lies on the scale
    assert 'cx="25.00%"' in found
    assert 'class="away" x="0.00%" y="50%" width="25.00%"' in found
    assert "tip &lt;b&gt;" in found
    assert re.findall(">([^<>]+)</text>", str(axis(-1.0, 1.0))) == [f"{MINUS}1", f"{MINUS}0.5", "0", "0.5", "1"]


def test_cells_of_a_small_matrix():
    rows = heatmap.cells(np.array([[99.0, 1.0], [0.0, 0.0]]), ["a", "b"])
    assert [name for name, _ in rows] == ["a", "b"]
    assert [(cell["count"], cell["level"], cell["kind"]) for cell in rows[0][1]] == [(99, 7, "hit"), (1, 2, "miss")]
    assert [cell["level"] for cell in rows[1][1]] == [0, 0]  # a class without rows


def test_a_hundred_classes_are_small_and_readable():
    """All 10,000 cells filled: one path per shade and hue, some labels, few tooltips."""
    matrix = np.random.default_rng(0).integers(1, 40, (100, 100)) + np.diag(np.full(100, 900.0))
    names = [f"<species> number {index}" for index in range(100)]
    found = heatmap.picture(matrix.astype(float), names, "a <matrix>", range(100))
    assert len(found) < 300_000
    assert found.count("h1v1h-1z") == 10_000
    assert found.count('<path class="hit') == 1
    assert found.count('<rect class="tip"') == heatmap.MAX_TIPS
    assert found.count("<text") == 2 * 25  # every fourth
    assert "<species>" not in found
    assert "&lt;species&gt; number 99, right: " in found


def test_empty_cells_are_not_drawn():
    found = heatmap.picture(np.eye(26) * 3.0, [chr(65 + index) for index in range(26)], "letters", range(26))
    assert found.count("h1v1h-1z") == 26
    assert found.count("<text") == 2 * 26
    assert heatmap.frequent_confusions(np.eye(26), list("a" * 26)) == []


def test_of_a_thousand_classes_those_with_errors_are_drawn():
    matrix = np.eye(1000) * 9.0
    matrix[998, 3] = 1.0
    drawn = heatmap.classes_to_draw([matrix, matrix])
    assert len(drawn) == heatmap.MAX_DRAWN
    assert {3, 998} <= set(drawn)
    found = heatmap.picture(matrix, [f"c{index}" for index in range(1000)], "many", drawn)
    assert found.count("h1v1h-1z") == heatmap.MAX_DRAWN + 1
    assert "true c998, predicted c3: 1 rows, 10%" in found


def test_frequent_confusions():
    matrix = np.array([[5.0, 3.0, 2.0], [0.0, 9.0, 1.0], [4.0, 0.0, 6.0]])
    found = heatmap.frequent_confusions(matrix, ["a", "b", "c"])
    assert [(one["true"], one["predicted"], one["rows"]) for one in found] == [
        ("c", "a", 4),
        ("a", "b", 3),
        ("a", "c", 2),
        ("b", "c", 1),
    ]
    assert found[0]["share"] == pytest.approx(0.4)


def test_effects(two):
    assert effects(bare(two)) is None
    strong = tuple(Effect(f"f{index}", "1", (-1) ** index * (2.0 - 0.1 * index), 0.1) for index in range(18))
    found = effects(replace(two, effects=strong))
    assert (found["label"], len(found["rows"]), found["n_more"]) == ("1", 15, 3)
    assert 'class="towards"' in found["rows"][0]["strip"]
    assert 'class="away"' in found["rows"][1]["strip"]
    assert found["rows"][0]["factor"] == "7.39"  # exp(2)
    several = effects(replace(two, effects=(*strong[:2], Effect("g", "0", 1.0, 0.1))))
    assert several["label"] is None


def column(name, note=""):
    return ColumnProfile(name, "number", "number", 0, 3, ("1", "2"), note)


def test_of_wide_tables_the_columns_with_notes_come_first():
    wide = TableProfile((*(column(f"c{index}") for index in range(50)), column("odd", "It is odd.")), 10, 0)
    shown, folded = strips.open_and_folded(wide)
    assert [one.name for one in shown] == ["odd", *(f"c{index}" for index in range(30))]
    assert [one.name for one in folded] == [f"c{index}" for index in range(30, 50)]
    narrow = TableProfile((column("a"), column("b", "It is odd.")), 10, 0)
    assert strips.open_and_folded(narrow) == ([*narrow.columns], [])


def test_class_sizes(two, four):
    sizes = strips.class_sizes(two)
    assert [size["label"] for size in sizes] == ["0", "1"]
    assert sum(size["rows"] for size in sizes) == 400
    assert sum(size["share"] for size in sizes) == pytest.approx(1.0)
    assert [size["label"] for size in strips.class_sizes(four)] == [str(label) for label in four.classes]
