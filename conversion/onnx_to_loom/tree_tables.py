"""Which tables do the trees of an ensemble become?

A node is a row: the feature it looks at, what it compares that with, how, and what follows in either case. A
leaf is followed by nothing: it stands as `-1 - leaf`. Everything is checked here, so that a kernel that walks
the tables stays inside of them and comes to an end.
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

Ints = npt.NDArray[np.int32]

MODES: Final = ("le", "lt", "ge", "gt", "eq", "ne")
"""How a node compares, by the number of its mode."""

MAX_TARGETS: Final = 4096


@dataclass(frozen=True)
class TreeTables:
    """All trees of an ensemble; `n` nodes, `m` leaves."""

    roots: Ints
    feature: Ints
    """`[n]`: column of the input."""
    split: npt.NDArray[Any]
    """`[n]`, of the type of the input."""
    mode: Ints
    """`[n]`: index of `MODES`."""
    follows: Ints
    """`[2 * n]`: what follows when the test fails, then when it holds."""
    missing: Ints
    """`[n]`: whether NaN passes the test."""
    target: Ints
    """`[m]`: column of the result."""
    weight: npt.NDArray[Any]
    """`[m]`, of the type of the result."""
    targets: int

    @property
    def features(self) -> int:
        """Columns the input must have at least."""
        return int(self.feature.max(initial=-1)) + 1


def tree_tables(op: onnx.TreeEnsembleOp) -> TreeTables:
    """The tables of a TreeEnsemble. Raises Declined where a kernel could not walk them."""
    split, weight = _tensor(op, "nodes_splits"), _tensor(op, "leaf_weights")
    count, leaves = len(split), len(weight)
    modes = _tensor(op, "nodes_modes").astype(np.int64)
    if len(modes) != count or modes.max(initial=0) >= len(MODES):
        raise Declined("set membership in trees has no kernel")
    false, true = (_follows(op, side, count, leaves) for side in ("false", "true"))
    feature, roots = _ints(op, "nodes_featureids", count), _ints(op, "tree_roots")
    target, missing = _ints(op, "leaf_targetids", leaves), ints_attr(op, "nodes_missing_value_tracks_true")
    targets = int_attr(op, "n_targets", int(target.max(initial=0)) + 1)
    if not (_within(feature, 2**31) and _within(roots, count) and _within(target, targets)):
        raise Declined("trees name features, nodes or targets that do not exist")
    if not 0 < targets <= MAX_TARGETS:
        raise Declined(f"trees with {targets} targets have no kernel")
    _check_ends(roots, false, true)
    return TreeTables(
        roots.astype(np.int32),
        feature.astype(np.int32),
        split,
        modes.astype(np.int32),
        np.concatenate([false, true]).astype(np.int32),
        np.array(missing or [0] * count, np.int64).astype(bool).astype(np.int32),
        target.astype(np.int32),
        weight,
        targets,
    )


def _follows(op: onnx.TreeEnsembleOp, side: str, nodes: int, leaves: int) -> npt.NDArray[np.int64]:
    """Per node what follows: a node, or `-1 - leaf`."""
    ids, is_leaf = _ints(op, f"nodes_{side}nodeids", nodes), _ints(op, f"nodes_{side}leafs", nodes) != 0
    if not (_within(ids[is_leaf], leaves) and _within(ids[~is_leaf], nodes)):
        raise Declined("trees name nodes or leaves that do not exist")
    return np.where(is_leaf, -1 - ids, ids)


def _check_ends(roots: npt.NDArray[Any], false: npt.NDArray[Any], true: npt.NDArray[Any]) -> None:
    """Raises Declined where a walk does not end: there are more levels than nodes."""
    level = np.unique(roots)
    for _ in range(len(false)):
        following = np.concatenate([false[level], true[level]])
        level = np.unique(following[following >= 0])
        if not level.size:
            return
    if level.size:
        raise Declined("the nodes of a tree form a cycle")


def _tensor(op: onnx.TreeEnsembleOp, name: str) -> npt.NDArray[Any]:
    array = constant_value(attr(op, name))
    if array is None or array.ndim != 1:
        raise Declined(f"{name} is no list of numbers")
    return array


def _ints(op: onnx.TreeEnsembleOp, name: str, length: int | None = None) -> npt.NDArray[np.int64]:
    values = ints_attr(op, name)
    if values is None or (length is not None and len(values) != length):
        raise Declined(f"{name} is missing, or has another length than the nodes or leaves")
    return np.array(values, np.int64)


def _within(values: npt.NDArray[Any], limit: int) -> bool:
    return bool(((values >= 0) & (values < limit)).all())
