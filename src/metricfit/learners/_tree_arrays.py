"""scikit-learn's trees as plain arrays, and back.

The code that walks through a tree checks no bounds: a child or a feature out of range reads foreign memory, a child that
points back never ends. So files keep arrays, which are checked before trees are built. They keep what predictions need.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.tree._tree import NODE_DTYPE, Tree

from metricfit._typing import Floats

LEAF = -1  # as a child
NO_FEATURE = -2  # of a leaf, as in scikit-learn
MAX_TREES = 100_000  # that a file may have
MAX_CELLS = 2**27  # of the table that teaches categories
WORDS = 8  # of 32 bits in a set of categories
ONE_TREE = {kind.__name__: kind for kind in (DecisionTreeClassifier, ExtraTreeClassifier)}
FORESTS = {kind.__name__: kind for kind in (ExtraTreesClassifier, RandomForestClassifier)}
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Trees:
    """The nodes of all trees, one tree after the other. A leaf has no children; the root of a tree is its first node."""

    n_nodes: NDArray[np.int64]  # of each tree
    left: NDArray[np.int32]  # child of each node within its tree
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]  # of the leaves, in their order

    @classmethod
    def of(cls, trees: Sequence[Arrays]) -> Trees:
        joined = {name: np.concatenate([tree[name] for tree in trees]) for name in trees[0]}
        leaf = joined.pop("leaf")
        return cls(
            np.array([len(tree["leaf"]) for tree in trees], np.int64),
            np.where(leaf, LEAF, joined["left"]).astype(np.int32),
            np.where(leaf, LEAF, joined["right"]).astype(np.int32),
            np.where(leaf, NO_FEATURE, joined["feature"]).astype(np.int32),
            np.where(leaf, 0.0, joined["threshold"]),
            joined["missing_left"].astype(bool) & ~leaf,
            joined["value"][leaf],
        )

    @property
    def leaf(self) -> NDArray[np.bool_]:
        return self.left == LEAF

    def check(self, n_features: int, n_values: int) -> None:
        """Raise a TypeError unless every walk stays inside its tree, reads columns that there are, and ends at a leaf."""
        kinds = {"left": "i4", "right": "i4", "feature": "i4", "threshold": "f8", "missing_left": "?", "value": "f8"}
        _check(
            _is(self.n_nodes, "i8", 1) and 0 < len(self.n_nodes) <= MAX_TREES and (self.n_nodes > 0).all(),
            "there are no trees",
        )
        _check((self.n_nodes < 2**31).all() and sum(self.n_nodes.tolist()) == len(self.left), "nodes are missing")
        for name, kind in kinds.items():
            array = getattr(self, name)
            _check(_is(array, kind, 2 if name == "value" else 1), f"{name} has another type")
            _check(name == "value" or len(array) == len(self.left), f"{name} has another length")
        _check(self.value.shape == (int(self.leaf.sum()), n_values), "the leaves have other values")
        _check(bool(np.isfinite(self.value).all()), "a value is not finite")
        _check(not np.isnan(self.threshold).any(), "a threshold is missing")
        starts = np.cumsum(self.n_nodes) - self.n_nodes
        place, size = np.arange(len(self.left)) - np.repeat(starts, self.n_nodes), np.repeat(self.n_nodes, self.n_nodes)
        for child in (self.left, self.right):
            inner = (child > place) & (child < size)  # children come later, so that no walk returns
            _check(bool(np.where(self.leaf, child == LEAF, inner).all()), "a child is out of range")
        columns = (self.feature >= 0) & (self.feature < n_features)
        _check(bool(np.where(self.leaf, self.feature == NO_FEATURE, columns).all()), "a feature is out of range")

    def each(self, **further: NDArray[Any]) -> Iterable[Arrays]:
        """The arrays of every tree, values spread over all nodes."""
        names = ("left", "right", "feature", "threshold", "missing_left", "leaf")
        arrays = {name: getattr(self, name) for name in names} | further
        last_leaf = 0
        for start, size in zip(np.cumsum(self.n_nodes) - self.n_nodes, self.n_nodes, strict=True):
            tree = {name: array[start : start + size] for name, array in arrays.items()}
            n_leaves = int(tree["leaf"].sum())
            value = np.zeros((size, self.value.shape[1]))
            value[tree["leaf"]] = self.value[last_leaf : last_leaf + n_leaves]
            last_leaf += n_leaves
            yield {**tree, "value": value}


def forest_arrays(estimator: Any) -> dict[str, Any]:
    """What a file keeps of a forest or of one tree."""
    trees = estimator.estimators_ if type(estimator).__name__ in FORESTS else [estimator]
    return vars(Trees.of([_nodes_of(tree.tree_) for tree in trees]))


def _nodes_of(tree: Any) -> Arrays:
    nodes, values = tree.__getstate__()["nodes"], tree.value
    names = {"left": "left_child", "right": "right_child", "missing_left": "missing_go_to_left"}
    found = {name: nodes[names.get(name, name)] for name in ("left", "right", "feature", "threshold", "missing_left")}
    return {**found, "leaf": nodes["left_child"] == LEAF, "value": values[:, 0, :]}


def build_forest(kind: str, arrays: dict[str, Any], n_features: int, n_classes: int) -> Any:
    """The estimator of checked arrays."""
    trees = Trees(**arrays)
    trees.check(n_features, n_classes)
    fitted = {"n_features_in_": n_features, "n_outputs_": 1, "classes_": np.arange(n_classes), "n_classes_": n_classes}
    if kind in ONE_TREE:
        _check(len(trees.n_nodes) == 1, "there is more than one tree")
        return _with(ONE_TREE[kind](), tree_=_build_tree(next(iter(trees.each())), n_features), **fitted)
    forest = FORESTS[kind](len(trees.n_nodes))
    build = type(forest.estimator)
    members = [_with(build(), tree_=_build_tree(tree, n_features), **fitted) for tree in trees.each()]
    return _with(forest, estimator_=build(), estimators_=members, **fitted)


def _build_tree(arrays: Arrays, n_features: int) -> Tree:
    nodes = np.zeros(len(arrays["leaf"]), NODE_DTYPE)
    for name, array in arrays.items():
        if name not in ("leaf", "value"):
            nodes[{"left": "left_child", "right": "right_child", "missing_left": "missing_go_to_left"}.get(name, name)] = array
    values = np.ascontiguousarray(arrays["value"][:, None, :])
    tree = Tree(n_features, np.array([values.shape[2]], np.intp), 1)
    # max_depth sizes the memory of decision_path: more than enough
    tree.__setstate__({"max_depth": len(nodes), "node_count": len(nodes), "nodes": nodes, "values": values})
    return tree


def boosting_arrays(estimator: HistGradientBoostingClassifier) -> dict[str, Any]:
    """What a file keeps of scikit-learn's boosted trees: the trees, where they start, and the categories that they know."""
    trees, sets, in_sets = [], [], []
    for tree in (tree for one_round in estimator._predictors for tree in one_round):
        nodes = tree.nodes
        names = {"feature": "feature_idx", "threshold": "num_threshold", "missing_left": "missing_go_to_left"}
        found = {name: nodes[names.get(name, name)] for name in ("left", "right", "feature", "threshold", "missing_left")}
        trees.append({**found, "leaf": nodes["is_leaf"].astype(bool), "value": nodes["value"][:, None]})
        in_sets.append((nodes["is_categorical"] != 0) & (nodes["is_leaf"] == 0))
        sets.append(tree.raw_left_cat_bitsets[nodes["bitset_idx"][in_sets[-1]]])
    encoder = None if estimator._preprocessor is None else estimator._preprocessor.named_transformers_["encoder"]
    known = [] if encoder is None else [np.asarray(one, np.float64) for one in encoder.categories_]
    return {
        **vars(Trees.of(trees)),
        "in_set": np.concatenate(in_sets),
        "sets": np.concatenate(sets).astype(np.uint32).reshape(-1, WORDS),
        "start": np.asarray(estimator._baseline_prediction, np.float64).ravel(),
        "is_category": np.zeros(0, bool) if encoder is None else np.asarray(estimator.is_categorical_, bool),
        "n_categories": np.array([len(one) for one in known], np.int64),
        "categories": np.concatenate([np.zeros(0), *known]),
    }


def build_boosting(arrays: dict[str, Any], n_features: int, n_classes: int) -> HistGradientBoostingClassifier:
    """The estimator of checked arrays."""
    in_set, sets, start, is_category, n_categories, joined = (
        arrays.pop(name) for name in ("in_set", "sets", "start", "is_category", "n_categories", "categories")
    )
    trees = Trees(**arrays)
    trees.check(n_features, 1)
    n_columns = 1 if n_classes == 2 else n_classes  # trees of a round
    _check(
        _is(start, "f8", 1) and len(start) == n_columns and bool(np.isfinite(start).all()), "the start is not one per class"
    )
    _check(len(trees.n_nodes) % n_columns == 0, "the last round is not complete")
    _check(_is(is_category, "?", 1) and len(is_category) in (0, n_features), "is_category has another length")
    _check(_is(n_categories, "i8", 1) and _is(joined, "f8", 1), "categories are not numbers")
    _check(len(n_categories) == int(is_category.sum()), "the categories of a feature are missing")
    _check(((n_categories > 0) & (n_categories <= 256)).all(), "the categories of a feature are missing")
    _check(n_categories.sum() == len(joined) and not np.isinf(joined).any(), "categories are not numbers")
    categories = np.split(joined, np.cumsum(n_categories)[:-1]) if len(n_categories) else []
    _check(n_features * max(n_categories, default=1) <= MAX_CELLS, "it has too many features")
    _check(
        _is(in_set, "?", 1) and len(in_set) == len(trees.left) and not (in_set & trees.leaf).any(), "in_set is not of nodes"
    )
    _check(_is(sets, "u4", 2) and sets.shape == (int(in_set.sum()), WORDS), "sets of categories are missing")
    _check(bool((trees.feature[in_set] < len(categories)).all()), "a set is not of a category")  # categories come first
    estimator = HistGradientBoostingClassifier(categorical_features=is_category if len(is_category) else None)
    _, known_codes = estimator._preprocess_X(_table_of(is_category, categories, n_features), reset=True)
    estimator._bin_mapper = _BinMapper()
    coded = estimator._is_categorical_remapped
    estimator._bin_mapper.is_categorical_ = np.zeros(n_features, np.uint8) if coded is None else coded.astype(np.uint8)
    estimator._bin_mapper.bin_thresholds_ = known_codes
    sets = np.ascontiguousarray(sets)
    rounds = [_build_predictor(tree, sets) for tree in trees.each(in_set=in_set, set_index=np.cumsum(in_set) - 1)]
    estimator._predictors = [rounds[first : first + n_columns] for first in range(0, len(rounds), n_columns)]
    _with(estimator, n_trees_per_iteration_=n_columns, classes_=np.arange(n_classes), _n_features=n_features)
    estimator._baseline_prediction, estimator._loss = start[None, :], estimator._get_loss(sample_weight=None)
    return estimator


def _table_of(is_category: NDArray[np.bool_], categories: Sequence[Floats], n_features: int) -> Floats:
    """Rows that have all categories: scikit-learn learns its codes from them, as it did from the training rows."""
    table = np.zeros((max([len(known) for known in categories], default=1), n_features))
    for column, known in zip(np.flatnonzero(is_category), categories, strict=True):
        table[:, column] = np.resize(known, len(table))
    return table


def _build_predictor(arrays: Arrays, sets: NDArray[np.uint32]) -> TreePredictor:
    leaf = arrays["leaf"]
    nodes = np.zeros(len(leaf), PREDICTOR_RECORD_DTYPE)
    nodes["value"], nodes["is_leaf"], nodes["is_categorical"] = arrays["value"][:, 0], leaf, arrays["in_set"]
    nodes["left"], nodes["right"] = np.where(leaf, 0, arrays["left"]), np.where(leaf, 0, arrays["right"])
    nodes["feature_idx"], nodes["num_threshold"] = np.where(leaf, 0, arrays["feature"]), arrays["threshold"]
    nodes["missing_go_to_left"] = arrays["missing_left"]
    nodes["bitset_idx"] = np.where(arrays["in_set"], arrays["set_index"], 0)
    return TreePredictor(nodes, sets, sets)


def _with(estimator: Any, **fitted: Any) -> Any:
    for name, value in fitted.items():
        setattr(estimator, name, value)
    return estimator


def _is(array: Any, kind: str, n_axes: int) -> bool:
    return type(array) is np.ndarray and array.dtype == np.dtype(kind) and array.ndim == n_axes


def _check(right: Any, problem: str) -> None:
    if not right:
        raise TypeError(f"its trees are damaged: {problem}")
