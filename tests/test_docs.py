"""The docs speak of every command, every document, every method and every package."""

import re
import tomllib
from pathlib import Path

import pytest

from metricfit import methods
from metricfit.cli import app
from metricfit.methods import Choice, Method

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
        ROOT / "benchmarks" / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "reproductions").rglob("README.md")),
    ],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_links_lead_somewhere(path):
    for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
        assert (path.parent / link).exists(), link


def test_the_table_of_methods_is_what_the_registry_says():
    text = (ROOT / "docs" / "guide" / "losses.md").read_text()
    (shown,) = re.findall(r"<!-- methods: .*? -->\n(.*?)<!-- end of methods -->", text, re.DOTALL)
    assert shown == method_table(), f"copy this into docs/guide/losses.md:\n{method_table()}"


def test_the_drawing_of_the_packages_is_what_lint_checks():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (drawing,) = re.findall(r"((?:^    [a-z_]+\b.*\n)+    _checks .*\n)", text, re.MULTILINE)
    drawn = [re.split(r" {3,}", line.strip())[0].split() for line in drawing.splitlines()]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    assert drawn == [re.split(r" [|:] ", layer) for layer in layers]


def method_table() -> str:
    """All registered methods as a table in Markdown."""
    rows = [_row(methods.get(name)) for name in methods.names()]
    heads = ["name", "title", "loss", "offsets", "widths", "start", "papers"]
    return "".join(f"| {' | '.join(row)} |\n" for row in (heads, ["---"] * len(heads), *rows))


def _row(method: Method | Choice) -> list[str]:
    papers = "; ".join(method.papers)
    if isinstance(method, Choice):
        candidates = ", ".join(candidate.name for candidate in method.candidates)
        return [f"`{method.name}`", method.title, f"one of: {candidates}", "", "", "", papers]
    widths = ", ".join(f"{width:g}" for width in method.widths)
    return [f"`{method.name}`", method.title, _loss(method), method.offsets, widths, method.start, papers]


def _loss(method: Method) -> str:
    if not method.trains_metric:
        return method.loss
    parts = [f"`{method.smoothing_for(2)}`"]
    if method.many_smoothing is not None:
        parts.append(f"`{method.many_smoothing}` for more than two classes")
    if method.link != "linear":
        parts.append(f"link {method.link}")
    if method.margin is not None:
        parts.append(f"margin {method.margin:g}")
    if method.leak:
        parts.append(f"leak {method.leak:g}")
    if method.normalize_scores:
        parts.append("normalised scores")
    if method.normalize_gradients:
        parts.append("normalised gradients")
    return ", ".join(parts)
