"""Costs as people read them: in verdicts and in the terminal they are positive, and a gain is a saving."""

from dataclasses import replace

from metricfit.cli._show import show_comparison
from metricfit.metrics import Cost
from tests.comparison.made import around, compare_scores


def costly():
    scores = {
        "trivial_constant": around(-0.9),
        "linear_threshold": around(-0.56, 0.01),
        "boosting_threshold": around(-0.48, 0.02),
    }
    return replace(compare_scores(**scores), metric="minus cost", measure=Cost([[0.0, 1.0], [5.0, 0.0]]))


def test_a_verdict_on_costs_has_no_negative_score():
    words = costly().verdict.about_model
    assert "Best: boosting, threshold, 0.4800" in words
    assert "It beats linear, threshold, 0.5600, by a saving of +0.0800 per case (95 % interval +0.0" in words
    assert "-0.48" not in words
    assert "-0.56" not in words
    assert "cost 0.48 per case" in costly().about("boosting, threshold").verdict.headline
    assert "minus cost" not in costly().verdict.sentence


def test_the_terminal_shows_costs(capsys):
    show_comparison(costly())
    text = capsys.readouterr().out
    assert "cost per case" in text
    assert "minus cost" not in text
    (line,) = (line for line in text.splitlines() if line.strip().startswith("boosting"))
    assert "0.4800 (0.4" in line  # the interval too, from low to high
    assert "-0.4800" not in line
