"""How do the trees of TreeEnsembleClassifier and TreeEnsembleRegressor become those of a TreeEnsemble?

The old ops number nodes within trees, and give a leaf any number of (target, weight) entries. TreeEnsemble
numbers nodes and leaves apart, and a leaf has one entry. Where leaves have more, the ensemble gives each tree
a target of its own and the number of the leaf as weight; rows of a table of weights are then gathered and
summed over the trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from onnxloom.dialects.onnx.constant import constant_attr
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.machine_learning.features import (
    Array,
    as_computed,
    computed_dtype,
    list_or_tensor,
)
from onnxloom.transforms.rewriting.declarative import Match, Tensor, op

MODES: Final = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
"""By the numbers of TreeEnsemble."""

SUM: Final = 1
MAX_LEAVES: Final = 1 << 24
"""Numbers of leaves that f32 holds exactly."""

MAX_WEIGHTS: Final = 1 << 24


@dataclass(frozen=True)
class OldTrees:
    """The nodes of all trees, without what their leaves weigh."""

    attributes: dict[str, Any]
    """Of TreeEnsemble, but for `leaf_*` and `n_targets`."""
    roots: int
    leaf_of: dict[tuple[int, int], int]
    """Tree and node -> number of the leaf."""
    tree_of: Array
    """`[leaves]`: number of the tree."""


def old_trees(match: Match) -> OldTrees | Miss:
    """The trees of an op; or why they are no TreeEnsemble."""
    tree, node = _ints(match, "nodes_treeids"), _ints(match, "nodes_nodeids")
    names = ("nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids")
    feature, true, false = (_ints(match, name) for name in names)
    values, modes = list_or_tensor(match, "nodes_values"), match.attribute("nodes_modes") or ()
    count = len(node)
    if (
        not count
        or values is None
        or {len(a) for a in (tree, feature, true, false, modes, values)} != {count}
    ):
        return no_match(match.anchor, "the lists of nodes are of different length")
    if not set(modes) <= {*MODES, "LEAF"}:
        return no_match(match.anchor, "nodes compare in a way that TreeEnsemble does not")
    is_leaf = np.array([mode == "LEAF" for mode in modes])
    place = {key: at for at, key in enumerate(zip(tree.tolist(), node.tolist(), strict=True))}
    follows = [_places(place, tree, ids, is_leaf) for ids in (false, true)]
    if len(place) != count or any(found is None for found in follows):
        return no_match(match.anchor, "a node has two places, or follows that is not there")
    return _tables(
        match, place, np.stack([f for f in follows if f is not None]), is_leaf, modes, feature, tree, values
    )


def _places(place: dict[tuple[int, int], int], tree: Array, ids: Array, is_leaf: Array) -> Array | None:
    """Where the nodes stand that follow; None where one is missing. Of leaves nothing follows."""
    keys = zip(tree.tolist(), ids.tolist(), is_leaf.tolist(), strict=True)
    found = [0 if leaf else place.get((t, n), -1) for t, n, leaf in keys]
    return None if -1 in found else np.array(found, np.int64)


def _tables(
    match: Match,
    place: dict[tuple[int, int], int],
    follows: Array,
    is_leaf: Array,
    modes: tuple[str, ...],
    feature: Array,
    tree: Array,
    values: Array,
) -> OldTrees | Miss:
    leaves, inner = np.flatnonzero(is_leaf), np.flatnonzero(~is_leaf)
    if leaves.size >= MAX_LEAVES:
        return no_match(match.anchor, "there are more leaves than f32 tells apart")
    number = np.zeros(len(tree), np.int64)
    number[leaves], number[inner] = np.arange(leaves.size), np.arange(inner.size)
    _, first, tree_number = np.unique(tree, return_index=True, return_inverse=True)
    roots = np.sort(first)
    order = np.argsort(np.argsort(first))  # trees stand in the order of their first nodes
    alone = roots[is_leaf[roots]]
    # A tree of one leaf has a node that leads there either way.
    number_of_root = number[roots].copy()
    number_of_root[is_leaf[roots]] = inner.size + np.arange(alone.size)
    false, true = (np.concatenate([number[row[inner]], number[alone]]) for row in follows)
    leads = [np.concatenate([is_leaf[row[inner]], np.ones(alone.size, bool)]) for row in follows]
    missing = match.attribute("nodes_missing_value_tracks_true") or (0,) * len(tree)
    padding = np.zeros(alone.size, np.int64)
    split = values.astype(computed_dtype(match))
    numbers = [MODES.index(modes[at]) for at in inner] + [0] * alone.size
    attributes = {
        "nodes_splits": constant_attr(np.concatenate([split[inner], padding.astype(split.dtype)])),
        "nodes_featureids": _listed(feature[inner], padding),
        "nodes_modes": constant_attr(np.array(numbers, np.uint8)),
        "nodes_falsenodeids": tuple(false.tolist()),
        "nodes_truenodeids": tuple(true.tolist()),
        "nodes_falseleafs": tuple(leads[0].astype(int).tolist()),
        "nodes_trueleafs": tuple(leads[1].astype(int).tolist()),
        "nodes_missing_value_tracks_true": _listed(np.array(missing, np.int64)[inner], padding),
        "tree_roots": tuple(number_of_root.tolist()),
    }
    leaf_of = {key: int(number[at]) for key, at in place.items() if is_leaf[at]}
    return OldTrees(attributes, roots.size, leaf_of, order[tree_number.reshape(-1)][leaves])


@dataclass(frozen=True)
class Entries:
    """What leaves weigh: `[entries]` each."""

    leaf: Array
    target: Array
    weight: Array

    @property
    def is_single(self) -> bool:
        """Whether no leaf has two."""
        return len(np.unique(self.leaf)) == len(self.leaf)


def entries_of(match: Match, trees: OldTrees, prefix: str, targets: int) -> Entries | Miss:
    """The lists that begin with `prefix`; or what is wrong with them."""
    keys = zip(
        _ints(match, f"{prefix}_treeids").tolist(), _ints(match, f"{prefix}_nodeids").tolist(), strict=False
    )
    leaf = np.array([trees.leaf_of.get(key, -1) for key in keys], np.int64)
    target, weight = _ints(match, f"{prefix}_ids"), list_or_tensor(match, f"{prefix}_weights")
    if weight is None or {len(target), len(weight)} != {len(leaf)} or not len(leaf):
        return no_match(match.anchor, "the lists of weights are of different length")
    if leaf.min() < 0 or target.min() < 0 or target.max() >= targets:
        return no_match(match.anchor, "weights belong to leaves or targets that are not there")
    if targets * len(trees.tree_of) > MAX_WEIGHTS:
        return no_match(match.anchor, "there are more leaves and targets than a table should have")
    return Entries(leaf, target, weight)


def summed(match: Match, trees: OldTrees, entries: Entries, targets: int, aggregate: int = SUM) -> Tensor:
    """`[rows, targets]` in the type that is computed in; leaves with several weights are only summed."""
    dtype, leaves = computed_dtype(match), len(trees.tree_of)
    if entries.is_single:
        target, weight = np.zeros(leaves, np.int64), np.zeros(leaves, dtype)
        target[entries.leaf], weight[entries.leaf] = entries.target, entries.weight
        return _ensemble(match, trees, target, weight, targets, aggregate)
    table = np.zeros((leaves, targets), dtype)
    np.add.at(table, (entries.leaf, entries.target), entries.weight)
    numbers = _ensemble(match, trees, trees.tree_of, np.arange(leaves).astype(dtype), trees.roots, SUM)
    rows = op.Gather(table, op.Cast(numbers, to=7), axis=0)
    return op.ReduceSum(rows, [1], keepdims=0)


def _ensemble(
    match: Match, trees: OldTrees, target: Array, weight: Array, targets: int, aggregate: int
) -> Tensor:
    return op.TreeEnsemble(
        as_computed(match),
        **trees.attributes,
        leaf_targetids=tuple(target.tolist()),
        leaf_weights=constant_attr(weight),
        n_targets=targets,
        aggregate_function=aggregate,
    )


def _ints(match: Match, name: str) -> Array:
    return np.array(match.attribute(name) or (), np.int64)


def _listed(values: Array, padding: Array) -> tuple[int, ...]:
    return tuple(np.concatenate([values, padding]).tolist())
