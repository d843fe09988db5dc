"""The wheel holds the library and nothing else, needs little, and says in one line what is missing.

It is installed into an environment of its own, which sees the hard dependencies and what these need, and no extra.
"""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from email import message_from_string
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from metricfit.cli import PACKAGES

ROOT = Path(__file__).parents[1]
HARD = {"narwhals", "numpy", "safetensors", "scikit-learn", "scipy", "torch"}
EXTRAS = {
    "cli": {"charset-normalizer", "jinja2", "markupsafe", "pyarrow", "rich", "typer"},
    "train": {"lightning-fabric"},
    "fast": {"numba"},
    "excel": {"python-calamine"},
    "onnx": {"onnx", "skl2onnx"},
    "own": {"skops"},
    "cluster": {"dask", "distributed"},
    "sam": {"pytorch-optimizer"},
    "trees": {"xgboost", "skops", "pandas"},
}
NOT_IN_ALL = {"trees"}  # large
ABSENT = ("typer", "rich", "pyarrow", "charset_normalizer", "lightning_fabric", "numba", "pandas", "matplotlib")
DATA = "import numpy as np; X = np.random.default_rng(0).normal(size=(200, 3)); y = (X[:, 0] > 0.8).astype(int); "


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel as a release would have it, built by pip."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--retries", "1", "--no-deps", "--wheel-dir", folder, ROOT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No matching distribution found for hatchling" in done.stderr:
        pytest.skip("the wheel cannot be built: pip finds no hatchling, so the package index cannot be reached")
    assert done.returncode == 0, done.stderr
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="session")
def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_string(archive.read(name).decode())


@pytest.fixture(scope="session")
def bare(wheel, tmp_path_factory):
    """Runs a command in the environment; exit code, stdout and stderr."""
    folder = tmp_path_factory.mktemp("bare")
    home, links = folder / "venv", folder / "packages"
    venv.create(home, with_pip=False)
    link(with_dependencies(HARD), links)
    places = {"base": str(home), "platbase": str(home)}
    site = Path(sysconfig.get_path("purelib", "venv", vars=places))
    scripts = Path(sysconfig.get_path("scripts", "venv", vars=places))
    (site / "packages.pth").write_text(f"{links}\n")
    install = [sys.executable, "-m", "pip", "--python", scripts / "python", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, wheel], capture_output=True, text=True, check=True)

    def run(command, *arguments, path=""):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environment |= {"PYTHONPATH": str(path)} if path else {}
        done = subprocess.run(
            [scripts / command, *arguments], capture_output=True, text=True, check=False, cwd=folder, env=environment
        )
        return done.returncode, done.stdout, done.stderr

    return run


def with_dependencies(names):
    """These distributions and all that they require here."""
    found, left = set(), [canonical(name) for name in names]
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        for line in distribution(name).requires or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                left.append(canonical(needed.name))
    return found


def link(names, folder):
    """What these distributions installed, and nothing beside it."""
    folder.mkdir()
    for name in names:
        found = distribution(name)
        for top in {file.parts[0] for file in found.files} - {"..", "__pycache__"}:
            (folder / top).symlink_to(found.locate_file(top))


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def python(bare, code, **options):
    """What the code prints, all of it right."""
    exit_code, out, err = bare("python", "-W", "error", "-c", code, **options)
    assert exit_code == 0, err
    return out, err


def test_the_wheel_holds_the_library_alone(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {"metricfit", "metricfit-0.1.0.dist-info"}
    source = ROOT / "src" / "metricfit"
    files = [
        *source.rglob("*.py"),
        *source.glob("report/templates/*.jinja"),
        *source.glob("cli/examples/*.*"),
        source / "py.typed",
    ]
    assert {name for name in names if name.startswith("metricfit/")} == {str(path.relative_to(ROOT / "src")) for path in files}


def test_the_wheel_requires_what_it_should(metadata):
    required = [Requirement(line) for line in metadata.get_all("Requires-Dist")]
    assert {canonical(one.name) for one in required if one.marker is None} == HARD
    assert {*EXTRAS, "all", "test", "lint", "dev", "docs", "howto"} == set(metadata.get_all("Provides-Extra"))
    all_names = set.union(*(names for extra, names in EXTRAS.items() if extra not in NOT_IN_ALL))
    for extra, names in {**EXTRAS, "all": all_names}.items():
        assert {canonical(one.name) for one in required if f'"{extra}"' in str(one.marker)} == names


def test_every_package_that_a_message_may_name_is_in_the_extra_that_it_names():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = set()
    for path in (ROOT / "src").rglob("*.py"):
        named |= set(re.findall(r'^ *require\("(\w+)", "(\w+)"', path.read_text(), re.MULTILINE))
    named |= {(package, "cli") for package in PACKAGES}
    assert len(named) > 6
    for package, extra in named:
        package = {"PIL": "pillow"}.get(package, package)
        assert canonical(package) in {canonical(Requirement(line).name) for line in extras[extra]}
    assert {canonical(package) for package in PACKAGES} == EXTRAS["cli"]


def test_the_environment_has_no_extra(bare):
    code = f"import importlib.util as u, metricfit; print([p for p in {ABSENT!r} if u.find_spec(p)], metricfit.__file__)"
    out, _ = python(bare, code)
    assert out.startswith("[] ")
    assert "site-packages" in out
    assert str(ROOT) not in out


def test_a_loss_trains_a_step(bare):
    code = (
        "import torch, metricfit as mf; torch.manual_seed(0); module = torch.nn.Linear(3, 2)\n"
        "x = torch.randn(64, 3); y = (x[:, 0] > 0).long()\n"
        "optimizer, loss = torch.optim.SGD(module.parameters(), lr=1.0), mf.MetricLoss('f1')\n"
        "before = loss(module(x), y); before.backward(); optimizer.step(); print(bool(loss(module(x), y) < before))"
    )
    assert python(bare, code)[0] == "True\n"


def test_a_classifier_fits_shows_lines_saves_and_loads(bare, tmp_path):
    code = DATA + (
        "import metricfit as mf; model = mf.MetricClassifier('f1', random_state=0, verbose=1).fit(X, y)\n"
        f"model.save({str(tmp_path / 'model')!r}); again = mf.MetricClassifier.load({str(tmp_path / 'model')!r})\n"
        "print((again.predict_proba(X) == model.predict_proba(X)).all(), model.score(X, y) > 0.8)"
    )
    out, err = python(bare, code)
    assert out == "True True\n"
    lines = [line for line in err.splitlines() if not line.startswith("metricfit:")]  # that numba would be faster
    assert len(lines) > 10
    assert all(re.fullmatch(r"\d+ of \d+: .+", line) for line in lines)
    assert re.fullmatch(r"(\d+) of \1: done, f1 \d\.\d{4}", lines[-1])


def test_a_comparison_and_its_page(bare):
    """jinja2 comes with torch."""
    code = DATA + (
        "import metricfit as mf; options = {'models': ['linear'], 'methods': ['cross_entropy'], 'n_splits': 2, 'n_repeats': 1}\n"
        "found = mf.compare(X, y, 'f1', importance=True, **options)\n"
        "from metricfit.report import Run, page; print(found.verdict.about_model); print(page(found, Run.now('noise', 'y'))[:15])"
    )
    verdict, page = python(bare, code)[0].splitlines()
    assert verdict.endswith(".")
    assert page == "<!doctype html>"


def test_a_data_frame(bare, tmp_path):
    link(with_dependencies(["pandas"]), tmp_path / "pandas")
    code = DATA + (
        "import pandas as pd, sys, metricfit as mf; frame = pd.DataFrame({'a': X[:, 0], 'b': np.where(X[:, 1] > 0, 'up', 'down')})\n"
        "frame['day'] = pd.date_range('2024-01-01', periods=len(frame)); frame.loc[3, ['a', 'b']] = None\n"
        "model = mf.MetricClassifier('f1', random_state=0).fit(frame, y); print(model.score(frame, y) > 0.8, 'pyarrow' in sys.modules)"
    )
    assert python(bare, code, path=tmp_path / "pandas")[0] == "True False\n"


@pytest.mark.parametrize("command", [("metricfit",), ("metricfit", "nonsense"), ("python", "-m", "metricfit", "--help")])
def test_the_command_says_what_to_install(bare, command):
    line = "metricfit: the command line needs the package typer: pip install 'metricfit[cli]'\n"
    assert bare(*command) == (1, "", line)


MISSING = {
    "import metricfit.training": "metricfit.training needs the package lightning_fabric: pip install 'metricfit[train]'",
    "import metricfit as mf; mf.training": "metricfit.training needs the package lightning_fabric: pip install 'metricfit[train]'",
    "import metricfit.data": "metricfit.data needs the package pyarrow: pip install 'metricfit[cli]'",
    "import metricfit.profile": "metricfit.profile needs the package pyarrow: pip install 'metricfit[cli]'",
    "from metricfit.cli import app": "the command line needs the package typer: pip install 'metricfit[cli]'",
    "import sys; sys.modules['jinja2'] = None; import metricfit.report": (
        "metricfit.report needs the package jinja2: pip install 'metricfit[cli]'"
    ),
    DATA + "import metricfit as mf; mf.MetricClassifier(model='mlp').fit(X, y)": (
        "model='mlp' needs the package lightning_fabric: pip install 'metricfit[train]'"
    ),
    DATA + "import metricfit as mf, torch; mf.MetricClassifier(model=torch.nn.Linear(3, 2)).fit(X, y)": (
        "a network needs the package lightning_fabric: pip install 'metricfit[train]'"
    ),
}


def test_a_missing_extra_is_one_line(bare):
    """In one process, since most of the time is the import of torch."""
    code = (
        "import traceback\n"
        f"for code in {list(MISSING)!r}:\n"
        "    try: exec(code, {})\n"
        "    except Exception as error: print(traceback.format_exc().splitlines()[-1])"
    )
    assert python(bare, code)[0].splitlines() == [f"metricfit._extras.MissingExtraError: {line}" for line in MISSING.values()]


def test_every_name_can_be_asked_for(bare):
    """Star imports and help() do."""
    python(bare, "from metricfit import *; import metricfit as mf, pydoc; MetricLoss, MetricClassifier; pydoc.render_doc(mf)")
