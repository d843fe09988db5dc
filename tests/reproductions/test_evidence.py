"""The page of evidence says what the results say."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from reproductions import coverage, evidence
from reproductions._claims import SCALED, Claim
from reproductions._experiment import get_experiment, names, paper_folder
from reproductions.evidence import COLOURS, figure, kind

ROOT = Path(__file__).parents[2]


def test_the_pages_say_what_the_results_say(tmp_path):
    (tmp_path / "reproductions").mkdir()
    shutil.copy(ROOT / "reproductions" / "evidence.md", tmp_path / "reproductions")
    results = sorted(file for suffix in ("csv", "md") for file in ROOT.glob(f"reproductions/*/**/*.{suffix}"))
    for file in results:
        copy = tmp_path / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    evidence.write(tmp_path / "reproductions", tmp_path / "reproductions")
    pages = [ROOT / "reproductions" / name for name in ("evidence.md", "claims.md", "claims.svg", "gains.svg")]
    for page in (*pages, *results):
        written, kept = (_without_ids(file.read_text(encoding="utf-8")) for file in (tmp_path / page.relative_to(ROOT), page))
        assert written == kept, f"{page} is out of date: run `make evidence`"


def _without_ids(text):
    """Without matplotlib's names of clip paths, which depend on the last bits of their corners."""
    return re.sub(r"\bp[0-9a-f]{10}\b", "p", text)


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
        if item.experiments and all(name in names() and get_experiment(name).protocol == SCALED for name in item.experiments):
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
    claims = {
        Claim("worse", None, -0.5, 0.2, -1): "holds",
        Claim("better", 3.0, -1.0, 0.5): "otherwise",
        Claim("equal", 0.1, 2.0, 3.0): "within noise",
        Claim("much better", 9.0, 1.0, 0.5): "smaller",
        Claim("measured", None, 1.0, 0.5): "no verdict",
        Claim("another network", 3.0, -1.0, 0.5, protocol=SCALED): "no verdict",
    }
    assert {claim: kind(claim) for claim in claims} == claims
    assert set(claims.values()) == set(COLOURS)
    (axes,) = figure({"paper": list(claims)}).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["paper", *(one.text for one in claims)]
    published_at = {line.get_ydata()[0] for line in axes.lines if line.get_marker() in "D<>" and len(line.get_ydata())}
    assert published_at == {1, 2, 3, 4, 6}  # not the one where nothing was published


@pytest.mark.parametrize(
    ("options", "protocol", "verdict"),
    [
        ({}, "full", "reversed"),
        ({"scaled": True, "cut": True}, "reduced", "reversed"),
        ({"scaled": True}, "scaled", "scaled: no verdict"),
    ],
)
def test_only_a_scaled_run_gives_no_verdict(options, protocol, verdict):
    own = {"claims": lambda _: [Claim("b", 3.0, -1.0, 0.5)], "scaled": False, "cut": False, **options}
    experiment = replace(get_experiment("exact-tabular"), **own)
    (one,), (full,) = experiment.claims_of([]), experiment.claims_of([], full=True)
    assert (one.protocol, one.verdict) == (protocol, verdict)
    assert (full.protocol, full.verdict) == ("full", "reversed")


def test_networks_and_data_that_are_not_the_papers_give_no_verdict():
    """Darknet-19, WRN-28-10, ResNet-18 and the taggers are smaller here, and trained for a fraction of the epochs."""
    names_of_networks = ("exact-vision", "leaky-images", "leaky-tagging", "leaky-trees", "east-image", "east-beta")
    assert {get_experiment(name).protocol for name in names_of_networks} == {SCALED}
