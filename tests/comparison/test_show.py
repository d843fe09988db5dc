"""The printed table, costs as people read them, and the lines of progress."""

import dataclasses
import re

import numpy as np
import pytest
from rich.console import Console

from metricfit import _progress
from metricfit.cli import _compare
from metricfit.comparison import compare
from metricfit.comparison._verdict import interval_in_words
from metricfit.metrics import Cost
from tests.comparison.made import around, compare_scores


@pytest.fixture(scope="module")
def small():
    random = np.random.default_rng(0)
    features = random.normal(size=(100, 2))
    target = np.where(features[:, 0] > 0.2, "[bold]good", "bad")
    return compare(features, target, "accuracy", models=["linear"], methods=["threshold"], n_repeats=1)


def shown(comparison, width, monkeypatch, capsys):
    monkeypatch.setattr(_compare, "console", lambda: Console(highlight=False, width=width))
    _compare.show_comparison(comparison)
    return capsys.readouterr().out.rstrip().splitlines()


def test_the_table_names_the_constant_answer_and_the_verdict_is_last(small, monkeypatch, capsys):
    warned = dataclasses.replace(small, warnings=("This is odd.", "That too."), notes=("A note.",))
    lines = shown(warned, 120, monkeypatch, capsys)
    assert any(line.split()[:3] == ["trivial", "always", "'bad'"] for line in lines)
    assert "5-fold cross-validation, 1 repeat; 95 % intervals; seed 0." in lines
    assert lines[-5:-2] == ["A note.", "Warning: This is odd.", "Warning: That too."]
    assert lines[-2:] == warned.verdict.sentence.splitlines()
    assert " to " in next(line for line in lines if "always" in line)


def test_eighty_columns_and_long_names(small, monkeypatch, capsys):
    long = dataclasses.replace(small.reference.contender, model="x" * 70)
    results = {**small.results, "long": dataclasses.replace(small.reference, contender=long)}
    lines = shown(dataclasses.replace(small, results=results, metric="m" * 90), 80, monkeypatch, capsys)
    table = lines[: next(index for index, line in enumerate(lines) if line.startswith("5-fold"))]
    assert max(map(len, table)) <= 80
    assert "x" * 70 not in "".join(table)
    assert sum("always 'bad'" in line for line in table) == 1


def test_few_scores_have_no_intervals(monkeypatch, capsys):
    features = np.random.default_rng(0).normal(size=(60, 2))
    options = {"models": ["linear"], "methods": ["threshold"], "n_splits": 2, "n_repeats": 1}
    found = compare(features, np.where(features[:, 0] > 0.0, "[bold]good", "bad"), "accuracy", **options)
    lines = shown(found, 120, monkeypatch, capsys)
    assert not any("inf" in line or "nan" in line for line in lines)
    assert any(line.split()[-2:-1] == ["-"] for line in lines)
    assert lines[-1].startswith("Two scores are too few for a verdict.")
    assert "2-fold cross-validation, 1 repeat; too few scores for intervals; seed 0." in lines
    assert found.table[0]["p"] is None


def costly():
    scores = {
        "trivial_constant": around(-0.9),
        "linear_threshold": around(-0.56, 0.01),
        "boosting_threshold": around(-0.48, 0.02),
    }
    return dataclasses.replace(compare_scores(**scores), metric="minus cost", measure=Cost([[0.0, 1.0], [5.0, 0.0]]))


def test_a_verdict_on_costs_has_no_negative_score():
    words = costly().verdict.about_model
    assert "Best: boosting, threshold (0.4800)" in words
    assert "It beats linear, threshold (0.5600): a saving of 0.0800 per case (95 % interval 0.0" in words
    assert "-0.48" not in words
    assert "-0.56" not in words
    rise = interval_in_words(costly().reference.behind_best, costly())
    assert re.fullmatch(r"a rise of 0\.0800 per case \(95 % interval 0\.06\d+ to 0\.09\d+\)", rise)
    assert "cost 0.48 per case" in costly().about("boosting, threshold").verdict.headline
    assert "minus cost" not in costly().verdict.sentence


def test_the_terminal_shows_costs(capsys):
    _compare.show_comparison(costly())
    text = capsys.readouterr().out
    assert "cost per case" in text
    assert "minus cost" not in text
    assert "saving vs linear threshold" in text
    (line,) = (line for line in text.splitlines() if line.strip().startswith("boosting"))
    assert "0.4800 (0.4" in line  # the interval too, from low to high
    assert "-0.4800" not in line


def test_a_line_per_split_without_a_terminal(capsys, monkeypatch):
    moments = iter([0.0, 14.0, 28.0])
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(moments))
    with _progress.bar_or_lines(by_split=True) as progress:
        progress.start(20)
        for split in (1, 2):
            for _ in range(2):
                progress.step("a fit", None)
            progress.split_done(split, 10)
    assert capsys.readouterr().err.splitlines() == [
        "The first of 10 splits took 14 s: about 2 minutes remain.",
        "Split 2 of 10 is done, after 28 s.",
    ]


def test_a_bar_on_a_terminal_and_lines_elsewhere(monkeypatch):
    assert isinstance(_progress.bar_or_lines("f1"), _progress.Lines)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    bar = _progress.bar_or_lines("f1")
    assert isinstance(bar, _progress.Bar)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(_progress.bar_or_lines(by_split=True), _progress.Lines)


def test_remaining_time_counts_jobs():
    assert _progress.remaining_time(14.0, 10, 2) == "The first of 10 splits took 14 s: about 56 s remain."
    assert _progress.remaining_time(14.0, 10, 10) == ""
