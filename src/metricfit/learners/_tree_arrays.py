"""scikit-learn's boosted and extremely randomised trees as plain data, and back.

The code that walks through a tree checks no bounds: a child or a feature out of range reads foreign memory, a child that
points back never ends. So files keep arrays, which are checked before trees are built. They keep what predictions need, under
scikit-learn's own names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree._tree import NODE_DTYPE, Tree

from metricfit._description import check, checked_array
from metricfit._typing import Ints

LEAF = -1  # as a child in a forest
WORDS = 8  # of 32 bits in a set of categories
MAX_CELLS = 2**27  # of the table that teaches categories
FOREST_FIELDS = {
    "left_child": "int32",
    "right_child": "int32",
    "feature": "int32",
    "threshold": "float64",
    "missing_go_to_left": "uint8",
}
BOOSTING_FIELDS = {
    "left": "int32",
    "right": "int32",
    "feature_idx": "int32",
    "num_threshold": "float64",
    "missing_go_to_left": "uint8",
    "value": "float64",
    "is_leaf": "uint8",
    "is_categorical": "uint8",
}


def trees_to_plain(estimator: Any) -> dict[str, Any] | None:
    """What a file keeps of an estimator of trees; None for all others. A subclass may do anything, so it is another type."""
    if type(estimator) is HistGradientBoostingClassifier:
        return _boosting_to_plain(estimator)
    return _forest_to_plain(estimator) if type(estimator) is ExtraTreesClassifier else None


def trees_from_plain(plain: Mapping[str, Any], n_features: int, n_classes: int) -> Any:
    """The estimator, ready to predict; a DamagedError if a walk through a tree would not end at one of its leaves."""
    build = {"boosting": _boosting_from_plain, "extra_trees": _forest_from_plain}[plain["trees"]]
    return build(plain, n_features, n_classes)


def _forest_to_plain(forest: ExtraTreesClassifier) -> dict[str, Any]:
    trees = [one.tree_ for one in forest.estimators_]
    plain = _join_nodes([tree.__getstate__()["nodes"] for tree in trees], FOREST_FIELDS)
    value = np.concatenate([tree.value[:, 0, :] for tree in trees])
    return {"trees": "extra_trees", **plain, "value": value[plain["left_child"] == LEAF]}  # predictions come from leaves


def _forest_from_plain(plain: Mapping[str, Any], n_features: int, n_classes: int) -> ExtraTreesClassifier:
    nodes, ends = _restore_nodes(plain, FOREST_FIELDS, NODE_DTYPE)
    leaf = nodes["left_child"] == LEAF
    _check_walks(nodes["left_child"], nodes["right_child"], nodes["feature"], leaf, ends, n_features)
    values = np.zeros((len(nodes), 1, n_classes))
    values[leaf, 0] = checked_array(plain["value"], "float64", (int(leaf.sum()), n_classes))
    fitted = {"n_features_in_": n_features, "n_outputs_": 1, "classes_": np.arange(n_classes), "n_classes_": n_classes}
    forest = ExtraTreesClassifier(len(ends))
    kind, members = type(forest.estimator), []
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        tree, size = Tree(n_features, np.array([n_classes], np.intp), 1), int(end - start)
        state = {"node_count": size, "nodes": nodes[start:end], "values": values[start:end]}
        tree.__setstate__({"max_depth": size, **state})  # the depth sizes the memory of decision_path: more than enough
        members.append(_with(kind(), tree_=tree, **fitted))
    return _with(forest, estimator_=kind(), estimators_=members, **fitted)


def _boosting_to_plain(estimator: HistGradientBoostingClassifier) -> dict[str, Any]:
    """The trees, where they start, and the categories that they know. Each node of a category has its set, in their order."""
    trees = [tree for one_round in estimator._predictors for tree in one_round]
    sets = [tree.raw_left_cat_bitsets[tree.nodes["bitset_idx"][_has_set(tree.nodes)]] for tree in trees]
    encoder = None if estimator._preprocessor is None else estimator._preprocessor.named_transformers_["encoder"]
    return {
        "trees": "boosting",
        **_join_nodes([tree.nodes for tree in trees], BOOSTING_FIELDS),
        "sets": np.concatenate(sets).astype(np.uint32).reshape(-1, WORDS).view(np.int32),
        "start": np.asarray(estimator._baseline_prediction, np.float64).ravel(),
        "categorical": [] if encoder is None else np.flatnonzero(estimator.is_categorical_).tolist(),
        "categories": [] if encoder is None else [np.asarray(one, np.float64).tolist() for one in encoder.categories_],
    }


def _boosting_from_plain(plain: Mapping[str, Any], n_features: int, n_classes: int) -> HistGradientBoostingClassifier:
    columns, categories, n_trees = plain["categorical"], plain["categories"], 1 if n_classes <= 2 else n_classes
    nodes, ends = _restore_nodes(plain, BOOSTING_FIELDS, PREDICTOR_RECORD_DTYPE)
    _check_walks(nodes["left"], nodes["right"], nodes["feature_idx"], nodes["is_leaf"] == 1, ends, n_features)
    check(len(ends) % n_trees == 0, "the last round of trees is not complete")
    has_set = _has_set(nodes)
    check((nodes["feature_idx"][has_set] < len(categories)).all(), "a set is not of a category")  # which trees have first
    sets = checked_array(plain["sets"], "int32", (int(has_set.sum()), WORDS)).view(np.uint32)
    nodes["bitset_idx"] = np.where(has_set, np.cumsum(has_set) - 1, 0)
    estimator = _teach_categories(columns, categories, n_features, n_classes)
    predictors = [TreePredictor(nodes[start:end], sets, sets) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    estimator._predictors = [predictors[first : first + n_trees] for first in range(0, len(predictors), n_trees)]
    estimator._baseline_prediction = checked_array(plain["start"], "float64", (n_trees,))[None, :]
    return estimator


def _teach_categories(
    columns: Sequence[int], categories: Sequence[Sequence[float]], n_features: int, n_classes: int
) -> HistGradientBoostingClassifier:
    """Boosted trees that know the classes and the categories, fitted to a small table that has all of them."""
    n_rows = max([n_classes, *map(len, categories)])
    check(n_rows * n_features <= MAX_CELLS, "it has too many features")
    table = np.zeros((n_rows, n_features))
    for column, known in zip(columns, categories, strict=True):
        table[:, column] = np.resize(known, n_rows)
    estimator = HistGradientBoostingClassifier(
        max_iter=1, max_leaf_nodes=2, early_stopping=False, categorical_features=columns or None
    )
    return estimator.fit(table, np.resize(np.arange(n_classes), n_rows))


def _has_set(nodes: NDArray[Any]) -> NDArray[np.bool_]:
    """Which nodes split a category by a set."""
    return (nodes["is_categorical"] == 1) & (nodes["is_leaf"] == 0)


def _join_nodes(trees: Sequence[NDArray[Any]], fields: Mapping[str, str]) -> dict[str, Any]:
    """The fields of the nodes of all trees, one tree after the other, and where each tree ends."""
    nodes = np.concatenate(trees)
    ends = np.cumsum([len(tree) for tree in trees])
    return {"ends": ends, **{name: nodes[name].astype(kind) for name, kind in fields.items()}}


def _restore_nodes(plain: Mapping[str, Any], fields: Mapping[str, str], dtype: Any) -> tuple[NDArray[Any], Ints]:
    ends = checked_array(plain["ends"], "int64", (None,))
    check(len(ends) > 0 and (np.diff(ends, prepend=0) > 0).all(), "a tree has no nodes")
    n_nodes = len(plain["threshold" if "threshold" in fields else "num_threshold"])
    check(ends[-1] == n_nodes, "nodes of trees are missing")
    nodes = np.zeros(n_nodes, dtype)
    for name, kind in fields.items():
        nodes[name] = checked_array(plain[name], kind, (n_nodes,), finite=not name.endswith("threshold"))
    return nodes, ends


def _check_walks(left: Ints, right: Ints, feature: Ints, leaf: NDArray[np.bool_], ends: Ints, n_features: int) -> None:
    """Raise a DamagedError unless every walk stays inside its tree, reads columns that there are, and ends at a leaf."""
    sizes = np.diff(ends, prepend=0)
    index, size = np.arange(len(leaf)) - np.repeat(ends - sizes, sizes), np.repeat(sizes, sizes)
    for child in (left, right):
        check((leaf | (child > index) & (child < size)).all(), "a child in a tree is out of range")  # so no walk returns
    check((leaf | (feature >= 0) & (feature < n_features)).all(), "a feature of a tree is out of range")


def _with(estimator: Any, **fitted: Any) -> Any:
    for name, value in fitted.items():
        setattr(estimator, name, value)
    return estimator
