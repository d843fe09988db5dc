"""Damaged, incomplete and foreign model folders: one line says what is wrong, and no code runs."""

import json
import os
import pickle
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import StandardScaler

from metricfit import MetricClassifier, Network
from tests.estimators.forged import read_description, seal, write_description
from tests.estimators.test_storage import fit


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Saved models by name, to copy."""
    folder, random = tmp_path_factory.mktemp("models"), np.random.default_rng(0)
    numbers = random.normal(size=(90, 3))
    labels = np.array(["a", "b", "c"])[(numbers[:, 0] > 0.3).astype(int) + (numbers[:, 1] > 0.5)]
    words = random.choice(["red", "green", "blue", "grey", "pink"], (90, 5))
    frame = pd.DataFrame({"size": numbers[:, 0], "colour": words[:, 0], "text": [" ".join(row) for row in words]})
    frame["text"] += [f" {index}" for index in range(90)]
    network = Network(max_epochs=2, hidden_layer_sizes=(4, 3), n_members=1)
    for name, model, data in (("linear", "linear", numbers), ("mlp", network, numbers), ("frame", "linear", frame)):
        MetricClassifier(model=model, method="cross_entropy", random_state=0).fit(data, labels).save(folder / name)
    own = MetricClassifier(model="linear", method="cross_entropy", preprocess=StandardScaler()).fit(numbers, labels)
    with pytest.warns(UserWarning, match="cannot store preprocess"):
        own.save(folder / "own")
    fit("extra_trees", 3)[0].save(folder / "extra_trees")
    boosting = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5, categorical_features=[0])
    fit(boosting, 3)[0].save(folder / "boosting")
    return folder


@pytest.fixture
def folder(saved, tmp_path, request):
    """A copy of the model that a test's parameter names; of the linear one without."""
    return shutil.copytree(saved / getattr(request, "param", "linear"), tmp_path / "model")


def of(*names):
    return pytest.mark.parametrize("folder", names, indirect=True)


def assert_refused(folder, match="damaged model", **options):
    with pytest.raises(ValueError, match=match) as caught:
        MetricClassifier.load(folder, **options)
    assert "\n" not in str(caught.value)


def change_arrays(folder, **changed):
    file = folder / "arrays.safetensors"
    save_file({**load_file(file), **changed}, file)
    seal(folder)


class TestAccidents:
    """A file that is not the one that was saved is always noticed."""

    @of("linear", "own")
    def test_a_flipped_bit(self, folder):
        right, random = MetricClassifier.load(folder), np.random.default_rng(0)
        for file in sorted(folder.iterdir()):
            content = file.read_bytes()
            for index in random.integers(0, len(content), 20):
                damaged = bytearray(content)
                damaged[index] ^= 1 << int(random.integers(8))
                file.write_bytes(damaged)
                try:
                    found = MetricClassifier.load(folder)
                except ValueError as error:
                    assert "\n" not in str(error)  # noqa: PT017
                else:  # a space of model.json became a tab
                    assert file.name == "model.json"
                    assert (found.offsets_ == right.offsets_).all()
            file.write_bytes(content)
        MetricClassifier.load(folder)

    @of("linear", "own")
    @pytest.mark.parametrize("damage", ["missing", "truncated", "empty"])
    @pytest.mark.parametrize("sealed", [True, False])
    def test_a_file_that_is_not_whole(self, folder, damage, sealed):
        for file in sorted(folder.iterdir()):
            content = file.read_bytes()
            if damage == "missing":
                file.unlink()
            else:
                file.write_bytes(content[: len(content) // 2 if damage == "truncated" else 0])
            if sealed and file.name != "model.json":
                seal(folder)
            assert_refused(folder, "damaged model|not the description|is not a metricfit model")
            file.write_bytes(content)
            seal(folder)
        MetricClassifier.load(folder)

    def test_a_number_of_the_description(self, folder):
        text = (folder / "model.json").read_text()
        temperature = f'"temperature": {read_description(folder)["temperature"]}'
        assert temperature in text
        (folder / "model.json").write_text(text.replace(temperature, '"temperature": 2.0'))
        assert_refused(folder, r"model\.json is not the file that was saved")

    @pytest.mark.parametrize(
        "text",
        ['{"format": "metricfit model"}', "[" * 100_000, "{", '{"format": "other", "version": 1}', '"\ud800"', "null", ""],
    )
    def test_a_foreign_description(self, folder, text):
        (folder / "model.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        assert_refused(folder, "is not the description of a metricfit model")

    @pytest.mark.parametrize(("version", "words"), [(6, "an older version of metricfit"), (8, "a newer version of metricfit")])
    def test_another_version(self, folder, version, words):
        write_description(folder, {**read_description(folder), "version": version})
        assert_refused(folder, f"was written by {words}")


class Payload:
    """Unpickled, it makes a folder."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


class TestNoCode:
    @of("linear", "own")
    def test_a_pickle_is_not_opened(self, folder, tmp_path):
        for file in sorted(folder.iterdir()):
            content = file.read_bytes()
            file.write_bytes(pickle.dumps(Payload(tmp_path / "trace")))
            if file.name != "model.json":
                seal(folder)
            assert_refused(folder, "damaged model|not the description")
            file.write_bytes(content)
            seal(folder)
        assert not (tmp_path / "trace").exists()

    def test_an_object_of_a_type_that_is_not_trusted_is_not_built(self, folder, tmp_path):
        from skops.io import dump

        dump(Payload(tmp_path / "trace"), folder / "model.skops")
        seal(folder)
        assert_refused(folder, r"pass trusted=\(.*Payload")
        assert not (tmp_path / "trace").exists()

    @pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/b", "..", ""])
    def test_files_outside_of_the_folder(self, folder, name):
        found = read_description(folder)
        write_description(folder, {**found, "sha256": {**found["sha256"], name: "0"}})
        assert_refused(folder, "is not the name of a file")

    @pytest.mark.parametrize("name", ["model.json", "arrays.safetensors"])
    def test_a_pipe_or_a_device(self, folder, name):
        (folder / name).unlink()
        os.mkfifo(folder / name)
        assert_refused(folder, "Not a regular file")
        (folder / name).unlink()
        (folder / name).symlink_to("/dev/zero")
        assert_refused(folder, "Not a regular file")

    def test_a_link_to_a_file(self, folder, tmp_path):
        """Caches of models are made of such links."""
        (folder / "model.json").rename(tmp_path / "elsewhere.json")
        (folder / "model.json").symlink_to(tmp_path / "elsewhere.json")
        MetricClassifier.load(folder)


def edit(index, value):
    def change(array):
        array = array.clone()
        array[index] = value
        return array

    return change


def assert_changed_array_is_refused(folder, name, change, problem):
    name = f"model.{name}"
    change_arrays(folder, **{name: change(load_file(folder / "arrays.safetensors")[name]).contiguous()})
    assert_refused(folder, f"contains a damaged model: .*{problem}")


class TestTrees:
    """What would read foreign memory, or never end, if it reached the code that walks through trees."""

    @pytest.mark.parametrize(
        ("folder", "name", "change", "problem"),
        [
            ("extra_trees", "left_child", edit(0, 10**6), "a child in a tree is out of range"),
            ("extra_trees", "left_child", edit(0, -7), "a child in a tree is out of range"),
            ("extra_trees", "right_child", edit(0, 0), "a child in a tree is out of range"),  # a walk that never ends
            ("extra_trees", "right_child", edit(0, -1), "a child in a tree is out of range"),
            ("extra_trees", "feature", edit(0, 5), "a feature of a tree is out of range"),
            ("extra_trees", "feature", edit(0, -1), "a feature of a tree is out of range"),
            ("extra_trees", "value", edit((0, 0), np.inf), "a number is not finite"),
            ("extra_trees", "value", lambda array: array[:-1], "the shapes of its parts do not fit"),
            ("extra_trees", "ends", edit(0, 10**9), "a tree has no nodes"),
            ("extra_trees", "ends", edit(-1, 10**9), "nodes of trees are missing"),
            ("extra_trees", "ends", lambda array: array[:0], "a tree has no nodes"),
            ("extra_trees", "left_child", lambda array: array.long(), "numbers have the type"),
            ("extra_trees", "threshold", lambda array: array[:-1], "nodes of trees are missing"),
            ("boosting", "left", edit(0, 10**6), "a child in a tree is out of range"),
            ("boosting", "right", edit(0, 0), "a child in a tree is out of range"),
            ("boosting", "feature_idx", edit(0, 5), "a feature of a tree is out of range"),
            ("boosting", "sets", lambda array: array[:-1], "the shapes of its parts do not fit"),
            ("boosting", "sets", lambda array: array[:, :4], "the shapes of its parts do not fit"),
            ("boosting", "is_categorical", lambda array: 1 - array, "a set is not of a category"),
            ("boosting", "start", lambda array: array[:-1], "the shapes of its parts do not fit"),
        ],
        indirect=["folder"],
    )
    def test_a_changed_array(self, folder, name, change, problem):
        assert_changed_array_is_refused(folder, f"estimator.{name}", change, problem)

    @of("boosting")
    def test_categories(self, folder):
        found = read_description(folder)
        found["model"]["estimator"]["categories"] = []
        write_description(folder, found)
        assert_refused(folder, "a set is not of a category")


class TestNumbers:
    @pytest.mark.parametrize("name", ["weight", "intercept", "offsets"])
    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_that_are_not_finite(self, folder, name, value):
        assert_changed_array_is_refused(folder, name, edit(0, value), "a number is not finite")

    def test_of_another_type_or_shape(self, folder):
        assert_changed_array_is_refused(folder, "weight", torch.Tensor.float, "numbers have the type")
        assert_changed_array_is_refused(folder, "weight", lambda array: array.double()[:-1], "the shapes of its parts")

    @of("mlp")
    def test_of_a_network(self, folder):
        assert_changed_array_is_refused(folder, "module.0.weight", edit(0, np.nan), "a number is not finite")

    @of("mlp")
    @pytest.mark.parametrize("sizes", [[60_000, 60_000], [1] * 300_000, [], [4], [3, 4], [4.0, 3.0], [-4, 3], [10**30, 3]])
    def test_other_layers(self, folder, sizes):
        found = read_description(folder)
        found["model"]["hidden_layer_sizes"] = sizes
        write_description(folder, found)
        assert_refused(folder)

    @of("mlp")
    def test_loading_draws_no_random_numbers(self, folder):
        before = torch.get_rng_state()
        MetricClassifier.load(folder)
        assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("value", [None, True, -1, 10**30, 1e999, "x", [], {}])
def test_an_entry_of_another_type(folder, value):
    whole = read_description(folder)
    for name in ("params", "classes", "n_features_in", "n_inputs", "temperature", "model", "preprocessor", "forms", "method"):
        write_description(folder, {**whole, name: value})
        assert_refused(folder)
        write_description(folder, {key: entry for key, entry in whole.items() if key != name})
        assert_refused(folder, f"`{name}` is missing")


@pytest.mark.parametrize(
    "change",
    [
        {"metric": {"type": "Nothing", "fields": {}}},
        {"metric": {"type": "Accuracy", "fields": {"more": 1}}},
        {"params": {"hidden": 1}},
        {"params": {"model": {"network": {"layers": 1}}}},
        {"params": {"model": {"estimator": "SVC()"}}},
        {"pos_label": "nobody"},
        {"class_order": ["a", "b"]},
        {"frame_library": "excel"},
        {"feature_names_in": ["size"]},
        {"temperature": -1.0},
        {"forms": ["pickle"]},
        {"classes": {"dtype": "<U1", "values": ["a", "a", "b"]}},
        {"classes": {"dtype": "<U1", "values": ["a", "b", 3]}},
        {"classes": {"dtype": "<M8[s]", "values": ["a", "b", "c"]}},
        {"classes": {"dtype": "|i1", "values": [1, 2, 300]}},
    ],
)
def test_entries_that_do_not_fit(folder, change):
    write_description(folder, {**read_description(folder), **change})
    assert_refused(folder)


@of("frame")
@pytest.mark.parametrize(
    "change",
    [
        lambda parts: parts["text"]["words"].append("more"),
        lambda parts: parts["text"].update(places=[99]),
        lambda parts: parts["text"].update(kind="pickle"),
        lambda parts: parts["categories"]["categories"].clear(),
        lambda parts: parts["categories"]["categories"][0]["frequent"].append("red"),
        lambda parts: parts["numbers"].update(gaps=[10**9]),
        lambda parts: parts["numbers"].update(scale=[0.0]),
        lambda parts: parts["numbers"].update(fill=[1e308]),
    ],
)
def test_preprocessing(folder, change):
    found = read_description(folder)
    change({part["kind"]: part for part in found["preprocessor"]["transformers"]["matrix"]["parts"]})
    write_description(folder, json.loads(json.dumps(found)))
    assert_refused(folder)
