"""ai.onnx.ml TreeEnsemble: all rows walk all trees at once (the reference walks one by one, in Python)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces
from onnxloom.lowering.runtime.host_ops.replacements.post_transform import NAMES, Array, post_transform

_MEMBER = 6


@dataclass(frozen=True)
class _Trees:
    feature: Array
    split: Array
    mode: Array
    next: Array
    """`[nodes, 2]`: the node, or leaf, that follows when the test fails or holds."""
    is_leaf: Array
    """The same shape: whether that is a leaf."""
    missing: Array
    members: dict[int, Array]
    roots: Array
    target: Array
    weight: Array


@replaces("TreeEnsemble", domain="ai.onnx.ml")
def tree_ensemble(attributes: Attributes, x: Array) -> Sequence[Any]:
    """`[rows, n_targets]`: leaf weights aggregated over the trees."""
    trees = attributes.made.get("trees") or attributes.made.setdefault("trees", _trees(attributes))
    leaves = _leaves(trees, x)
    targets = int(attributes.get("n_targets") or trees.target.max(initial=0) + 1)
    result = _aggregate(trees, leaves, targets, int(attributes.get("aggregate_function", 1)))
    return [post_transform(result, NAMES[int(attributes.get("post_transform", 0))])]


def _array(attributes: Attributes, name: str, dtype: Any = None) -> Array:
    import onnx

    value = attributes.get(name)
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return np.array(value if value is not None else [], dtype or np.int64)


def _trees(attributes: Attributes) -> _Trees:
    split = _array(attributes, "nodes_splits")
    mode = _array(attributes, "nodes_modes").astype(np.int64)
    missing = _array(attributes, "nodes_missing_value_tracks_true")
    follow = np.stack([_array(attributes, "nodes_falsenodeids"), _array(attributes, "nodes_truenodeids")], 1)
    leaf = np.stack([_array(attributes, "nodes_falseleafs"), _array(attributes, "nodes_trueleafs")], 1)
    return _Trees(
        feature=_array(attributes, "nodes_featureids"),
        split=split,
        mode=mode,
        next=follow,
        is_leaf=leaf.astype(bool),
        missing=missing.astype(bool) if missing.size else np.zeros(len(split), bool),
        members=_members(attributes, mode),
        roots=_array(attributes, "tree_roots"),
        target=_array(attributes, "leaf_targetids"),
        weight=_array(attributes, "leaf_weights"),
    )


def _members(attributes: Attributes, mode: Array) -> dict[int, Array]:
    """Per set-membership node its values; the sets stand one after the other, separated by NaN."""
    values = _array(attributes, "membership_values")
    nodes = np.flatnonzero(mode == _MEMBER)
    if not nodes.size:
        return {}
    ends = np.flatnonzero(np.isnan(values))
    if ends.size < nodes.size:
        raise ValueError("a set-membership node has no membership values")
    starts = [0, *(ends[:-1] + 1)]
    return {int(n): values[s:e] for n, s, e in zip(nodes, starts, ends, strict=False)}


def _leaves(trees: _Trees, x: Array) -> Array:
    """`[rows, trees]`: the leaf each row ends in."""
    rows = np.arange(len(x))[:, None]
    at = np.broadcast_to(trees.roots, (len(x), len(trees.roots))).copy()
    walking = np.ones(at.shape, bool)
    for _ in range(len(trees.split) + 1):
        if not walking.any():
            return at
        node = np.where(walking, at, 0)
        value = x[np.broadcast_to(rows, at.shape), trees.feature[node]]
        branch = _holds(trees, node, value).astype(np.int64)
        at = np.where(walking, trees.next[node, branch], at)
        walking = walking & ~trees.is_leaf[node, branch]
    raise ValueError("the nodes of a tree form a cycle")


def _holds(trees: _Trees, node: Array, value: Array) -> Array:
    split, mode = trees.split[node], trees.mode[node]
    tests = (value <= split, value < split, value >= split, value > split, value == split, value != split)
    result = np.choose(np.minimum(mode, 5), tests)
    for number, members in trees.members.items():
        here = node == number
        result[here] = np.isin(value[here], members)
    return result | (trees.missing[node] & np.isnan(value))


def _aggregate(trees: _Trees, leaves: Array, targets: int, function: int) -> Array:
    """Sums, means, minima or maxima per target, tree after tree."""
    dtype = trees.weight.dtype
    fill = {2: np.inf, 3: -np.inf}.get(function, 0)
    result = np.full((len(leaves), targets), fill, dtype)
    rows = np.arange(len(leaves))
    for leaf in leaves.T:
        where = (rows, trees.target[leaf])
        weight = trees.weight[leaf]
        if function == 2:
            result[where] = np.minimum(result[where], weight)
        elif function == 3:
            result[where] = np.maximum(result[where], weight)
        else:
            result[where] += weight
    if function == 0:
        result /= len(trees.roots)
    return np.where(np.isinf(result), 0, result).astype(dtype) if function in (2, 3) else result
