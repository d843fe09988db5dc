"""The page of evidence says what the results say."""

from pathlib import Path

import pytest

from reproductions._claims import Claim
from reproductions._experiment import names, paper_folder
from reproductions.evidence import BEGIN, COLOURS, END, figure, gather, kind, page

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_claims_of_the_results():
    text = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    written = text.split(BEGIN)[1].split(END)[0].strip()
    assert written == page(gather(ROOT / "reproductions")).strip()


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
