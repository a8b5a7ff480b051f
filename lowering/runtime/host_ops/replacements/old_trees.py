"""ai.onnx.ml TreeEnsembleClassifier and TreeEnsembleRegressor: all rows walk all trees at once.

What two classes with the weights of one become is not said by the standard; this is what runtimes do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces
from onnxloom.lowering.runtime.host_ops.replacements.post_transform import Array, post_transform, two_scores
from onnxloom.lowering.runtime.host_ops.tree_cycles import refuse_cycles

_DOMAIN = "ai.onnx.ml"
_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF")
_LEAF = _MODES.index("LEAF")


@dataclass(frozen=True)
class _Trees:
    feature: Array
    split: Array
    mode: Array
    follows: Array
    """`[nodes, 2]`: the node that follows when the test fails or holds."""
    missing: Array
    roots: Array
    leaf: Array
    """`[entries]` each: the node an entry belongs to,"""
    target: Array
    """what it adds to,"""
    weight: Array
    """and what it adds."""


@replaces("TreeEnsembleRegressor", domain=_DOMAIN)
def tree_ensemble_regressor(attributes: Attributes, x: Array) -> Sequence[Any]:
    """`[rows, targets]`."""
    trees = _of(attributes, "target")
    targets = int(attributes.get("n_targets", 1))
    total, _ = _aggregate(trees, x, targets, attributes.get("aggregate_function", "SUM"))
    base = _numbers(attributes, "base_values")
    if base.size:
        total = total + base.astype(total.dtype)
    return [post_transform(total, attributes.get("post_transform", "NONE")).astype(np.float32)]


@replaces("TreeEnsembleClassifier", domain=_DOMAIN)
def tree_ensemble_classifier(attributes: Attributes, x: Array) -> Sequence[Any]:
    """Labels and scores."""
    trees = _of(attributes, "class")
    names: list[Any] = attributes.get("classlabels_strings") or attributes.get("classlabels_int64s") or []
    labels = np.array(names, object if attributes.get("classlabels_strings") else np.int64)
    transform, base = attributes.get("post_transform", "NONE"), _numbers(attributes, "base_values")
    ids = set(trees.target.tolist())
    if len(names) == 2 and ids == {0} and base.size < 2:
        total, _ = _aggregate(trees, x, 1, "SUM")
        score = total + base.astype(total.dtype) if base.size else total
        is_positive = bool((trees.weight >= 0).all())
        scores = two_scores(score, transform, 1 - score if is_positive else -score)
        best = (score[:, 0] > (0.5 if is_positive else 0)).astype(np.int64)
        return [labels[best], scores.astype(np.float32)]
    scores, seen = _aggregate(trees, x, len(names), "SUM")
    if base.size == len(names):
        scores, seen = scores + base.astype(scores.dtype), np.ones_like(seen)
    if len(names) == 2 and ids == {1} and base.size == 0:
        threshold = 0.5 if (trees.weight >= 0).all() else 0
        best = (scores[:, 1] > threshold).astype(np.int64)
    else:
        best = np.where(seen | ~seen.any(axis=1, keepdims=True), scores, -np.inf).argmax(axis=1)
    return [labels[best], post_transform(scores, transform).astype(np.float32)]


def _numbers(attributes: Attributes, name: str) -> Array:
    """A list of floats, or the tensor that version 3 has in its place."""
    import onnx

    tensor = attributes.get(f"{name}_as_tensor")
    if isinstance(tensor, onnx.TensorProto):
        return onnx.numpy_helper.to_array(tensor)
    return np.array(attributes.get(name) or [], np.float32)


def _of(attributes: Attributes, prefix: str) -> _Trees:
    made = attributes.made.get("trees")
    return made if made is not None else attributes.made.setdefault("trees", _trees(attributes, prefix))


def _trees(attributes: Attributes, prefix: str) -> _Trees:
    refuse_cycles(attributes)
    tree, node = (attributes.values[f"nodes_{name}"] for name in ("treeids", "nodeids"))
    place = {key: at for at, key in enumerate(zip(tree, node, strict=True))}
    mode = np.array([_MODES.index(name) for name in attributes.values["nodes_modes"]])
    follows = np.zeros((len(tree), 2), np.int64)
    for side, name in enumerate(("nodes_falsenodeids", "nodes_truenodeids")):
        for at, number in enumerate(attributes.values[name]):
            if mode[at] != _LEAF:
                follows[at, side] = place[tree[at], number]
    _, roots = np.unique(tree, return_index=True)
    missing = attributes.get("nodes_missing_value_tracks_true") or [0] * len(tree)
    keys = zip(*(attributes.values[f"{prefix}_{name}"] for name in ("treeids", "nodeids")), strict=True)
    return _Trees(
        np.array(attributes.values["nodes_featureids"], np.int64), _numbers(attributes, "nodes_values"), mode,
        follows, np.array(missing, bool), np.sort(roots), np.array([place[key] for key in keys], np.int64),
        np.array(attributes.values[f"{prefix}_ids"], np.int64), _numbers(attributes, f"{prefix}_weights"),
    )  # fmt: skip


def _leaves(trees: _Trees, x: Array) -> Array:
    """`[rows, trees]`: the node each row ends in."""
    rows = np.arange(len(x))[:, None]
    at = np.broadcast_to(trees.roots, (len(x), len(trees.roots))).copy()
    for _ in range(len(trees.mode) + 1):
        walking = trees.mode[at] != _LEAF
        if not walking.any():
            return at
        value, split = x[rows, np.where(walking, trees.feature[at], 0)], trees.split[at]
        tests = (value <= split, value < split, value >= split, value > split, value == split, value != split)
        holds = np.choose(np.minimum(trees.mode[at], 5), tests) | (trees.missing[at] & np.isnan(value))
        at = np.where(walking, trees.follows[at, holds.astype(np.int64)], at)
    raise ValueError("the nodes of a tree form a cycle")


def _aggregate(trees: _Trees, x: Array, targets: int, function: str) -> tuple[Array, Array]:
    """`[rows, targets]`: the aggregate of the weights, and whether there is any."""
    x = x.reshape(1, -1) if x.ndim == 1 else x
    x = x if x.dtype == np.float64 else x.astype(np.float32)
    leaves = _leaves(trees, x)
    result, seen = np.zeros((len(x), targets), x.dtype), np.zeros((len(x), targets), bool)
    by_leaf: dict[int, list[int]] = {}
    for at, leaf in enumerate(trees.leaf.tolist()):
        by_leaf.setdefault(leaf, []).append(at)
    for row, column in np.ndindex(leaves.shape):
        for at in by_leaf.get(int(leaves[row, column]), ()):
            place, weight = (row, trees.target[at]), trees.weight[at]
            if function == "MIN" and seen[place]:
                weight = min(weight, result[place])
            elif function == "MAX" and seen[place]:
                weight = max(weight, result[place])
            elif function not in ("MIN", "MAX"):
                weight = result[place] + weight
            result[place], seen[place] = weight, True
    return (result / x.dtype.type(len(trees.roots)) if function == "AVERAGE" else result), seen
