"""The kernel of a tree ensemble: walks side by side, so that the loads of one wait while others compute.

A task is a block of rows. Groups of its rows walk each tree together; rows that are left over walk groups of
trees. No walk branches: all of a group step on until none has moved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, f64, i1, i32, i64
from xdsl.ir import Attribute

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.trees.tree_tables import FEATURE, IS_EQUALITY, TRACKS_MISSING
from onnxloom.dialects.onnx.semantics.scalars import Scalar

MEAN, SUM, MIN, MAX = range(4)
"""How the trees come together, by the numbers of `aggregate_function`."""

GROUP: Final = 8
"""Walks side by side."""

STEPS: Final = 4
"""Steps before a group looks whether it has come to an end."""

ROWS: Final = 32
"""Rows of a task."""


@dataclass(frozen=True)
class WalkForm:
    """What kernels of tree ensembles differ in, but for the element type."""

    aggregate: int
    is_single: bool
    """Whether there is one target."""
    tests: frozenset[bool]
    """Whether some test is `==`, and whether some is not."""
    some_missing: bool
    """Whether NaN passes some test."""


def neutral_weight(aggregate: int) -> float:
    """What a leaf adds that changes nothing."""
    return {MIN: math.inf, MAX: -math.inf}.get(aggregate, 0.0)


class TreeWalks:
    """Buffers are the input, the tables of `TreeTables` in order, the result; sizes are rows, features,
    trees, groups of trees, targets."""

    def __init__(self, k: KernelBody, form: WalkForm):
        self.k, self.form = k, form
        self.x, self.roots, self.words, self.target, self.weight = k.ins
        self.element = cast("MemRefType[Attribute]", self.weight.type).element_type

    def write(self) -> None:
        k, s = self.k, self.k.scalars
        rows, features, trees, _, targets = k.sizes
        with k.tasks(s.emit(arith.CeilDivSIOp(rows, k.index(ROWS)))) as block:
            begin = k.mul(block, k.index(ROWS))
            end = s.minimum(k.add(begin, k.index(ROWS)), rows)
            with k.loop(k.mul(k.sub(end, begin), targets), parallel=True) as i:
                k.store(self._start(), k.outs[0], k.add(k.mul(begin, targets), i))
            if self.form.some_missing:
                missing = self._has_missing(k.mul(begin, features), k.mul(end, features))
                with k.branch(missing) as (some, none):
                    with k.inside(some):
                        self._walk_block(begin, end, missing=True)
                    with k.inside(none):
                        self._walk_block(begin, end, missing=False)
            else:
                self._walk_block(begin, end, missing=False)
            if self.form.aggregate != SUM:
                with k.loop(k.mul(k.sub(end, begin), targets), parallel=True) as i:
                    place = k.add(k.mul(begin, targets), i)
                    k.store(self._finished(k.load(k.outs[0], place), trees), k.outs[0], place)

    def _has_missing(self, begin: Scalar, end: Scalar) -> Scalar:
        """Whether there is a NaN in a part of the input."""
        k, s = self.k, self.k.scalars

        def step(i: Scalar, found: Sequence[Scalar]) -> Sequence[Scalar]:
            return [s.or_(found[0], s.isnan(k.load(self.x, i)))]

        return k.reduce(end, [s.const(False, i1)], step, start=begin, parallel=True)[0]

    def _walk_block(self, begin: Scalar, end: Scalar, *, missing: bool) -> None:
        k, s = self.k, self.k.scalars
        _, _, trees, groups, _ = k.sizes
        together = s.emit(arith.DivSIOp(k.sub(end, begin), k.index(GROUP)))
        with k.loop(trees) as tree:
            root = self._root(tree)
            with k.loop(together) as number:
                first = k.add(begin, k.mul(number, k.index(GROUP)))
                lines = [k.add(first, k.index(lane)) for lane in range(GROUP)]
                self._add_leaves(lines, [root] * GROUP, missing)
        with k.loop(groups) as group:
            first = k.mul(group, k.index(GROUP))
            roots = [self._root(k.add(first, k.index(lane))) for lane in range(GROUP)]
            with k.loop(end, start=k.add(begin, k.mul(together, k.index(GROUP)))) as line:
                self._add_leaves([line] * GROUP, roots, missing)

    def _root(self, tree: Scalar) -> Scalar:
        return self.k.to_index(self.k.load(self.roots, tree))

    def _add_leaves(self, lines: Sequence[Scalar], roots: Sequence[Scalar], missing: bool) -> None:
        """Each line walks from the root beside it; the leaf's weight goes to the line's result."""
        k, s = self.k, self.k.scalars
        _, features, _, _, targets = k.sizes
        offsets = [k.mul(line, features) for line in lines]
        for line, words in zip(lines, self._walk(offsets, roots, missing), strict=True):
            leaf = s.emit(arith.ShRUIOp(words, k.index(1)))
            place = line
            if not self.form.is_single:
                place = k.add(k.mul(line, targets), k.to_index(k.load(self.target, leaf)))
            k.store(self._joined(k.load(k.outs[0], place), k.load(self.weight, leaf)), k.outs[0], place)

    def _walk(self, offsets: Sequence[Scalar], roots: Sequence[Scalar], missing: bool) -> Sequence[Scalar]:
        """The leaves that rows at `offsets` end in."""
        k, s = self.k, self.k.scalars

        def steps(acc: Sequence[Scalar]) -> Sequence[Scalar]:
            places, before = list(acc[1:]), list(acc[1:])
            for _ in range(STEPS):
                before = places
                places = [self._next(x, at, missing) for x, at in zip(offsets, places, strict=True)]
            moved = [s.cmp("ne", a, b) for a, b in zip(before, places, strict=True)]
            return [reduce(s.or_, moved), *places]

        return k.repeat([s.const(True, i1), *roots], lambda acc: acc[0], steps)[1:]

    def _next(self, offset: Scalar, place: Scalar, missing: bool) -> Scalar:
        k, s = self.k, self.k.scalars
        word = k.load(self.words, place)
        feature = k.to_index(s.and_(word, s.const(FEATURE, i64)))
        follows = k.to_index(s.emit(arith.ShRUIOp(word, s.const(32, i64))))
        value = k.load(self.x, k.add(offset, feature))
        passes = self._passes(word, value, self._split(k.load(self.words, k.add(place, k.index(1)))))
        if missing:
            passes = s.or_(passes, s.and_(self._flag(word, TRACKS_MISSING), s.isnan(value)))
        return k.add(follows, s.select(passes, k.index(2), k.index(0)))

    def _split(self, word: Scalar) -> Scalar:
        s = self.k.scalars
        bits = word if self.element == f64 else s.emit(arith.TruncIOp(word, i32))
        return s.emit(arith.BitcastOp(bits, self.element))

    def _passes(self, word: Scalar, value: Scalar, split: Scalar) -> Scalar:
        s, tests = self.k.scalars, self.form.tests
        if len(tests) == 1:
            return s.cmp("eq" if True in tests else "le", value, split)
        equality = self._flag(word, IS_EQUALITY)
        return s.select(equality, s.cmp("eq", value, split), s.cmp("le", value, split))

    def _flag(self, word: Scalar, bit: int) -> Scalar:
        s = self.k.scalars
        return s.cmp("ne", s.and_(word, s.const(bit, i64)), s.const(0, i64))

    def _start(self) -> Scalar:
        return self.k.scalars.const(neutral_weight(self.form.aggregate), self.element)

    def _joined(self, total: Scalar, weight: Scalar) -> Scalar:
        s, aggregate = self.k.scalars, self.form.aggregate
        if aggregate == MIN:
            return s.minimum(total, weight)
        return s.maximum(total, weight) if aggregate == MAX else s.add(total, weight)

    def _finished(self, total: Scalar, trees: Scalar) -> Scalar:
        """The mean of the trees; of a target no tree has a leaf for, 0."""
        s = self.k.scalars
        if self.form.aggregate == MEAN:
            return s.divf(total, s.int_to_float(self.k.from_index(trees, i64), total.type, False))
        infinite = s.cmp("eq", s.abs(total), s.const(math.inf, total.type))
        return s.select(infinite, s.const(0.0, total.type), total)
