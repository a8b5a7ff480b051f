"""Which tables do the nodes of trees become, so that a walk is loads and additions?

A node, and likewise a leaf, has a *place*, a row of the tables. The two places that may follow stand side by
side: the first if the test fails, the second if it holds. A leaf is followed by itself and passes no test, so
that walks of different length can take the same steps. Where several nodes are followed by the same one, it
has one place, and the others find a place there that leads to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from onnxloom.conversion.onnx_to_loom.trees.tree_nodes import TreeNodes

Ints = npt.NDArray[np.int32]

TRACKS_MISSING: Final = 1 << 30
IS_EQUALITY: Final = 1 << 29
"""Bits of the first word of a place: whether NaN passes its test, whether `==` is the test."""

FEATURE: Final = IS_EQUALITY - 1
"""The bits of the first word that tell the column of the input."""


@dataclass(frozen=True)
class TreeTables:
    """`n` places."""

    roots: Ints
    """Where walks begin, as places of words; filled up to whole groups of trees."""
    words: npt.NDArray[np.int64]
    """`[2 * n]`: two words per place, so that a step reads from one cache line. In the low half of the first
    the column of the input and flags, in its high half where the words of the first place stand that may
    follow; in the second the bits of the number to compare with, NaN where none passes."""
    target: Ints
    """`[n]`: column of the result a leaf adds to."""
    weight: npt.NDArray[Any]
    """`[n]`: what it adds."""


def tree_tables(nodes: TreeNodes, group: int, neutral: float) -> TreeTables:
    """The tables; roots come in groups, the last one filled up with leaves of weight `neutral`."""
    spare = len(nodes.target)
    roots = np.append(nodes.roots, np.full(-len(nodes.roots) % group, -1 - spare))
    places = _Places(nodes.follows, roots)
    order = np.argsort(places.tree, kind="stable")  # what one walk reads stands together
    moved = np.empty_like(order)
    moved[order] = np.arange(len(order))
    node, follows = places.node[order], moved[places.follows[order]]
    leaf = np.where(places.leaf[order] < 0, spare, places.leaf[order])
    tests = node >= 0
    first = nodes.feature | nodes.tracks_missing * TRACKS_MISSING | nodes.is_equality * IS_EQUALITY
    split = np.where(tests, nodes.split[node], np.array(np.nan, nodes.split.dtype))
    bits = split.view(np.uint32 if split.itemsize == 4 else np.int64).astype(np.int64)
    return TreeTables(
        (2 * moved[: len(roots)]).astype(np.int32),
        np.stack([np.where(tests, first[node], 0) | (2 * follows) << 32, bits], 1).reshape(-1),
        np.append(nodes.target, 0)[leaf].astype(np.int32),
        np.append(nodes.weight, neutral).astype(nodes.weight.dtype)[leaf],
    )


class _Places:
    """All places, level by level; the first are the roots."""

    def __init__(self, follows: npt.NDArray[np.int64], roots: npt.NDArray[np.int64]):
        self._home = np.full(len(follows), -1)
        """Per node its place."""
        self._count = 0
        levels: list[tuple[npt.NDArray[np.int64], ...]] = []
        ids, tree = roots, np.arange(len(roots))
        while ids.size:
            level, homes = self._level(ids)
            levels.append((*level, tree))
            ids, tree = follows[ids[homes]].reshape(-1), np.repeat(tree[homes], 2)
        joined = [np.concatenate(parts) for parts in zip(*levels, strict=True)]
        self.node, self.leaf, self.follows, self.tree = joined or [np.zeros(0, np.int64)] * 4
        """Per place the node whose test it makes or -1, the leaf it is or -1, the first place that may
        follow, the number of the tree."""

    def _level(self, ids: npt.NDArray[np.int64]) -> tuple[tuple[npt.NDArray[np.int64], ...], Any]:
        """Node, leaf and what follows at the places of nodes and leaves; which of them are homes of nodes."""
        places = self._count + np.arange(ids.size)
        self._count += ids.size
        inner = np.flatnonzero(ids >= 0)
        homeless = inner[self._home[ids[inner]] < 0]
        _, first = np.unique(ids[homeless], return_index=True)
        homes = np.sort(homeless[first])
        self._home[ids[homes]] = places[homes]
        follows = places.copy()
        follows[inner] = self._home[ids[inner]]
        follows[homes] = self._count + 2 * np.arange(homes.size)
        node = np.full(ids.size, -1)
        node[homes] = ids[homes]
        return (node, np.where(ids < 0, -1 - ids, -1), follows), homes
