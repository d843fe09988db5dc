"""LightGBM and XGBoost in their own formats, which their own parsers read.

A parser that is given a damaged file ends the whole process, sometimes only at the first prediction. So files are checked
before: every number is where it should be, and every walk through a tree stays inside it and ends. What is not known here
(trees with linear leaves, objectives of your own) is refused when a model is saved.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricfit._typing import Floats

END_OF_TREES = "end of trees\n"
HEADER = {  # of LightGBM; the rest of a header is not parsed as numbers
    "tree", "version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective", "feature_names",
    "feature_infos", "tree_sizes", "average_output",
}  # fmt: skip
FLAGS = ("tree", "average_output")  # lines without a value
OF_NODES = ("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child")
OF_NODES_TOO = ("internal_value", "internal_weight", "internal_count")
OF_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
SINGLE = ("num_leaves", "num_cat", "is_linear", "shrinkage")
CATEGORIES = ("cat_boundaries", "cat_threshold")
NUMBER = r"-?(inf|\d+(\.\d+)?(e[-+]?\d+)?)"  # a threshold of inf splits off what is missing
NO_PARENT = 2**31 - 1


@dataclass(frozen=True)
class LightGBM:
    """A booster of LightGBM with the probabilities of ``LGBMClassifier``."""

    booster: Any

    @property
    def n_features_in_(self) -> int:
        return self.booster.num_feature()

    def predict_proba(self, features: Any) -> Floats:
        found = np.asarray(self.booster.predict(features))
        return np.vstack((1.0 - found, found)).T if found.ndim == 1 else found


def lightgbm_text(estimator: Any, n_classes: int) -> str:
    """What a file keeps: the text that LightGBM writes."""
    booster = estimator.booster if isinstance(estimator, LightGBM) else estimator.booster_
    text = booster.model_to_string()
    _checked_text(text, estimator.n_features_in_, n_classes)
    return text


def restore_lightgbm(text: str, n_features: int, n_classes: int) -> LightGBM:
    from lightgbm import Booster
    from lightgbm.basic import LightGBMError

    try:
        return LightGBM(Booster(model_str=_checked_text(text, n_features, n_classes)))
    except LightGBMError as error:
        raise TypeError(f"LightGBM refuses it: {error}") from error


def _checked_text(text: str, n_features: int, n_classes: int) -> str:
    """Header and trees, all that predictions need, written anew; a TypeError if something is not as LightGBM writes it."""
    head, found, rest = text.partition("\nTree=0\n")
    body, ended, _ = rest.partition(f"\n{END_OF_TREES}")
    _check(found and ended and text.isascii(), "the text is not complete")
    header = _fields(head, HEADER)
    n_columns = 1 if n_classes == 2 else n_classes
    sigmoid = f"sigmoid:{NUMBER}"
    objective = f"binary {sigmoid}" if n_columns == 1 else f"multiclass(ova)? num_class:{n_columns}( {sigmoid})?"
    _check(re.fullmatch(objective, header.get("objective", "")), f"the objective is {header.get('objective', 'a function')}")
    right = {"num_class": n_columns, "num_tree_per_iteration": n_columns, "max_feature_idx": n_features - 1, "label_index": 0}
    for name, number in right.items():
        _check(header[name] == str(number), f"{name} is not {number}")
    trees = []
    for place, lines in enumerate(re.split(r"\nTree=\d+\n", body)):
        fields = _fields(lines, {*OF_NODES, *OF_NODES_TOO, *OF_LEAVES, *SINGLE, *CATEGORIES})
        _check_lightgbm_tree(fields, n_features)
        trees.append(f"Tree={place}\n{_lines(fields)}\n\n")
    _check(len(trees) % n_columns == 0 and len(trees) == len(header["tree_sizes"].split()), "trees are missing")
    header["tree_sizes"] = " ".join(str(len(tree)) for tree in trees)
    return f"{_lines(header)}\n{''.join(trees)}{END_OF_TREES}\npandas_categorical:null\n"


def _fields(text: str, known: set[str]) -> dict[str, str]:
    """Lines ``name=value``, each name once."""
    lines = [line.partition("=") for line in text.split("\n") if line]
    fields = {name: value for name, _, value in lines}
    _check(len(fields) == len(lines), "a line is there twice")
    _check(fields.keys() <= known, f"{', '.join(sorted(fields.keys() - known))[:80]} is not known here")
    return fields


def _lines(fields: Mapping[str, str]) -> str:
    return "".join(f"{name}\n" if name in FLAGS else f"{name}={value}\n" for name, value in fields.items())


def _check_lightgbm_tree(fields: Mapping[str, str], n_features: int) -> None:
    n_leaves, n_sets, is_linear = (int(_numbers(fields[name], np.int64, 1)[0]) for name in SINGLE[:3])
    _check(n_leaves >= 1 and n_sets >= 0 and not is_linear, "trees have linear leaves")
    _numbers(fields["shrinkage"], np.float64, 1)
    _check(np.isfinite(_numbers(fields["leaf_value"], np.float64, n_leaves)).all(), "a value is not finite")
    if n_leaves == 1:
        _check(not any(fields.get(name) for name in (*OF_NODES, *CATEGORIES)), "a leaf has children")
        return
    for names, length in ((OF_LEAVES, n_leaves), ((*OF_NODES, *OF_NODES_TOO), n_leaves - 1)):
        for name in names:
            _numbers(fields[name], np.float64, length)
    feature, kind, left, right = (_numbers(fields[name], np.int64) for name in ("split_feature", *OF_NODES[3:]))
    _check_walks([left, right], n_leaves - 1, n_leaves)
    _check(((feature >= 0) & (feature < n_features)).all(), "a feature is out of range")
    _check(((kind >= 0) & (kind < 16)).all(), "a decision is not known")
    in_set = (kind & 1) == 1
    _check(bool(n_sets) == bool(in_set.any()), "sets of categories are missing")
    if n_sets:
        bounds, sets = (_numbers(fields[name], np.int64) for name in CATEGORIES)
        chosen = _numbers(fields["threshold"], np.float64)[in_set]
        _check(((chosen >= 0) & (chosen < n_sets) & (chosen == np.floor(chosen))).all(), "a set of categories is out of range")
        _check(len(bounds) == n_sets + 1 and bounds[0] == 0 and bounds[-1] == len(sets), "sets of categories are missing")
        _check((np.diff(bounds) > 0).all() and ((sets >= 0) & (sets < 2**32)).all(), "a set of categories is damaged")


def xgboost_json(estimator: Any, n_classes: int) -> str:
    """What a file keeps: the JSON that XGBoost writes."""
    found = json.loads(bytes(estimator.get_booster().save_raw("json")))
    found["learner"]["attributes"] = {}
    _check_xgboost(found, estimator.n_features_in_, n_classes)
    return json.dumps(found)


def restore_xgboost(text: str, missing: float, n_features: int, n_classes: int) -> Any:
    from xgboost import XGBClassifier
    from xgboost.core import XGBoostError

    found = json.loads(text)
    _check_xgboost(found, n_features, n_classes)
    estimator = XGBClassifier(missing=missing)
    try:
        estimator.load_model(bytearray(json.dumps(found).encode()))  # what was checked, not what another parser would see
    except XGBoostError as error:
        raise TypeError(f"XGBoost refuses it: {error}") from error
    return estimator


def _check_xgboost(found: Any, n_features: int, n_classes: int) -> None:
    """Raise a TypeError if something is not as XGBoost writes it."""
    learner, n_columns = found["learner"], 1 if n_classes == 2 else n_classes
    booster, objective, shape = learner["gradient_booster"], learner["objective"], learner["learner_model_param"]
    known = "binary:logistic" if n_columns == 1 else "multi:softprob"
    _check(objective["name"] == known, f"the objective is {objective['name']}")
    _check(booster["name"] == "gbtree", f"the booster is {booster['name']}")
    _check(n_columns == 1 or objective["softmax_multiclass_param"]["num_class"] == str(n_classes), "it has other classes")
    _check(shape["num_class"] == str(0 if n_columns == 1 else n_classes), "it has other classes")
    _check(shape["num_feature"] == str(n_features) and shape["num_target"] == "1", "it has other features")
    _check(learner["attributes"] == {} and not learner["feature_names"], "it has attributes")
    model = booster["model"]
    _check(not any(model.get("cats", {}).values()) and "c" not in learner["feature_types"], "features are categories")
    trees, groups = model["trees"], _array(model["tree_info"])
    _check(str(len(trees)) == model["gbtree_model_param"]["num_trees"] and len(groups) == len(trees), "trees are missing")
    _check(((groups >= 0) & (groups < n_columns)).all(), "a tree is of no class")
    rounds = _array(model["iteration_indptr"])
    _check(rounds[0] == 0 and rounds[-1] == len(trees) and (np.diff(rounds) >= 0).all(), "rounds are out of range")
    for place, tree in enumerate(trees):
        _check(tree["id"] == place, "a tree is not where it should be")
        _check_xgboost_tree(tree, n_features)


def _check_xgboost_tree(tree: Mapping[str, Any], n_features: int) -> None:
    n_nodes, shape = len(tree["left_children"]), tree["tree_param"]
    _check(n_nodes > 0 and shape["num_nodes"] == str(n_nodes) and shape["num_feature"] == str(n_features), "nodes are missing")
    _check(shape["size_leaf_vector"] in ("0", "1"), "a leaf has several values")
    _check(shape["num_deleted"] == "0", "nodes were deleted after training, by gamma with tree_method='exact'")
    _check(not any(tree[name] for name in tree if name.startswith("categories")), "features are categories")
    for name in ("split_conditions", "base_weights", "loss_changes", "sum_hessian"):
        _check(not np.isnan(_array(tree[name], n_nodes, "if")).any(), f"{name} has gaps")
    left, right, feature, kind, parent, _ = (
        _array(tree[name], n_nodes)
        for name in ("left_children", "right_children", "split_indices", "split_type", "parents", "default_left")
    )
    _check((kind == 0).all(), "features are categories")
    _check(((feature >= 0) & (feature < n_features)).all(), "a feature is out of range")
    _check(((left == -1) == (right == -1)).all(), "a child is missing")
    _check_walks([left, right], n_nodes, 1)
    parents, inner = np.full(n_nodes, NO_PARENT), np.flatnonzero(left >= 0)
    parents[left[inner]] = parents[right[inner]] = inner
    _check((parents == parent).all(), "a parent is out of range")


def _check_walks(children: Iterable[NDArray[np.int64]], n_nodes: int, n_leaves: int) -> None:
    """Children are later nodes, so that no walk returns; negative ones are leaves, -1 is the first."""
    place = np.arange(n_nodes)
    for child in children:
        inner = (child > place) & (child < n_nodes)
        _check(np.where(child < 0, child >= -n_leaves, inner).all(), "a child is out of range")


def _numbers(text: str, kind: Any, length: int | None = None) -> NDArray[Any]:
    _check(re.fullmatch(f"{NUMBER}( {NUMBER})*", text.rstrip(" ")), "something is not a number")
    try:
        numbers = np.array(text.split(), dtype=kind)
    except (ValueError, OverflowError) as error:
        raise TypeError(f"it is damaged: {error}") from error
    _check(length is None or len(numbers) == length, "numbers are missing")
    return numbers


def _array(values: Sequence[Any], length: int | None = None, kinds: str = "i") -> NDArray[Any]:
    array = np.asarray(values)
    _check(array.ndim == 1 and array.dtype.kind in kinds and length in (None, len(array)), "numbers are missing")
    return array


def _check(right: Any, problem: str) -> None:
    if not right:
        raise TypeError(f"{problem}")
