"""TreeEnsemble as one kernel: each row walks each tree to a leaf, whose weight goes to a target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import Float32Type, Float64Type, MemRefType, i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, rank_of, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.ops.softmax import softmax_rule
from onnxloom.conversion.onnx_to_loom.reductions.normalizing import normalize_axis
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.tree_tables import MODES, TreeTables, tree_tables
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars

_MEAN, _SUM, _MIN, _MAX = range(4)
_NONE, _SOFTMAX, _LOGISTIC = range(3)


@lowering(onnx.TreeEnsembleOp)
def lower_tree_ensemble(
    op: onnx.TreeEnsembleOp, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    """`[rows, targets]` of `[rows, features]`."""
    (x,) = inputs
    assert x is not None
    element = buffer_element(x.type)
    if not isinstance(element, (Float32Type, Float64Type)) or rank_of(x) != 2:
        raise Declined("trees over anything but rows of f32 or f64 have no kernel")
    transform, aggregate = int_attr(op, "post_transform", 0), int_attr(op, "aggregate_function", _SUM)
    if transform not in (_NONE, _SOFTMAX, _LOGISTIC) or aggregate not in range(4):
        raise Declined("what becomes of the sums of the trees has no kernel")
    trees = tree_tables(op)
    dtype: Any = np.float32 if isinstance(element, Float32Type) else np.float64
    if trees.split.dtype != dtype or trees.weight.dtype != dtype:
        raise Declined("trees of another type than their input have no kernel")
    rows, features = builder.dims(x)
    refuse_where(
        builder, features, "slt", builder.index(trees.features), "trees read more features than there are"
    )
    tables = [trees.roots, trees.feature, trees.split, trees.mode, trees.follows, trees.missing]
    ins = [x, *(builder.constant(table) for table in (*tables, trees.target, trees.weight))]
    type_ = ranked(op.Y.type, "the result")
    k = builder.kernel("trees", ins, [type_], 4)
    _Walk(k, trees, aggregate).write()
    sizes = [rows, features, builder.index(len(trees.roots)), builder.index(trees.targets)]
    out = builder.empty(type_, [rows, builder.index(trees.targets)])
    (result,) = builder.launch(k, ins, [out], sizes)
    return [_transformed(builder, result, transform)]


def _transformed(builder: KernelBuilder, sums: SSAValue, transform: int) -> SSAValue:
    if transform == _NONE:
        return sums
    if transform == _SOFTMAX:
        return normalize_axis(builder, softmax_rule(buffer_element(sums.type)), sums, sums.type, 1)

    def logistic(s: Scalars, x: Sequence[Scalar]) -> Sequence[Scalar]:
        one = s.const(1.0, x[0].type)
        return [s.divf(one, s.add(one, s.unary(xmath.ExpOp, s.neg(x[0]))))]

    return builder.map("logistic", [sums], [sums.type], logistic)[0]


class _Walk:
    """The kernel: buffers are the input, the tables of `TreeTables` in order, the result."""

    def __init__(self, k: KernelBody, trees: TreeTables, aggregate: int):
        self.k, self.aggregate = k, aggregate
        self.x, self.roots, self.feature, self.split, self.mode, self.follows, *rest = k.ins
        self.missing, self.target, self.weight = rest
        self.nodes = len(trees.feature)
        self.modes: list[int] = np.unique(trees.mode).tolist()
        self.element = cast("MemRefType[Attribute]", self.weight.type).element_type
        self.some_missing = bool(trees.missing.any())
        self.is_single = trees.targets == 1

    def write(self) -> None:
        k = self.k
        rows, features, trees, targets = k.sizes
        with k.tasks(rows) as r:
            row, out = k.mul(r, features), k.mul(r, targets)
            if self.is_single:
                self._one_target(row, out, trees)
            else:
                self._targets(row, out, trees, targets)

    def _one_target(self, row: Scalar, out: Scalar, trees: Scalar) -> None:
        k = self.k

        def step(t: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            return [self._joined(acc[0], k.load(self.weight, self._leaf(row, t)))]

        (total,) = k.reduce(trees, [self._start()], step)
        k.store(self._finished(total, trees), k.outs[0], out)

    def _targets(self, row: Scalar, out: Scalar, trees: Scalar, targets: Scalar) -> None:
        k = self.k
        with k.loop(targets, parallel=True) as j:
            k.store(self._start(), k.outs[0], k.add(out, j))
        with k.loop(trees) as t:
            leaf = self._leaf(row, t)
            place = k.add(out, k.to_index(k.load(self.target, leaf)))
            k.store(self._joined(k.load(k.outs[0], place), k.load(self.weight, leaf)), k.outs[0], place)
        with k.loop(targets, parallel=True) as j:
            place = k.add(out, j)
            k.store(self._finished(k.load(k.outs[0], place), trees), k.outs[0], place)

    def _start(self) -> Scalar:
        fill = {_MIN: math.inf, _MAX: -math.inf}.get(self.aggregate, 0.0)
        return self.k.scalars.const(fill, self.element)

    def _leaf(self, row: Scalar, tree: Scalar) -> Scalar:
        """The leaf that a row ends in."""
        k, s = self.k, self.k.scalars

        def step(acc: Sequence[Scalar]) -> Sequence[Scalar]:
            node = acc[0]
            value = k.load(self.x, k.add(row, k.to_index(k.load(self.feature, node))))
            passes = self._passes(node, value)
            branch = s.select(passes, k.index(self.nodes), k.index(0))
            return [k.to_index(k.load(self.follows, k.add(branch, node)))]

        zero = k.index(0)
        (end,) = k.repeat([k.to_index(k.load(self.roots, tree))], lambda acc: s.cmp("ge", acc[0], zero), step)
        return k.sub(k.sub(zero, end), k.index(1))

    def _passes(self, node: Scalar, value: Scalar) -> Scalar:
        k, s = self.k, self.k.scalars
        split = k.load(self.split, node)
        mode = k.load(self.mode, node)
        first, *others = self.modes or [0]
        passes = s.cmp(MODES[first], value, split)
        for number in others:
            is_this = s.cmp("eq", mode, s.const(number, mode.type))
            passes = s.select(is_this, s.cmp(MODES[number], value, split), passes)
        if not self.some_missing:
            return passes
        missing = k.load(self.missing, node)
        tracks = s.cmp("ne", missing, s.const(0, missing.type))
        return s.or_(passes, s.and_(tracks, s.isnan(value)))

    def _joined(self, total: Scalar, weight: Scalar) -> Scalar:
        s = self.k.scalars
        if self.aggregate == _MIN:
            return s.minimum(total, weight)
        return s.maximum(total, weight) if self.aggregate == _MAX else s.add(total, weight)

    def _finished(self, total: Scalar, trees: Scalar) -> Scalar:
        """The mean of the trees; of a target no tree has a leaf for, 0."""
        s = self.k.scalars
        if self.aggregate == _MEAN:
            return s.divf(total, s.int_to_float(self.k.from_index(trees, i64), total.type, False))
        if self.aggregate == _SUM:
            return total
        infinite = s.cmp("eq", s.abs(total), s.const(math.inf, total.type))
        return s.select(infinite, s.const(0.0, total.type), total)
