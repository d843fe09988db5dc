"""A package's ``__init__`` is its door: no module imports a private module of another package."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src/metricfit"


def private_imports(source: str, package: str) -> list[str]:
    """The private modules of other packages that a module of ``package`` imports.

    >>> private_imports("from metricfit.learners._linear import MAX_STEPS", "cli")
    ['metricfit.learners._linear']
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules = [f"{node.module}.{alias.name}" for alias in node.names if alias.name[0] == "_"] or [node.module]
        for module in modules:
            top, *rest = module.split(".")
            is_other = top == "metricfit" and len(rest) > 1 and rest[0] != package
            if is_other and any(part[0] == "_" for part in rest[1:]):
                found.append(module)
    return found


@pytest.mark.parametrize("package", sorted(path.name for path in SOURCE.iterdir() if path.is_dir() and path.name[0] != "_"))
def test_other_packages_are_entered_by_their_door(package):
    found = {
        str(path.relative_to(SOURCE)): modules
        for path in (SOURCE / package).rglob("*.py")
        if (modules := private_imports(path.read_text(encoding="utf-8"), package))
    }
    assert not found


def test_it_finds_them():
    assert private_imports("from metricfit.numerics import _race", "smoothing") == ["metricfit.numerics._race"]
    assert private_imports("import metricfit.data._read", "shards") == ["metricfit.data._read"]
    assert not private_imports("from metricfit._checks import check_number", "cli")
    assert not private_imports("from metricfit.cli._main import run", "cli")
