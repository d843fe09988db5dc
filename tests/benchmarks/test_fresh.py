"""Fresh sets: the reader, the list, the protocol and the statistics, on a package and on numbers that are made up here."""

import hashlib
import io
import itertools
import json
import random
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks import _fresh_arms as arms
from benchmarks import _fresh_protocol as protocol
from benchmarks import _fresh_report as page
from benchmarks import _packages as packages
from benchmarks._cells import FIELDS, METRICS, Results
from benchmarks._fresh_figure import draw
from benchmarks._fresh_sets import ELIGIBLE, FRESH, FRESH_TIMED, FreshSet, Size, read_table
from benchmarks._fresh_statistics import estimate_by_set, find_gains, summarise
from benchmarks._fresh_table import parse
from metricfit._errors import DataError, UsageError
from reproductions import _tables as tables

TABLE = b'"","id","answer","colour","age"\n"1",7,"yes","red",30\n"2",8,"no",NA,41\n"3",9,NA,"blue",52\n'
PACKAGE = packages.Package("made-up", "1.0", "made_up-1.0.tar.gz", "0" * 64, "csv/", "made_up/data.tar.gz")
SIZE = Size(rows=2, columns=2, text=1, classes=2, rarest=1)
ENTRY = FreshSet(
    "survey", "made-up", "a.csv", "answer", SIZE, "asked", {"id": "identifier"}, hashlib.sha256(TABLE).hexdigest()
)


def tar(files):
    """A compressed archive of these files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the archive of a made-up package."""
    monkeypatch.setitem(packages.PACKAGES, "made-up", PACKAGE)
    (tmp_path / PACKAGE.archive).write_bytes(tar({"made_up/data.tar.gz": tar({"csv/a.csv": TABLE})}))
    return tmp_path


def test_a_table_is_read_out_of_a_package(folder):
    features, labels = read_table(ENTRY, folder)
    assert labels.tolist() == ["yes", "no"]  # the row without a class is left out
    assert list(features) == ["colour", "age"]
    assert features["age"].tolist() == [30, 41]
    assert features["colour"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sha256": "f" * 64}, f"has SHA-256 {ENTRY.sha256}, expected {'f' * 64}.*so that made-up 1.0 is downloaded again"),
        ({"path": "b.csv"}, r"has no file 'csv/b\.csv'"),
    ],
)
def test_a_changed_or_missing_file_is_refused(folder, change, message):
    with pytest.raises(DataError, match=message):
        read_table(replace(ENTRY, **change), folder)


def test_pip_is_asked_with_the_checksum_and_its_message_is_passed_on(monkeypatch, tmp_path):
    asked = []

    def run(command, **options):
        asked.append(Path(command[-1]).read_text())
        return subprocess.CompletedProcess(command, 1, "", "looking\nERROR: No matching distribution found")

    monkeypatch.setattr(packages.subprocess, "run", run)
    with pytest.raises(
        DataError, match=r"could not download made-up 1.0: ERROR: No matching distribution found\. Put made_up-1"
    ):
        packages.download(PACKAGE, tmp_path / "new")
    assert asked == [f"made-up==1.0 --hash=sha256:{'0' * 64}\n"]


def test_headers_of_keel_and_no_header():
    keel = parse("@relation x\n% said\n@attribute Age integer [1, 9]\n@attribute Class {g, b}\n@data\n5, g\n<null>, b\n")
    assert keel["Class"].tolist() == ["g", "b"]
    assert keel["Age"].isna().tolist() == [False, True]
    assert parse("sick,1\nwell,?\n")["c0"].tolist() == ["sick", "well"]


def test_the_lists_keep_their_own_rules():
    assert (len(FRESH), len(FRESH_TIMED)) == (30, 11)
    drawn = {one.name for one in FRESH.values() if one.group == "K"}
    assert drawn == set(random.Random(18).sample(ELIGIBLE, 10))
    both = [*FRESH.values(), *FRESH_TIMED.values()]
    assert not {one.name for one in both} & set(tables.SETS)
    assert len({one.sha256 for one in both}) == len(both)
    for one in both:
        assert one.size.rows >= 300
        assert 5 <= one.size.columns <= 50
        assert one.size.rarest >= 15


def write_scores(file, scores):
    """Rows of a CSV file; ``scores`` has for (set, metric, method) one number per split, or None for a fit that failed."""
    results = Results(file)
    about = {"seconds": 1.0, "n_train": 400, "n_test": 100, "n_classes": 2}
    for (name, metric, method), values in scores.items():
        for seed, value in enumerate(values):
            known = {"score": np.nan, "note": "failed: ValueError: no"} if value is None else {"score": value, "note": ""}
            results.add({"set": name, "seed": seed, "metric": metric, "method": method, **about, **known})
    return Results(file)


def test_gains_on_a_made_up_file(tmp_path):
    results = write_scores(
        tmp_path / "scores.csv",
        {
            ("hdma", "mcc", "ours"): [0.51, 0.52, 0.53],
            ("hdma", "mcc", "other"): [0.50, 0.50, 0.50],
            ("chile", "mcc", "ours"): [0.400, None, 0.400],
            ("chile", "mcc", "other"): [0.401, 0.9, 0.401],
            ("mid", "mcc", "ours"): [0.5, 0.5, 0.5],
            ("mid", "mcc", "other"): [0.53, 0.53, 0.53],
        },
    )
    gains = {gain.set: gain for gain in find_gains(results, "ours", "other")}
    assert gains["hdma"].by_split == pytest.approx({0: 1.0, 1: 2.0, 2: 3.0})
    assert gains["hdma"].estimate.low == pytest.approx(-1.286, abs=1e-3)  # as in the doctest of corrected_estimate
    assert set(gains["chile"].by_split) == {0, 2}  # the split that failed is left out
    found = summarise(list(gains.values()))
    assert (found.wins, found.ties, found.losses) == (1, 1, 1)
    assert (found.n_sets, found.n_cells, found.gained, found.lost) == (3, 3, 0, 0)
    assert found.mean == pytest.approx((2.0 - 0.1 - 3.0) / 3.0)
    assert (found.worst.set, found.best.set) == ("mid", "hdma")
    # over sets: mean -11/30, standard deviation of 2, -0.1, -3, t of two degrees of freedom 4.303
    reach = 4.303 * np.std([2.0, -0.1, -3.0], ddof=1) / np.sqrt(3)
    assert found.over_sets.high - found.over_sets.mean == pytest.approx(reach, rel=1e-3)


def test_a_clear_gain_is_significant_after_holm(tmp_path):
    scores = {("hdma", metric, "other"): [0.5] * 5 for metric in METRICS}
    scores |= {("hdma", metric, "ours"): [0.5, 0.9, 0.1, 0.8, 0.2] for metric in METRICS}
    scores["hdma", METRICS[0], "ours"] = [0.9, 0.9001, 0.9002, 0.9, 0.9001]
    gains = find_gains(write_scores(tmp_path / "scores.csv", scores), "ours", "other")
    gains.sort(key=lambda gain: METRICS.index(gain.metric))
    found = summarise(gains)
    assert (found.gained, found.lost) == (1, 0)
    assert gains[0].adjusted == pytest.approx(4.0 * gains[0].estimate.p)
    assert summarise(gains, lambda gain: gain.metric == "mcc").gained == 0
    (mean,) = estimate_by_set(gains).values()
    assert mean.mean == pytest.approx(np.mean([gain.estimate.mean for gain in gains]))


@pytest.mark.parametrize(
    ("mean", "half_width", "said"),
    [(0.5, 0.4, "kept"), (0.4, 0.3, "smaller"), (1.0, 1.0, "not shown"), (-1.0, 0.5, "reversed")],
)
def test_what_became_of_a_promise_of_one_point(mean, half_width, said):
    found = SimpleNamespace(mean=mean, over_sets=SimpleNamespace(low=mean - half_width, high=mean + half_width))
    assert page.verdict(SimpleNamespace(mean=1.0), found) == said


def test_other_rules_are_refused(tmp_path, monkeypatch):
    """The rules are all Python files of the package, by their names and contents."""
    (tmp_path / "a.py").write_text("x = 1")
    monkeypatch.setattr(protocol.metricfit, "__file__", str(tmp_path / "__init__.py"))
    file = tmp_path / "fresh.json"
    then = protocol.freeze(file, 3000, plan="one")
    assert protocol.freeze(file, 3000, plan="one") == then
    with pytest.raises(UsageError, match="rows was 3000, is 2000; plan was one, is other"):
        protocol.freeze(file, 2000, plan="other")
    for content, name in (("x = 2", "a.py"), ("x = 1", "b.py")):
        (tmp_path / "a.py").write_text(content)
        (tmp_path / "a.py").rename(tmp_path / name)
        with pytest.raises(UsageError, match=rf"rules was {then['rules']}, is \w{{64}}\. Sets are fresh once"):
            protocol.freeze(file, 3000, plan="one")


def test_a_fit_that_fails_is_a_row_without_a_score(monkeypatch):
    def fail(split, metric):
        raise ValueError("too few rows")

    monkeypatch.setattr(arms, "ARMS", {"good": lambda split, metric: (np.full(20, "a", object), 0.5), "bad": fail})
    table = pd.DataFrame({"x": np.arange(100.0)}), np.array(["a", "b"] * 50, dtype=object)
    rows = list(arms.evaluate_split("survey", table, 0, 1000))
    assert [set(row) for row in rows] == [set(FIELDS)] * 8
    good, bad = rows[:4], rows[4:]
    assert [row["score"] for row in good if row["metric"] == "accuracy"] == [0.5]
    assert {row["note"] for row in bad} == {"failed: ValueError: too few rows"}
    assert np.isnan([row["score"] for row in bad]).all()


def test_the_page_says_promised_found_and_failed(tmp_path):
    promises = tmp_path / "promises"
    promises.mkdir()
    for question in page.QUESTIONS:  # two of them share a file and its method
        known = {row["method"] for row in Results(promises / question.file).rows}
        levels = {question.promised_ours: 0.9, question.promised_other: 0.88}
        cells = itertools.product(("car", "pima", "adult"), METRICS, levels.keys() - known)
        write_scores(promises / question.file, {cell: [levels[cell[2]]] * 3 for cell in cells})
    cells = itertools.product(("hdma", "chile", "kc1"), METRICS, arms.ARMS)
    scores = {cell: [0.81 if cell[2] == page.ENSEMBLE else 0.8] * 3 for cell in cells}
    scores["kc1", "mcc", page.LINEAR] = [0.8, None, 0.8]
    results = write_scores(tmp_path / "fresh.csv", scores)
    protocol.freeze(tmp_path / "fresh.json", 3000)
    text = page.report(results, tmp_path / "fresh.json", promises)
    assert "Ensemble against boosted trees + offsets: kept.** Promised +2.00, found +1.00" in text
    assert "12 cells won, 0 even, 0 lost" in text
    assert "| kc1 | 1 | mcc | linear | failed: ValueError: no |" in text
    assert json.loads((tmp_path / "fresh.json").read_text())["rules"][:16] in text
    draw(results, tmp_path / "fresh.svg", promises)
    assert "hdma" in (tmp_path / "fresh.svg").read_text()
