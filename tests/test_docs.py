"""The docs speak of every command and of every document."""

import re
from pathlib import Path

import pytest

from metricfit.cli import app

ROOT = Path(__file__).parents[1]
COMMANDS = [command.callback.__name__ for command in app.registered_commands]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_its_place_in_the_docs(command):
    text = (ROOT / "docs" / "command_line.md").read_text()
    assert f"## metricfit {command}\n" in text
    assert f"\nmetricfit {command}" in text


@pytest.mark.parametrize(
    "path",
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "reproductions").rglob("README.md")),
    ],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_links_lead_somewhere(path):
    for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
        assert (path.parent / link).exists(), link


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name)
def test_the_readme_knows_every_document(path):
    assert f"docs/{path.name}" in (ROOT / "README.md").read_text()
