"""The code of the README and of the docs runs as it stands, and prints what the page shows."""

import pytest

from metricfit.methods._registry import REGISTRY
from tests.pages import FENCE, ROOT, outputs

APART = ("howto/frameworks.md", "howto/libraries.md", "howto/clusters.md")  # they need packages that others can do without
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if str(page.relative_to(ROOT / "docs")) not in APART]
WITH_CODE = [page for page in PAGES if any(fence[1] == "python" for fence in FENCE.finditer(page.read_text()))]


@pytest.fixture(autouse=True)
def _keep_registry():
    """A block may register a method."""
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a block may write a file
    for block, shown, printed in outputs(page.read_text(), page.name):
        assert shown is None or printed == shown[2], block


def test_pages_with_code_are_found():
    assert {"index.md", "table.md", "network.md", "losses.md", "classifier.md", "decide.md", "training.md"} <= {
        page.name for page in WITH_CODE
    }
