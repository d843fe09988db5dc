"""The page about decisions: its code runs from top to bottom, and prints what the page shows.

``python -m tests.test_decide_page`` writes what it prints into the page.
"""

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "decide.md"
BLOCK = re.compile(r"```python\n((?:(?!```).)*)```\n(?:```text\n((?:(?!```).)*)```\n)?", re.DOTALL)


def run(text):
    """For every block of code: the code, what the page shows, and what it prints. Names of one block are known in the next."""
    names = {}
    for block, shown in BLOCK.findall(text):
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            exec(compile(block, PAGE.name, "exec"), names)
        yield block, shown, stream.getvalue()


def test_the_page_shows_what_its_code_prints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a block writes a file
    found = list(run(PAGE.read_text()))
    assert len(found) >= 8
    for block, shown, printed in found:
        assert printed == shown, block


if __name__ == "__main__":
    text = PAGE.read_text()
    os.chdir(tempfile.mkdtemp())
    for block, shown, printed in run(text):
        text = text.replace(f"```python\n{block}```\n```text\n{shown}```", f"```python\n{block}```\n```text\n{printed}```")
    PAGE.write_text(text)
