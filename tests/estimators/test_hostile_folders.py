"""Folders that somebody made to harm: each is refused in one line, at once, and nothing of it is built or run."""

import json
import os
import shutil
import time
from contextlib import nullcontext
from io import BytesIO
from itertools import pairwise
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

from campaign._forge import read_description, seal, write_description
from metricfit import MetricClassifier, _skops
from metricfit.estimators._storage import OWN_FILE
from metricfit.learners import Stored

SECONDS = 30.0  # of work: a refusal takes milliseconds; what hangs takes minutes


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Saved models by name, to copy."""
    folder, random = tmp_path_factory.mktemp("models"), np.random.default_rng(0)
    numbers = random.normal(size=(90, 3))
    labels = np.array(["a", "b", "c"])[(numbers[:, 0] > 0.3).astype(int) + (numbers[:, 1] > 0.5)]
    words = random.choice(["red", "green", "blue", "grey", "pink"], (90, 5))
    frame = pd.DataFrame({"size": numbers[:, 0], "colour": words[:, 0], "text": [" ".join(row) for row in words]})
    frame["text"] += [f" {place}" for place in range(90)]
    networks = {"mlp": {"model": "mlp", "n_members": 1}, "members": {"model": "mlp", "n_members": 2}}
    for name, model, data in (("linear", {}, numbers), *((*one, numbers) for one in networks.items()), ("frame", {}, frame)):
        options = {"method": "cross_entropy", "max_epochs": 2, "hidden_layer_sizes": (4, 3), "random_state": 0}
        MetricClassifier(**{"model": "linear", **options, **model}).fit(data, labels).save(folder / name)
    own = MetricClassifier(model="linear", method="cross_entropy", preprocess=StandardScaler()).fit(numbers, labels)
    with pytest.warns(UserWarning, match="cannot hold preprocess"):
        own.save(folder / "own")
    return folder


@pytest.fixture
def folder(saved, tmp_path, request):
    """A copy of the model that a test's parameter names; of the linear one without."""
    return shutil.copytree(saved / getattr(request, "param", "linear"), tmp_path / "model")


def of(name):
    return pytest.mark.parametrize("folder", [name], indirect=True)


def assert_refused(folder, match="damaged model", **options):
    start = time.process_time()
    with pytest.raises(ValueError, match=match) as caught:
        MetricClassifier.load(folder, **options)
    assert "\n" not in str(caught.value)
    assert time.process_time() - start < SECONDS


def load_or_refuse(folder):
    """The model, or None if a ValueError of one line refuses it."""
    try:
        return MetricClassifier.load(folder)
    except ValueError as error:
        return None if "\n" not in str(error) else error


def change_weights(folder, **changed):
    file = folder / "weights.safetensors"
    save_file({**load_file(file), **changed}, file)
    seal(folder)


def change_description(folder, **changed):
    write_description(folder, {**read_description(folder), **changed})


class TestAccidents:
    """Without new checksums: a flipped byte is always noticed."""

    def test_a_flipped_bit_of_any_file(self, folder):
        right = MetricClassifier.load(folder).predict_proba(np.eye(3))
        random = np.random.default_rng(0)
        for file in sorted(folder.iterdir()):
            content = file.read_bytes()
            for place in random.integers(0, len(content), 60):
                damaged = bytearray(content)
                damaged[place] ^= 1 << int(random.integers(8))
                file.write_bytes(damaged)
                loaded = load_or_refuse(folder)
                if loaded:  # a space of model.json became a tab
                    assert file.name == "model.json"
                    assert (loaded.predict_proba(np.eye(3)) == right).all()
            file.write_bytes(content)

    def test_a_number_of_the_description(self, folder):
        text = (folder / "model.json").read_text()
        temperature = f'"temperature": {read_description(folder)["temperature"]}'
        assert temperature in text
        (folder / "model.json").write_text(text.replace(temperature, '"temperature": 2.0'))
        assert_refused(folder, r"model\.json is not the file that was saved")


class TestNumbers:
    @pytest.mark.parametrize("name", ["weight", "intercept", "offsets"])
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_that_are_not_finite(self, folder, name, value):
        tensor = load_file(folder / "weights.safetensors")[name]
        tensor.flatten()[0] = value
        change_weights(folder, **{name: tensor})
        assert_refused(folder, "a number is not finite")

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64])
    def test_of_another_type(self, folder, dtype):
        change_weights(folder, weight=load_file(folder / "weights.safetensors")["weight"].to(dtype))
        assert_refused(folder, "numbers have the type")

    @of("mlp")
    def test_of_a_network(self, folder):
        weight = load_file(folder / "weights.safetensors")["module.0.weight"]
        change_weights(folder, **{"module.0.weight": torch.full_like(weight, np.nan)})
        assert_refused(folder, "a number is not finite")
        change_weights(folder, **{"module.0.weight": weight.double()})
        assert_refused(folder, "numbers have the type")

    @pytest.mark.parametrize("value", [np.inf, np.nan, 0.0, -1.0, 10**400, "1.0", None, True, [1.0]])
    def test_temperature(self, folder, value):
        change_description(folder, temperature=value)
        assert_refused(folder)

    @of("frame")
    @pytest.mark.parametrize("name", ["fill", "mean", "scale"])
    @pytest.mark.parametrize("value", [np.nan, np.inf, 1e308, "1", None, True])
    def test_of_a_preprocessor(self, folder, name, value):
        file = folder / "preprocessor.json"
        found = json.loads(file.read_text())
        found["matrix"]["parts"][0][name][0] = value
        file.write_text(json.dumps(found))
        seal(folder)
        assert_refused(folder)


class TestClasses:
    @pytest.mark.parametrize(
        "values",
        [["a", "a", "b"], ["a", "b"], ["a", "b", 3], ["a", "b", None], [1.0, 2.0, np.nan], [[1], [2], [3]], "abc", []],
    )
    def test_that_are_none(self, folder, values):
        change_description(folder, classes={"dtype": "<U1", "values": values})
        assert_refused(folder)

    @pytest.mark.parametrize("dtype", ["<U500000000", "<U1"])
    def test_a_type_does_not_decide_how_much_memory_is_used(self, folder, dtype):
        change_description(folder, classes={"dtype": dtype, "values": ["a", "b", "c"]})
        assert MetricClassifier.load(folder).classes_.nbytes == 12

    @pytest.mark.parametrize("dtype", ["V500000000", "<M8[s]", "<i4", "f8,f8", "|S1", 5, None])
    def test_of_another_type(self, folder, dtype):
        change_description(folder, classes={"dtype": dtype, "values": ["a", "b", "c"]})
        assert_refused(folder)

    def test_a_number_that_the_type_cannot_hold(self, folder):
        change_description(folder, classes={"dtype": "|i1", "values": [1, 2, 300]}, pos_label=None, class_order=[])
        assert_refused(folder)


@of("mlp")
class TestNetworks:
    @pytest.mark.parametrize(
        "sizes", [[60_000, 60_000], [1] * 300_000, [], [4], [3, 4], [4, 3, 3], [4.0, 3.0], [-4, 3], "43", [10**30, 3]]
    )
    def test_other_layers(self, folder, sizes):
        found = read_description(folder)
        found["model"]["hidden_layer_sizes"] = sizes
        write_description(folder, found)
        assert_refused(folder)

    def test_more_layers_than_are_read_although_they_are_all_there(self, folder):
        sizes = [1] * 1001
        widths = [3, *sizes, 3]
        layers = {f"module.{2 * i}.weight": torch.zeros(n, m) for i, (m, n) in enumerate(pairwise(widths))}
        layers |= {f"module.{2 * i}.bias": torch.zeros(n) for i, n in enumerate(widths[1:])}
        change_weights(folder, **layers)
        found = read_description(folder)
        found["model"]["hidden_layer_sizes"] = sizes
        write_description(folder, found)
        assert_refused(folder, "1,001 layers")

    def test_loading_draws_no_random_numbers(self, folder):
        before = torch.get_rng_state()
        MetricClassifier.load(folder)
        assert torch.equal(torch.get_rng_state(), before)


@of("members")
class TestMembers:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda models: models[:0], "it has 0 members"),
            (lambda models: models * 501, "it has 1,002 members, 1 ... 1,000 are read"),
            (lambda models: [*models, models[0]], "is missing"),
            (lambda models: [{**models[0], "kind": "unknown"}, models[1]], "models of the kind 'unknown' are not known"),
            (lambda models: [{**models[0], "hidden_layer_sizes": [5, 3]}, models[1]], "the shapes of its parts do not fit"),
            (lambda models: [{"kind": "mean", "models": models}, models[1]], "is missing"),
            (lambda models: [{"kind": "linear"}, models[1]], "is missing"),
            (lambda models: {"0": models[0]}, "damaged model"),
            (lambda models: None, "damaged model"),
        ],
    )
    def test_other_members(self, folder, change, message):
        found = read_description(folder)
        found["model"]["models"] = change(found["model"]["models"])
        write_description(folder, found)
        assert_refused(folder, message)

    @pytest.mark.parametrize("name", ["offsets", "0.offsets", "1.module.2.bias"])
    def test_numbers(self, folder, name):
        tensor = load_file(folder / "weights.safetensors")[name]
        change_weights(folder, **{name: torch.full_like(tensor, np.nan)})
        assert_refused(folder, "a number is not finite")


class TestDescriptions:
    def test_every_part_that_is_missing(self, folder):
        whole = read_description(folder)
        refused = set()
        for name in whole.keys() - {"checksum"}:
            write_description(folder, {key: value for key, value in whole.items() if key != name})
            with pytest.warns(UserWarning, match="None") if name == "scikit-learn" else nullcontext():
                refused |= set() if load_or_refuse(folder) else {name}
        assert whole.keys() - refused == {"checksum", "given_metric", "metric_name", "metricfit", "scikit-learn", "torch"}

    @pytest.mark.parametrize("value", [None, True, -1, 0, 10**30, 1e999, "x", [], {}, [[]], {"a": {}}])
    def test_every_part_of_another_type(self, folder, value):
        whole = read_description(folder)
        for name in whole.keys() - {"checksum", "metric_name", "metricfit", "scikit-learn", "torch"}:
            write_description(folder, {**whole, name: value})
            loaded = load_or_refuse(folder)
            assert not loaded or np.isfinite(loaded.predict_proba(np.eye(3))).all()

    @pytest.mark.parametrize("text", ['{"format": "metricfit model"}', "[" * 100_000, "1e999", "9" * 5000, '"\ud800"', "null"])
    def test_that_are_none(self, folder, text):
        (folder / "model.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        assert_refused(folder, "is not the description of a metricfit model")

    @pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/b", "..", ""])
    def test_files_outside_of_the_folder(self, folder, name):
        found = read_description(folder)
        write_description(folder, {**found, "sha256": {**found["sha256"], name: "0"}})
        assert_refused(folder, "is not the name of a file")


class TestFiles:
    NAMES = ("model.json", "weights.safetensors", "preprocessor.json")

    @pytest.mark.parametrize("name", NAMES)
    def test_a_pipe(self, folder, name):
        (folder / name).unlink()
        os.mkfifo(folder / name)
        assert_refused(folder, "Not a regular file")

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("target", ["/dev/zero", "/dev/stdin", "/"])
    def test_a_link_to_something_else(self, folder, name, target):
        (folder / name).unlink()
        (folder / name).symlink_to(target)
        assert_refused(folder, "Not a regular file|Is a directory")

    def test_a_link_to_a_file(self, folder, tmp_path):
        """Caches of models are made of such links."""
        (folder / "model.json").rename(tmp_path / "elsewhere.json")
        (folder / "model.json").symlink_to(tmp_path / "elsewhere.json")
        MetricClassifier.load(folder)

    @pytest.mark.parametrize(
        ("name", "size"), [("model.json", 10**9), ("preprocessor.json", 10**9), ("weights.safetensors", 10**11)]
    )
    def test_a_file_that_is_too_large(self, folder, name, size):
        os.truncate(folder / name, size)  # it takes no room on the disk
        assert_refused(folder, "bytes, at most")


@of("frame")
class TestPreprocessors:
    def change(self, folder, change):
        file = folder / "preprocessor.json"
        found = json.loads(file.read_text())
        change({part["kind"]: part for part in found["matrix"]["parts"]}, found)
        file.write_text(json.dumps(found))
        seal(folder)

    def test_no_option_of_a_vectorizer_comes_from_a_file(self, folder):
        """Such as a token pattern that never ends, or cells that are read as names of files."""
        self.change(folder, lambda parts, found: parts["text"].update(token_pattern="(a+)+$", input="filename"))
        words = next(
            part for part in MetricClassifier.load(folder).preprocessor_.transformers["matrix"].parts if part.kind == "text"
        )
        assert words.steps[0].token_pattern == TfidfVectorizer().token_pattern
        assert words.steps[0].input == "content"

    @pytest.mark.parametrize(
        "change",
        [
            lambda parts, found: parts["text"]["words"].append("more"),
            lambda parts, found: parts["text"]["words"].__setitem__(0, parts["text"]["words"][1]),
            lambda parts, found: parts["text"]["words"].__setitem__(0, 5),
            lambda parts, found: parts["text"].update(words={}, idf=[]),
            lambda parts, found: parts["text"].update(places=[0]),
            lambda parts, found: parts["text"].update(places=[99]),
            lambda parts, found: parts["text"].update(places=[-1]),
            lambda parts, found: parts["text"].update(kind="pickle"),
            lambda parts, found: parts["categories"]["categories"].clear(),
            lambda parts, found: parts["categories"]["categories"][0]["frequent"].append("red"),
            lambda parts, found: parts["categories"]["categories"][0]["frequent"].append(["red"]),
            lambda parts, found: parts["categories"]["categories"][0]["frequent"].append(1e308),
            lambda parts, found: parts["categories"]["categories"][0]["frequent"].append("one more"),
            lambda parts, found: parts["numbers"].update(gaps=[0, 0]),
            lambda parts, found: parts["numbers"].update(gaps=[10**9]),
            lambda parts, found: parts["numbers"].update(scale=[0.0]),
            lambda parts, found: found["matrix"]["parts"].pop(),
            lambda parts, found: found["matrix"].update(parts=None),
            lambda parts, found: found["matrix"].update(sparse=None),
            lambda parts, found: found["matrix"].update(reads="other"),
            lambda parts, found: found.update(columns=found["matrix"]),
            lambda parts, found: found.clear(),
        ],
    )
    def test_parts_that_do_not_fit(self, folder, change):
        self.change(folder, change)
        assert_refused(folder)


@of("own")
class TestTransformersOfYourOwn:
    """A file of skops: what is built is decided by loaders, whatever type a node shows."""

    NEEDED = ("sklearn.preprocessing._data.StandardScaler",)

    def rewrite(self, folder, change, **files):
        """Change the schema inside the file."""
        file = folder / OWN_FILE
        with ZipFile(file) as parts:
            content = {name: parts.read(name) for name in parts.namelist()}
        schema = json.loads(content["schema.json"])
        change(schema)
        with ZipFile(file, "w", ZIP_DEFLATED) as parts:
            for name, data in {**content, **files, "schema.json": json.dumps(schema)}.items():
                parts.writestr(name, data)
        seal(folder)

    def test_every_type_has_to_be_named(self, folder):
        assert_refused(folder, r"pass trusted=\('sklearn\.preprocessing\._data\.StandardScaler',\)")
        MetricClassifier.load(folder, trusted=self.NEEDED)

    @pytest.mark.parametrize(
        "loader",
        ["PartialNode", "MethodNode", "ConstructorFromReduceNode", "OperatorFuncNode", "TreeNode", "CachedNode", "None"],
    )
    def test_a_loader_behind_another_type(self, folder, loader):
        """The high finding: a node that says numpy.ndarray, and builds a call."""

        def change(schema):
            schema["content"]["content"]["mean_"] = {
                "__class__": "ndarray",
                "__module__": "numpy",
                "__loader__": loader,
                "content": {"func": {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode", "__id__": 1}},
            }

        self.rewrite(folder, change)
        assert_refused(folder, f"{loader} is not allowed", trusted=(*self.NEEDED, "numpy.ndarray"))

    @pytest.mark.parametrize("loader", ["DictNode", "ListNode", "JsonNode", "NdArrayNode"])
    def test_a_type_behind_another_loader(self, folder, loader):
        self.rewrite(folder, lambda schema: schema.update(__loader__=loader))
        assert_refused(folder, f"{loader} does not build", trusted=self.NEEDED)

    def test_a_value_in_place_of_a_method(self, folder):
        text = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": '"x"', "is_json": True}
        self.rewrite(folder, lambda schema: schema["content"]["content"].update(get_params=text))
        assert_refused(folder, "has a value in place of its method get_params", trusted=self.NEEDED)

    @pytest.mark.parametrize("how", ["filename", "file"])
    def test_a_vectorizer_that_would_read_files(self, folder, how):
        _skops.write(TfidfVectorizer(input=how, vocabulary=["word"]), folder / OWN_FILE)
        seal(folder)
        names = tuple(f"sklearn.feature_extraction.text.Tfidf{name}" for name in ("Transformer", "Vectorizer"))
        assert_refused(folder, "would read files by name", trusted=names)

    def test_another_protocol_has_other_loaders(self, folder):
        self.rewrite(folder, lambda schema: schema.update(protocol=0))
        assert_refused(folder, "another version of skops", trusted=self.NEEDED)

    def test_a_bomb(self, folder, monkeypatch):
        monkeypatch.setattr(_skops, "MOST_BYTES", 2**20)
        self.rewrite(folder, lambda schema: None, bomb=bytes(2**21))
        assert (folder / OWN_FILE).stat().st_size < 2**17
        assert_refused(folder, "more than 1,048,576 bytes", trusted=self.NEEDED)

    @pytest.mark.parametrize("shape", ["(10**12,)", "(1000000000000,)", "(-1,)"])
    def test_an_array_that_claims_to_be_large(self, folder, shape):
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
        array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(8)
        with ZipFile(folder / OWN_FILE) as parts:
            name = next(name for name in parts.namelist() if name.endswith(".npy"))
        self.rewrite(folder, lambda schema: None, **{name: array})
        assert_refused(folder, trusted=self.NEEDED)

    def test_an_array_of_objects_is_a_pickle(self, folder):
        stream = BytesIO()
        np.save(stream, np.array([print], dtype=object), allow_pickle=True)
        with ZipFile(folder / OWN_FILE) as parts:
            name = next(name for name in parts.namelist() if name.endswith(".npy"))
        self.rewrite(folder, lambda schema: None, **{name: stream.getvalue()})
        assert_refused(folder, "an array", trusted=self.NEEDED)


def test_the_tensors_of_a_file_are_not_searched_for_every_member():
    class Counted(dict):
        n_searches = 0

        def items(self):
            self.n_searches += 1
            return super().items()

    tensors = Counted({f"1.{place}.{name}": torch.zeros(1) for place in range(50) for name in "ab"})
    stored = Stored({"models": [{}, {"models": [{}] * 50}]}, tensors, None)
    inside = stored.inside()[1].inside()
    assert [sorted(one.tensors) for one in inside] == [["a", "b"]] * 50
    assert tensors.n_searches == 1
