"""Damaged and forged files of models: each is refused in one line, and none ends the process."""

import json
import re

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from campaign._forge import seal, write_description
from metricfit import MetricClassifier
from tests.estimators.test_storage import fit, lightgbm, xgboost


def assert_refused(folder, match):
    with pytest.raises(ValueError, match=match) as caught:
        MetricClassifier.load(folder)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Saved models by name, to copy."""
    folder = tmp_path_factory.mktemp("models")
    models = {
        "forest": RandomForestClassifier(3),
        "boosting": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5, categorical_features=[0]),
        "ensemble": ["linear", DecisionTreeClassifier(max_depth=2)],
    }
    for name, model in models.items():
        fit(model, 3)[0].save(folder / name)
    return folder


@pytest.fixture
def copy(saved, tmp_path):
    def copied(name):
        (tmp_path / name).mkdir()
        for file in (saved / name).iterdir():
            (tmp_path / name / file.name).write_bytes(file.read_bytes())
        return tmp_path / name

    return copied


def edit(place, value):
    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


def first_inner(arrays):
    return int(np.flatnonzero(arrays["left"] >= 0)[0])


TAMPERED = [
    ("left", edit(0, 10**6), "a child is out of range"),
    ("left", edit(0, -7), "a child is out of range"),
    ("right", edit(0, 0), "a child is out of range"),  # a walk that never ends
    ("right", edit(0, -1), "a child is out of range"),
    ("feature", edit(0, 5), "a feature is out of range"),
    ("feature", edit(0, -1), "a feature is out of range"),
    ("threshold", edit(0, np.nan), "a threshold is missing"),
    ("value", edit((0, 0), np.inf), "a value is not finite"),
    ("value", lambda array: array[:-1], "the leaves have other values"),
    ("value", lambda array: np.repeat(array, 4, axis=1), "the leaves have other values"),
    ("n_nodes", edit(0, 10**9), "nodes are missing"),
    ("n_nodes", edit(0, -1), "there are no trees"),
    ("n_nodes", lambda array: array[:0], "there are no trees"),
    ("left", lambda array: array.astype(np.int64), "left has another type"),
    ("threshold", lambda array: array[:-1], "threshold has another length"),
    ("missing_left", lambda array: array.astype(float), "missing_left has another type"),
]
TAMPERED_BOOSTING = [
    ("sets", lambda array: array[:-1], "sets of categories are missing"),
    ("sets", lambda array: array[:, :4], "sets of categories are missing"),
    ("in_set", lambda array: ~array, "in_set is not of nodes"),
    ("in_set", lambda array: array[:-1], "in_set is not of nodes"),
    ("start", lambda array: array[:-1], "the start is not one per class"),
    ("start", edit(0, np.nan), "the start is not one per class"),
    ("is_category", lambda array: ~array, "the categories of a feature are missing"),
    ("is_category", lambda array: array[:-1], "is_category has another length"),
    ("n_categories", lambda array: array[:0], "the categories of a feature are missing"),
    ("n_categories", edit(0, 10**9), "the categories of a feature are missing"),
    ("n_categories", edit(0, 2), "categories are not numbers"),
    ("categories", lambda array: array.astype(int), "categories are not numbers"),
    ("categories", edit(0, np.inf), "categories are not numbers"),
]


class TestTampered:
    @pytest.mark.parametrize("model", ["forest", "boosting"])
    @pytest.mark.parametrize(("name", "change", "problem"), TAMPERED)
    def test_trees(self, model, name, change, problem, copy):
        self.tamper(copy(model), name, change, problem)

    @pytest.mark.parametrize(("name", "change", "problem"), TAMPERED_BOOSTING)
    def test_boosting(self, name, change, problem, copy):
        self.tamper(copy("boosting"), name, change, problem)

    def tamper(self, folder, name, change, problem):
        file = folder / "trees.safetensors"
        arrays = load_file(file)
        assert first_inner(arrays) == 0  # the root of the first tree, which the changes are about
        save_file({**arrays, name: np.ascontiguousarray(change(arrays[name]))}, file)
        assert_refused(folder, r"trees\.safetensors is not the file that was saved")
        seal(folder)
        assert_refused(folder, f"holds a damaged model: .*{problem}")

    def test_a_set_of_a_number(self, copy):
        folder = copy("boosting")
        arrays = load_file(folder / "trees.safetensors")
        place = np.flatnonzero(arrays["in_set"])[0]
        save_file({**arrays, "feature": edit(place, 3)(arrays["feature"])}, folder / "trees.safetensors")
        seal(folder)
        assert_refused(folder, "a set is not of a category")

    def test_an_incomplete_round(self, copy):
        folder = copy("boosting")
        arrays = load_file(folder / "trees.safetensors")
        last, n_sets = arrays["n_nodes"][-1], len(arrays["sets"]) - int(arrays["in_set"][-arrays["n_nodes"][-1] :].sum())
        n_leaves = int((arrays["left"][:-last] == -1).sum())
        shorter = {name: array[:-last] for name, array in arrays.items() if len(array) == len(arrays["left"])}
        shorter |= {"n_nodes": arrays["n_nodes"][:-1], "value": arrays["value"][:n_leaves], "sets": arrays["sets"][:n_sets]}
        save_file({**arrays, **shorter}, folder / "trees.safetensors")
        seal(folder)
        assert_refused(folder, "the last round is not complete")

    def test_other_arrays(self, copy):
        folder = copy("forest")
        arrays = load_file(folder / "trees.safetensors")
        save_file({**arrays, "more": np.zeros(2)}, folder / "trees.safetensors")
        seal(folder)
        assert_refused(folder, "holds a damaged model")
        arrays.pop("left")
        save_file(arrays, folder / "trees.safetensors")
        seal(folder)
        assert_refused(folder, "holds a damaged model")

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            (("model", "models", 0, "kind"), "unknown"),
            (("model", "models", 1, "format"), "pickle"),
            (("model", "models", 1, "type"), "SVC"),
            (("model", "models", 1, "format"), "boosting"),
            (("model", "forms"), ["matrix"]),
            (("model", "forms"), ["matrix", "matrix"]),
            (("model", "names"), ["linear", 3]),
            (("model", "models"), []),
            (("n_inputs", "columns"), 99),
            (("sha256",), {}),
            (("notes",), [3]),
            (("forms",), []),
            (("preprocessor", "forms"), ["columns"]),
            (("classes", "values"), [0, 1]),
        ],
    )
    def test_a_description_that_lies(self, place, value, copy):
        folder = copy("ensemble")
        found = part = json.loads((folder / "model.json").read_text())
        for step in place[:-1]:
            part = part[step]
        part[place[-1]] = value
        write_description(folder, found)
        assert_refused(folder, "holds a damaged model")

    @pytest.mark.parametrize("name", ["forest", "boosting", "ensemble"])
    @pytest.mark.parametrize("damage", ["missing", "truncated", "empty"])
    def test_damaged_files(self, name, damage, copy):
        folder = copy(name)
        for file in sorted(folder.glob("*.s*")):
            content = file.read_bytes()
            if damage == "missing":
                file.unlink()
            else:
                file.write_bytes(content[: len(content) // 2 if damage == "truncated" else 0])
                seal(folder)
            assert_refused(folder, "holds a damaged model")
            file.write_bytes(content)
            seal(folder)
        MetricClassifier.load(folder)


class TestTamperedBoosters:
    """What ends the whole process if it reaches the parsers of these libraries."""

    @pytest.mark.parametrize(
        ("old", "new", "problem"),
        [
            (r"left_child=\d+", "left_child=99999999", "a child is out of range"),
            (r"left_child=\d+", "left_child=0", "a child is out of range"),
            (r"right_child=-?\d+", "right_child=-99999999", "a child is out of range"),
            (r"split_feature=\d+", "split_feature=5", "a feature is out of range"),
            (r"num_leaves=\d+", "num_leaves=800000", "numbers are missing"),
            (r"num_leaves=\d+", "num_leaves=1", "numbers are missing"),
            (r"leaf_value=\S+", "leaf_value=many", "is not a number"),
            (r"num_tree_per_iteration=3", "num_tree_per_iteration=300", "num_tree_per_iteration is not 3"),
            (r"num_class=3", "num_class=300", "num_class is not 3"),
            (r"num_class:3", "num_class:300", "the objective is multiclass num_class:300"),
            (r"max_feature_idx=4", "max_feature_idx=400", "max_feature_idx is not 4"),
            (r"tree_sizes=\d+ ", "tree_sizes=", "trees are missing"),
            (r"\nTree=1\n", "\n", "a line is there twice"),
            (r"is_linear=0", "is_linear=1", "trees have linear leaves"),
            (r"decision_type=\d+", "decision_type=1", "sets of categories are missing"),
            (r"(?s)Tree=5.*", "", "the text is not complete"),
            (r"(?s).*", "", "the text is not complete"),
        ],
    )
    def test_lightgbm(self, old, new, problem, tmp_path):
        self.tamper(lightgbm(), "lightgbm.txt", lambda text: re.sub(old, new, text, count=1), problem, tmp_path)

    @pytest.mark.parametrize(
        ("name", "value", "problem"),
        [
            ("left_children", 10**8, "a child is out of range"),
            ("left_children", 0, "a child is out of range"),
            ("left_children", -1, "a child is missing"),
            ("split_indices", 5, "a feature is out of range"),
            ("parents", 3, "a parent is out of range"),
            ("split_type", 1, "features are categories"),
            ("split_conditions", "x", "numbers are missing"),
        ],
    )
    def test_xgboost(self, name, value, problem, tmp_path):
        def change(text):
            found = json.loads(text)
            found["learner"]["gradient_booster"]["model"]["trees"][0][name][0] = value
            return json.dumps(found)

        self.tamper(xgboost(), "xgboost.json", change, problem, tmp_path)

    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            (lambda text: text[: len(text) // 2], ""),
            (lambda text: "", ""),
            (lambda text: text.replace('"id": 1', '"id": 0', 1), "a tree is not where it should be"),
            (lambda text: text.replace("multi:softprob", "multi:softmax"), "the objective is multi:softmax"),
            (lambda text: text.replace('"num_class": "3"', '"num_class": "300"'), "it has other classes"),
            (lambda text: text.replace('"base_score": "[', '"base_score": "[1,'), "XGBoost refuses it"),
        ],
    )
    def test_xgboost_as_a_whole(self, change, problem, tmp_path):
        self.tamper(xgboost(), "xgboost.json", change, problem, tmp_path)

    def tamper(self, model, file, change, problem, tmp_path):
        fit(model, 3)[0].save(tmp_path / "model")
        path = tmp_path / "model" / file
        before = path.read_text()
        path.write_text(change(before))
        assert path.read_text() != before
        assert_refused(tmp_path / "model", "is not the file that was saved")
        seal(tmp_path / "model")
        assert_refused(tmp_path / "model", f"holds a damaged model: .*{problem}")
