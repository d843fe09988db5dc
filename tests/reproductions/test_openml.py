"""A missing file is downloaded from OpenML, whose answers are made up here: tests have no network."""

from types import SimpleNamespace
from urllib.error import URLError

import pandas as pd
import pytest
import sklearn.datasets

from metricfit._errors import DataError
from reproductions import _tables as tables


def answers(monkeypatch, answer):
    asked = []

    def fetch_openml(name, version, **options):
        asked.append((name, version))
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return asked


def test_openml_is_asked_and_identifiers_are_left_out(monkeypatch, tmp_path):
    """As an example of a part of a set, satellite47 keeps the rows of two classes."""
    frame = pd.DataFrame({"MouseID": ["a", "b", "c"], "DYRK1A_N": [0.5, 1.0, None]})
    asked = answers(monkeypatch, SimpleNamespace(data=frame, target=pd.Series(["4.", "1.", "7."], dtype="category")))
    features, labels = tables.load("mice-protein", tmp_path)
    assert list(features.columns) == ["x0"]
    assert features["x0"].isna().tolist() == [False, False, True]
    assert labels.tolist() == ["4.", "1.", "7."]
    features, labels = tables.load("satellite47", tmp_path)
    assert features["x0"].isna().tolist() == [False, True]
    assert labels.tolist() == ["4.", "7."]
    assert asked == [("MiceProtein", 4), ("satimage", 1)]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cylinder-bands-as-spelled", "Download 'cylinder-bands' (version 2) from OpenML or"),
        ("audit-risk", "Download it from OpenML or"),
    ],
)
def test_without_a_network_an_error_says_what_to_fetch(name, said, monkeypatch, tmp_path):
    answers(monkeypatch, URLError("no route"))
    with pytest.raises(DataError) as error:
        tables.load(name, tmp_path)
    assert f"Data set {name!r} not found: {tmp_path}" in str(error.value)
    assert said in str(error.value)
