"""The comparison with a time limit: its list, its clock and its page, on numbers that are made up here."""

import bz2
import hashlib
import json
import time
import zipfile

import numpy as np
import pandas as pd

from benchmarks import _fresh_protocol as protocol
from benchmarks import _packages as packages
from benchmarks._cells import Results
from benchmarks._fresh_sets import FRESH_TIMED, LIST_TIMED, FreshSet, Size, read_table
from benchmarks._timed_arms import DEFAULT, OURS, TimedSplit, name_of, processor_clock
from benchmarks._timed_report import report
from benchmarks.fresh_timed import PLAN, ROWS


def test_the_committed_results_are_of_the_plan_and_of_the_list():
    written = json.loads((LIST_TIMED.parent / "results" / "fresh_timed.json").read_text())
    assert written["plan"] == repr(PLAN)
    assert written["list"] == hashlib.sha256(LIST_TIMED.read_bytes()).hexdigest()
    assert written["rows"] == ROWS


def test_a_packed_table_is_read(tmp_path, monkeypatch):
    content = bz2.compress(b"id,answer,age\n1,0,30\n2,,41\n3,1,52\n")
    package = packages.Package("made-up", "1.0", "made_up-1.0.whl", "0" * 64, "csv/")
    monkeypatch.setitem(packages.PACKAGES, "made-up", package)
    with zipfile.ZipFile(tmp_path / package.archive, "w") as archive:
        archive.writestr("csv/a.csv.bz2", content)
    checksum, left_out = hashlib.sha256(content).hexdigest(), {"id": "identifier"}
    one = FreshSet("a", "made-up", "a.csv.bz2", "answer", Size(2, 1, 0, 2, 1), "asked", left_out, checksum)
    features, labels = read_table(one, tmp_path)
    assert features["age"].tolist() == [30, 52]
    assert labels.tolist() == ["0.0", "1.0"]


def test_the_clock_counts_no_waiting_and_is_put_back():
    before = time.monotonic
    with processor_clock():
        begin = time.monotonic()
        time.sleep(0.2)
        assert time.monotonic() - begin < 0.1
    assert time.monotonic is before


def test_the_rarer_class_is_the_positive_one():
    target = np.array(["rare"] * 10 + ["common"] * 40, dtype=object)
    split = TimedSplit("a", (pd.DataFrame({"x": np.arange(50.0)}), target), 0, 100)
    assert np.bincount(split.y).tolist() == [32, 8]
    assert split.metrics[-1] == "f1"


def test_the_page_has_gains_over_sets(tmp_path):
    frozen = tmp_path / "fresh_timed.json"
    protocol.freeze(frozen, ROWS, LIST_TIMED, plan="one")
    results = Results(tmp_path / "fresh_timed.csv", [])
    about = {"seed": 0, "metric": "mcc", "n_train": 80, "n_test": 20, "n_classes": 2, "note": ""}
    for index, name in enumerate(list(FRESH_TIMED)[:3]):
        results._keep({**about, "set": name, "method": DEFAULT, "score": 0.5, "seconds": 1.0})
        results._keep({**about, "set": name, "method": name_of(OURS, 20.0), "score": 0.5 + 0.01 * index, "seconds": 18.0})
    text = report(results, frozen)
    assert "| 20 s | default | mcc | 3 | 3 | +1.00 (-1.48 … +3.48) | +1.00 | +0.50 | 2/1/0 |" in text
    assert "| metricfit, 20 s | 3 | 90 % | 90 % |" in text
