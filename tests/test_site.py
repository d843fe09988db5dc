"""The site: its table of contents has every page, the reference has every public name, and the gallery has every script."""

import importlib
import re
from pathlib import Path

import pytest

import metricfit

DOCS = Path(__file__).parents[1] / "docs"
GALLERY = sorted((DOCS.parent / "examples" / "gallery").glob("plot_*.py"))
MODULES = ("metrics", "smoothing", "links", "methods", "schedules", "functional")


def pages_below(page):
    """The pages that the tables of contents of a page name, and those of these pages."""
    text = page.read_text()
    for directive in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL):
        for entry in directive.splitlines():
            if entry and not entry.startswith(":"):
                found = (page.parent / entry).resolve()
                if found == DOCS / "gallery" / "index":  # the build writes it
                    continue
                (file,) = (found.with_suffix(suffix) for suffix in (".md", ".rst") if found.with_suffix(suffix).exists())
                yield file
                if file.suffix == ".md":
                    yield from pages_below(file)


def reference():
    """The objects in the API reference, by their full names."""
    found, module = {}, ""
    for line in (DOCS / "api" / "index.rst").read_text().splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.removeprefix(".. currentmodule:: ")
        elif re.fullmatch(r"(   |\.\. data:: )[A-Za-z_][\w.]*", line):
            *path, name = f"{module}.{line.split()[-1]}".split(".")
            found[".".join([*path, name])] = getattr(importlib.import_module(".".join(path)), name)
    return found


def test_every_page_is_in_the_table_of_contents():
    pages = {page for page in DOCS.rglob("*.md") if not page.is_relative_to(DOCS / "gallery")}
    assert set(pages_below(DOCS / "index.md")) | {DOCS / "index.md"} == pages | {DOCS / "api" / "index.rst"}


@pytest.mark.parametrize("module", ["", *MODULES])
def test_every_public_name_is_in_the_reference(module):
    home = importlib.import_module(f"metricfit.{module}".rstrip("."))
    listed = reference()
    missing = [
        name
        for name in home.__all__
        if name != "__version__"
        and name not in (*MODULES, "training")
        and f"{home.__name__}.{name}" not in listed
        and not any(getattr(home, name) is one for one in listed.values())
    ]
    assert not missing, f"docs/api/index.rst should list these names of `{home.__name__}`: {missing}"


def test_the_modules_of_the_package_are_in_the_reference():
    modules = {name for name in metricfit.__all__ if type(getattr(metricfit, name)) is type(importlib)}
    assert modules == {*MODULES, "training"}
    for name in modules:
        assert any(full.startswith(f"metricfit.{name}.") for full in reference())


@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.name)
def test_the_gallery_shows_every_script(script):
    assert f'"{script.name}"' in (DOCS / "conf.py").read_text()
    text = script.read_text()
    assert re.match(r'"""\n[A-Z].+\n=+\n', text), "a script begins with a title"
    assert text.count("plt.show()") >= 1


def test_there_are_at_least_ten_figures():
    assert len(GALLERY) >= 10


def test_the_short_list_for_language_models_leads_to_pages():
    links = re.findall(r"\]\(([^)]+)\.html\)", (DOCS / "llms.txt").read_text())
    assert len(links) > 10
    for link in links:
        assert any((DOCS / link).with_suffix(suffix).exists() for suffix in (".md", ".rst")), link
