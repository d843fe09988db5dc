"""Boosted and extremely randomised trees as the operator TreeEnsemble of ai.onnx.ml 5, which compares and adds doubles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricfit._typing import Floats, Ints
from metricfit.decisions import ML, OnnxGraph

LEAF = -1  # as a child in a forest
LESS_OR_EQUAL, MEMBER = 0, 6  # modes of nodes
NUMBERS_PER_ROW = 256  # in memory, while the votes of a forest are added

Bools = NDArray[np.bool_]
Plain = Mapping[str, Any]


def trees_to_onnx(graph: OnnxGraph, plain: Plain, features: str) -> str:
    """Probabilities (n, k) by the trees of an ``EstimatorModel`` in its plain form."""
    return (_boosting if plain["trees"] == "boosting" else _forest)(graph, plain, features)


def _boosting(graph: OnnxGraph, plain: Plain, features: str) -> str:
    """The trees of a round take turns: there is one per class, or one in all for two classes."""
    leaf = plain["is_leaf"] == 1
    has_set = ~leaf & (plain["is_categorical"] == 1)
    nodes: Plain = {
        "left": plain["left"],
        "right": plain["right"],
        "feature": _columns(plain),
        "threshold": plain["num_threshold"],
    }
    sums: Plain = {"values": plain["value"][leaf], "n_targets": len(plain["start"])}
    raw = _add_trees(graph, plain, features, leaf, **nodes, **sums, has_set=has_set, sets=_sets(plain, has_set))
    raw = graph.add("Add", raw, plain["start"])
    if len(plain["start"]) > 1:
        return graph.add("Softmax", raw, axis=1)
    positive = graph.add("Sigmoid", raw)
    return graph.add("Concat", graph.add("Sub", np.array(1.0), positive), positive, axis=1)


def _forest(graph: OnnxGraph, plain: Plain, features: str) -> str:
    """The mean of the probabilities in the leaves.

    Every tree gives the index of its leaf: a leaf of TreeEnsemble has one number, and these have one per class.
    """
    leaf, n_trees = plain["left_child"] == LEAF, len(plain["ends"])
    nodes: Plain = {name.removesuffix("_child"): plain[name] for name in ("left_child", "right_child", "feature", "threshold")}
    sums: Plain = {"values": np.arange(int(leaf.sum()), dtype=np.float64), "n_targets": n_trees}
    rounded = graph.cast(graph.cast(features, np.float32), np.float64)  # scikit-learn's forests read float32
    indices = _add_trees(graph, plain, rounded, leaf, **nodes, **sums, has_set=np.zeros(len(leaf), bool), sets=[])
    leaves, table, total = graph.cast(indices, np.int64), graph.constant(plain["value"]), ""
    step = max(1, NUMBERS_PER_ROW // plain["value"].shape[1])
    for first in range(0, n_trees, step):
        some = np.arange(first, min(first + step, n_trees))
        votes = graph.add("Gather", table, graph.add("Gather", leaves, some, axis=1))  # (n, some trees, k)
        votes = graph.add("ReduceSum", votes, np.array([1]), keepdims=0)
        total = graph.add("Add", total, votes) if total else votes
    return graph.add("Div", total, np.array(float(n_trees)))


def _columns(plain: Plain) -> Ints:
    """The column of every node: boosted trees count those with categories first."""
    first = plain["categorical"]
    rest = np.setdiff1d(np.arange(plain["feature_idx"].max() + len(first) + 1), first)
    return np.concatenate([np.array(first, np.int64), rest])[plain["feature_idx"]]


def _sets(plain: Plain, has_set: Bools) -> list[Floats]:
    """The categories that a node asks for: those that go where missing values do not."""
    bits = np.unpackbits(plain["sets"].view(np.uint8), axis=1, bitorder="little").astype(bool)
    known = [values[~np.isnan(values)] for values in map(np.asarray, plain["categories"])]
    missing_left = plain["missing_go_to_left"][has_set] == 1
    found = []
    for feature, is_left, asks_right in zip(plain["feature_idx"][has_set], bits, missing_left, strict=True):
        values = known[feature]
        found.append(values[is_left[: len(values)] ^ asks_right])
    return found


def _add_trees(
    graph: OnnxGraph,
    plain: Plain,
    features: str,
    leaf: Bools,
    *,
    left: Ints,
    right: Ints,
    feature: Ints,
    threshold: Floats,
    has_set: Bools,
    sets: list[Floats],  # in the order of their nodes
    values: Floats,  # of the leaves
    n_targets: int,
) -> str:
    """The sums (n, n_targets) of the leaves that a row falls into; tree after tree, the targets take turns.

    A node compares with its threshold, or asks whether a category is in its set. What is missing or not known as a category
    goes where ``missing_go_to_left`` says. Children are indices within a tree.
    """
    from onnx import numpy_helper

    ends, missing_left = plain["ends"], plain["missing_go_to_left"] == 1
    starts, sizes, inner = np.concatenate([[0], ends[:-1]]), np.diff(ends, prepend=0), ~leaf
    shift, targets = np.repeat(starts, sizes), np.repeat(np.arange(len(ends)), sizes)[leaf] % n_targets
    index = np.where(leaf, np.cumsum(leaf), np.cumsum(inner)) - 1  # among the leaves, or the other nodes
    swapped = has_set & missing_left
    true = np.where(swapped, right, left) + shift
    false = np.where(swapped, left, right) + shift
    alone = starts[leaf[starts]]  # a tree of one leaf has a node, whose branches both lead to it
    true[alone] = false[alone] = alone
    rows, roots = np.concatenate([np.flatnonzero(inner), alone]), index[starts]
    roots[leaf[starts]] = inner.sum() + np.arange(len(alone))
    return graph.add(
        "TreeEnsemble",
        features,
        domain=ML,
        n_targets=n_targets,
        tree_roots=roots.tolist(),
        nodes_featureids=np.maximum(feature[rows], 0).tolist(),
        nodes_splits=numpy_helper.from_array(threshold[rows].astype(np.float64)),
        nodes_modes=numpy_helper.from_array(np.where(has_set, MEMBER, LESS_OR_EQUAL).astype(np.uint8)[rows]),
        nodes_missing_value_tracks_true=(missing_left & ~has_set)[rows].astype(int).tolist(),
        nodes_truenodeids=index[true[rows]].tolist(),
        nodes_trueleafs=leaf[true[rows]].astype(int).tolist(),
        nodes_falsenodeids=index[false[rows]].tolist(),
        nodes_falseleafs=leaf[false[rows]].astype(int).tolist(),
        membership_values=numpy_helper.from_array(np.concatenate([np.append(one, np.nan) for one in sets])) if sets else None,
        leaf_targetids=targets.tolist(),
        leaf_weights=numpy_helper.from_array(values),
    )
