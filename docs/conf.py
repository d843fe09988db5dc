"""The site: ``make docs`` builds it into build/docs. Nothing on a built page comes from another server."""

from __future__ import annotations

import contextlib
import csv
import importlib.metadata
import os
import re
import shutil
import unittest.mock
import warnings
from pathlib import Path

from sphinx.application import Sphinx
from sphinx_gallery.sorting import ExplicitOrder

HERE = Path(__file__).parent
GENERATED = HERE / "_generated"  # files that the build makes: help texts, a report, MathJax

project = "metricfit"
copyright = "the metricfit developers"
version = release = importlib.metadata.version("metricfit")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_generated", "llms.txt"]
suppress_warnings = ["config.cache"]  # the order of the gallery is a function

# Markdown
myst_enable_extensions = ["amsmath", "attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# docstrings
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # docstrings have the types
autodoc_preserve_defaults = True
autoclass_content = "class"
numpydoc_show_class_members = False  # autodoc shows them
numpydoc_class_members_toctree = False
smartquotes = False  # it would curl the quotes of default="auto"
toc_object_entries_show_parents = "hide"

# mathematics: MathJax ships with the site
math_eqref_format = "({number})"
mathjax_path = "tex-svg.js"


def set_style(gallery_conf: dict[str, object], name: str) -> None:
    """One style for all figures."""
    import matplotlib.pyplot as plt

    plt.rcdefaults()
    colours = ["#2f6db3", "#d9822b", "#3f9c73", "#8a5fb0", "#7a7a7a"]
    plt.rcParams.update({"axes.prop_cycle": plt.cycler(color=colours), "axes.spines.top": False, "axes.spines.right": False})
    plt.rcParams.update({"legend.frameon": False, "figure.dpi": 110, "axes.titlesize": 11, "font.size": 10})


# the gallery runs while the site is built; `examples/gallery` has its scripts
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")
ORDER = [
    "plot_toys.py",
    "plot_noise.py",
    "plot_simplex.py",
    "plot_surrogate.py",
    "plot_wrong_labels.py",
    "plot_rare_classes.py",
    "plot_costs.py",
    "plot_beta.py",
    "plot_ordinal.py",
    "plot_promise.py",
    "plot_prevalence.py",
    "plot_compare.py",
    "plot_speed.py",
]
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "within_subsection_order": ExplicitOrder(ORDER),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "min_reported_time": 60,
    "show_memory": False,
    "write_computation_times": False,  # its pages load scripts from other servers
    "show_signature": False,
    "plot_gallery": os.environ.get("METRICFIT_GALLERY", "1") == "1",  # 0 shows the scripts without their figures
    "backreferences_dir": None,
    "reset_modules": (set_style,),
    "image_srcset": ["2x"],
}

# the pages
html_theme = "pydata_sphinx_theme"
html_title = "metricfit"
html_static_path = ["_static", "_generated/static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_extra_path = ["_generated/extra", "llms.txt"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "metricfit"},
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "evidence": [], "gallery/index": []}

COMMANDS = ("", "compare", "fit", "predict", "decide", "inspect", "metrics", "demo")


def make_parts(app: Sphinx) -> None:
    """Write the parts of the site that programs print: help texts, the report of the first page, MathJax."""
    for name in ("help", "static", "extra"):
        (GENERATED / name).mkdir(parents=True, exist_ok=True)
    for command in COMMANDS:
        words = [command] if command else []
        (GENERATED / "help" / f"{command or 'metricfit'}.txt").write_text(run(*words, "--help"))
    (GENERATED / "help" / "names.txt").write_text(run("metrics"))
    (mathjax,) = (file for file in importlib.metadata.files("sphinx-mathjax-offline") or () if file.name == "tex-svg.js")
    shutil.copy(str(mathjax.locate()), GENERATED / "static")
    if not (GENERATED / "extra" / "example_report.html").exists():
        make_report()


def make_report() -> None:
    """Compare models on the breast-cancer table of scikit-learn, as a reader would: one command and a CSV file."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    table = GENERATED / "tumours.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*data.feature_names, "diagnosis"])
        writer.writerows([*row, data.target_names[y]] for row, y in zip(data.data.tolist(), data.target, strict=True))
    options = "--target diagnosis --metric f1 --models linear,boosting --methods cross_entropy,auto --repeats 1"
    run("compare", table.name, *options.split(), "--report", "extra/example_report.html")


def run(*arguments: str) -> str:
    """What ``metricfit`` prints."""
    from typer.testing import CliRunner

    from metricfit.cli import app

    with contextlib.chdir(GENERATED), unittest.mock.patch("sys.argv", ["metricfit", *arguments]):  # reports show it
        done = CliRunner().invoke(app, arguments, prog_name="metricfit", env={"COLUMNS": "78"}, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def link_to_files(app: Sphinx, name: str, source: list[str]) -> None:
    """Links to files of the repository outside docs/ offer the file: the pages of results are not part of the site."""

    def replace(match: re.Match[str]) -> str:
        file = ((HERE / name).parent / match["path"]).resolve()
        return match[0] if file.is_relative_to(HERE) else f"{{download}}`{match['text']} <{match['path']}>`"

    if name == "changelog":  # the file of the repository, with its links seen from here
        text = re.sub(r"\]\((?=[A-Z]+\.md)", "](../", (HERE.parent / "CHANGELOG.md").read_text())
        source[0] = f"---\nnosearch: true\n---\n{text}"  # it mentions everything, and would come up in every search
    source[0] = re.sub(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<path>\.\./[^)#]+\.\w+)(?:#[^)]*)?\)", replace, source[0])


def skip_member(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leave out the methods of scikit-learn's metadata routing."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def setup(app: Sphinx) -> None:
    app.connect("config-inited", lambda app, config: make_parts(app))
    app.connect("source-read", link_to_files)
    app.connect("autodoc-skip-member", skip_member)
