"""The page of evidence says what the results say."""

from pathlib import Path

import pytest

from reproductions import coverage, evidence
from reproductions._claims import Claim
from reproductions._experiment import get_experiment, names, paper_folder
from reproductions.evidence import COLOURS, figure, kind

ROOT = Path(__file__).parents[2]


def test_the_pages_say_what_the_results_say(tmp_path):
    (tmp_path / "evidence.md").write_text((ROOT / "docs" / "evidence.md").read_text(encoding="utf-8"), encoding="utf-8")
    evidence.write(ROOT / "reproductions", tmp_path)
    for name in ("evidence.md", "claims.md", "claims.svg", "gains.svg"):
        assert (tmp_path / name).read_text(encoding="utf-8") == (ROOT / "docs" / name).read_text(encoding="utf-8"), name


def test_a_page_without_its_marks_is_not_overwritten(tmp_path):
    (tmp_path / "evidence.md").write_text("no marks", encoding="utf-8")
    with pytest.raises(ValueError, match="<!-- counts: written by"):
        evidence.write(ROOT / "reproductions", tmp_path)
    assert (tmp_path / "evidence.md").read_text(encoding="utf-8") == "no marks"


def test_the_coverage_names_every_experiment_of_a_paper():
    named = {name for item in coverage.ITEMS for name in item.experiments}
    assert named <= {*names(), *coverage.EXAMPLES}
    assert {name for name in names() if paper_folder(name) != "beyond"} <= named | coverage.BEYOND
    for item in coverage.ITEMS:
        assert item.experiments or item.missing, f"{item} should say why it is not run"
        if any(name in names() and get_experiment(name).scaled for name in item.experiments):
            assert "scaled" in item.status


@pytest.mark.parametrize("name", names())
def test_every_reproduction_has_its_results(name):
    results = ROOT / "reproductions" / paper_folder(name) / "results"
    text = (results / f"{name}.md").read_text(encoding="utf-8")
    assert f"Written by `python -m reproductions {name} " in text
    assert "--quick" not in text
    assert (results / f"{name}.csv").exists()
    assert f"results/{name}.md" in (results.parent / "README.md").read_text(encoding="utf-8")


def test_a_claim_without_a_number_has_its_place():
    claims = [
        Claim("worse", None, -0.5, 0.2, -1),
        Claim("better", 3.0, -1.0, 0.5),
        Claim("equal", 0.1, 2.0, 3.0),
        Claim("much better", 9.0, 1.0, 0.5),
        Claim("far better", -9.0, 0.5, 1.0),
    ]
    assert [kind(claim) for claim in claims] == ["holds", "otherwise", "within noise", "smaller", "otherwise"]
    assert set(map(kind, claims)) == set(COLOURS)
    (axes,) = figure({"paper": claims}).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "paper",
        "worse",
        "better",
        "equal",
        "much better",
        "far better",
    ]
