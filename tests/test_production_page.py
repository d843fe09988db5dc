"""The page about production: its code runs from top to bottom, and prints what the page shows.

``python -m tests.test_production_page`` writes what it prints into the page.
"""

import os
import tempfile
from pathlib import Path

from tests.test_decide_page import run

PAGE = Path(__file__).parents[1] / "docs" / "production.md"


def test_the_page_shows_what_its_code_prints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a block writes a file
    found = list(run(PAGE.read_text()))
    assert len(found) >= 4
    for block, shown, printed in found:
        assert printed == shown, block


if __name__ == "__main__":
    text = PAGE.read_text()
    os.chdir(tempfile.mkdtemp())
    for block, shown, printed in run(text):
        text = text.replace(f"```python\n{block}```\n```text\n{shown}```", f"```python\n{block}```\n```text\n{printed}```")
    PAGE.write_text(text)
