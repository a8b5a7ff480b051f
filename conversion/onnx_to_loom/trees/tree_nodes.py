"""Which nodes do the trees of a TreeEnsemble have, once each test is `<=` or `==`?

`>` and `!=` are `<=` and `==` with what follows exchanged, `x < s` is `x <=` the number below s, and a set is
a chain of `==`. NaN passes `!=`, and elsewhere where the node says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import attr, int_attr, ints_attr
from onnxloom.dialects.onnx.constant import constant_value

Ints = npt.NDArray[np.int64]
Array = npt.NDArray[Any]

LE, LT, GE, GT, EQ, NE, MEMBER = range(7)
"""Tests, by the numbers of `nodes_modes`."""

MAX_TARGETS: Final = 4096
MAX_FEATURES: Final = 1 << 29
MAX_MEMBERS: Final = 1 << 12


@dataclass(frozen=True)
class TreeNodes:
    """`n` nodes, and `m` leaves, which stand as `-1 - leaf` where a node could follow."""

    roots: Ints
    feature: Ints
    """`[n]`: column of the input."""
    split: Array
    """`[n]`, of the type of the input."""
    is_equality: npt.NDArray[np.bool_]
    """`[n]`: whether `==` is the test, else `<=`."""
    tracks_missing: npt.NDArray[np.bool_]
    """`[n]`: whether NaN passes too."""
    follows: Ints
    """`[n, 2]`: what follows when the test fails, and when it holds."""
    target: Ints
    """`[m]`: column of the result."""
    weight: Array
    """`[m]`, of the type of the result."""
    targets: int


def tree_nodes(op: onnx.TreeEnsembleOp) -> TreeNodes:
    """The nodes of a TreeEnsemble. Raises Declined where a kernel could not walk them."""
    split, weight = _tensor(op, "nodes_splits"), _tensor(op, "leaf_weights")
    count, leaves = len(split), len(weight)
    modes = _tensor(op, "nodes_modes").astype(np.int64)
    if len(modes) != count or modes.max(initial=0) > MEMBER:
        raise Declined("nodes compare in a way that has no kernel")
    follows = np.stack([_follows(op, side, count, leaves) for side in ("false", "true")], 1)
    feature, roots = _ints(op, "nodes_featureids", count), _ints(op, "tree_roots")
    target = _ints(op, "leaf_targetids", leaves)
    targets = int_attr(op, "n_targets", int(target.max(initial=0)) + 1)
    if not (_within(feature, MAX_FEATURES) and _within(roots, count) and _within(target, targets)):
        raise Declined("trees name features, nodes or targets that do not exist")
    if not 0 < targets <= MAX_TARGETS:
        raise Declined(f"trees with {targets} targets have no kernel")
    _check_ends(roots, follows)
    missing = np.array(ints_attr(op, "nodes_missing_value_tracks_true") or [0] * count, bool)
    if len(missing) != count:
        raise Declined("nodes_missing_value_tracks_true has another length than the nodes")
    split, modes, missing, follows = _same_tests(split, modes, missing, follows)
    nodes = TreeNodes(roots, feature, split, modes == EQ, missing, follows, target, weight, targets)
    chosen = np.flatnonzero(modes == MEMBER)
    return _with_chains(nodes, chosen, _sets(op, len(chosen), split.dtype)) if chosen.size else nodes


def _same_tests(
    split: Array, modes: Ints, missing: npt.NDArray[np.bool_], follows: Ints
) -> tuple[Array, Ints, npt.NDArray[np.bool_], Ints]:
    """The same tests with none but LE, EQ and MEMBER."""
    # Nothing is above NaN: such a test holds of no number, as `<=` does.
    above = np.isin(modes, (GE, GT)) & ~np.isnan(split)
    exchanged = above | (modes == NE)
    lowered = (modes == LT) | (above & (modes == GE))
    below = np.where(np.isneginf(split), np.nan, np.nextafter(split, np.array(-np.inf, split.dtype)))
    return (
        np.where(lowered, below, split).astype(split.dtype),
        np.where(np.isin(modes, (EQ, NE)), EQ, np.where(modes == MEMBER, MEMBER, LE)),
        np.where(above, ~missing, missing & (modes != NE)),
        np.where(exchanged[:, None], follows[:, ::-1], follows),
    )


def _sets(op: onnx.TreeEnsembleOp, count: int, dtype: Any) -> list[Array]:
    """The values of each set: they stand one after the other, each set before a NaN."""
    values = constant_value(attr(op, "membership_values"))
    if values is None or values.ndim != 1 or values.dtype != dtype or len(values) > MAX_MEMBERS:
        raise Declined("membership_values is no list of numbers, or too long")
    ends = np.flatnonzero(np.isnan(values))
    if ends.size < count:
        raise Declined("a set has no membership_values")
    starts = [0, *(ends[:-1] + 1).tolist()]
    return [values[start:end] for start, end in zip(starts, ends.tolist(), strict=True)][:count]


def _with_chains(nodes: TreeNodes, chosen: Ints, sets: list[Array]) -> TreeNodes:
    """Each node of `chosen` tests for the first value of its set, nodes behind all others for the rest."""
    first, equality = nodes.split.copy(), nodes.is_equality.copy()
    first[chosen] = [values[0] if len(values) else np.nan for values in sets]
    equality[chosen] = True
    rest = [values[1:] for values in sets]
    lengths = np.array([len(values) for values in rest])
    owner = np.repeat(chosen, lengths)
    number = len(first) + np.arange(len(owner))
    follows = np.concatenate([nodes.follows, nodes.follows[owner]])
    is_last = np.append(owner[1:] != owner[:-1], True) if len(owner) else np.zeros(0, bool)
    follows[number[~is_last], 0] = number[~is_last] + 1
    follows[chosen[lengths > 0], 0] = number[np.append(True, is_last[:-1])] if len(owner) else []
    return TreeNodes(
        nodes.roots,
        np.append(nodes.feature, nodes.feature[owner]),
        np.concatenate([first, *rest]).astype(first.dtype),
        np.append(equality, np.ones(len(owner), bool)),
        np.append(nodes.tracks_missing, np.zeros(len(owner), bool)),
        follows,
        nodes.target,
        nodes.weight,
        nodes.targets,
    )


def _follows(op: onnx.TreeEnsembleOp, side: str, nodes: int, leaves: int) -> Ints:
    """Per node what follows: a node, or `-1 - leaf`."""
    ids, is_leaf = _ints(op, f"nodes_{side}nodeids", nodes), _ints(op, f"nodes_{side}leafs", nodes) != 0
    if not (_within(ids[is_leaf], leaves) and _within(ids[~is_leaf], nodes)):
        raise Declined("trees name nodes or leaves that do not exist")
    return np.where(is_leaf, -1 - ids, ids)


def _check_ends(roots: Ints, follows: Ints) -> None:
    """Raises Declined where a walk does not end: there are more levels than nodes."""
    level = np.unique(roots)
    for _ in range(len(follows)):
        following = follows[level].reshape(-1)
        level = np.unique(following[following >= 0])
        if not level.size:
            return
    if level.size:
        raise Declined("the nodes of a tree form a cycle")


def _tensor(op: onnx.TreeEnsembleOp, name: str) -> Array:
    array = constant_value(attr(op, name))
    if array is None or array.ndim != 1:
        raise Declined(f"{name} is no list of numbers")
    return array


def _ints(op: onnx.TreeEnsembleOp, name: str, length: int | None = None) -> Ints:
    values = ints_attr(op, name)
    if values is None or (length is not None and len(values) != length):
        raise Declined(f"{name} is missing, or has another length than the nodes or leaves")
    return np.array(values, np.int64)


def _within(values: Ints, limit: int) -> bool:
    return bool(((values >= 0) & (values < limit)).all())
