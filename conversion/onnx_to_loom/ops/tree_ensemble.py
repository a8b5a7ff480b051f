"""TreeEnsemble as one kernel, and what becomes of the sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, rank_of, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.ops.softmax import softmax_rule
from onnxloom.conversion.onnx_to_loom.reductions.normalizing import normalize_axis
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.trees.tree_nodes import tree_nodes
from onnxloom.conversion.onnx_to_loom.trees.tree_tables import tree_tables
from onnxloom.conversion.onnx_to_loom.trees.tree_walks import (
    GROUP,
    MAX,
    MEAN,
    MIN,
    SUM,
    TreeWalks,
    WalkForm,
    neutral_weight,
)
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars

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
    transform, aggregate = int_attr(op, "post_transform", 0), int_attr(op, "aggregate_function", SUM)
    if transform not in (_NONE, _SOFTMAX, _LOGISTIC) or aggregate not in (MEAN, SUM, MIN, MAX):
        raise Declined("what becomes of the sums of the trees has no kernel")
    nodes = tree_nodes(op)
    dtype: Any = np.float32 if isinstance(element, Float32Type) else np.float64
    if nodes.split.dtype != dtype or nodes.weight.dtype != dtype:
        raise Declined("trees of another type than their input have no kernel")
    rows, features = builder.dims(x)
    needed = builder.index(int(nodes.feature.max(initial=-1)) + 1)
    refuse_where(builder, features, "slt", needed, "trees read more features than there are")
    tables = tree_tables(nodes, GROUP, neutral_weight(aggregate))
    parts = (tables.roots, tables.words, tables.target, tables.weight)
    ins = [x, *(builder.constant(part) for part in parts)]
    type_ = ranked(op.Y.type, "the result")
    form = WalkForm(
        aggregate,
        nodes.targets == 1,
        frozenset(nodes.is_equality.tolist()),
        bool(nodes.tracks_missing.any()),
    )
    k = builder.kernel("trees", ins, [type_], 5)
    TreeWalks(k, form).write()
    targets, groups = builder.index(nodes.targets), builder.index(len(tables.roots) // GROUP)
    out = builder.empty(type_, [rows, targets])
    sizes = [rows, features, builder.index(len(nodes.roots)), groups, targets]
    (result,) = builder.launch(k, ins, [out], sizes)
    # Of a single score neither makes another, as in runtimes.
    return [result if nodes.targets == 1 else _transformed(builder, result, transform)]


def _transformed(builder: KernelBuilder, sums: SSAValue, transform: int) -> SSAValue:
    if transform == _NONE:
        return sums
    if transform == _SOFTMAX:
        return normalize_axis(builder, softmax_rule(buffer_element(sums.type)), sums, sums.type, 1)

    def logistic(s: Scalars, x: Sequence[Scalar]) -> Sequence[Scalar]:
        one = s.const(1.0, x[0].type)
        return [s.divf(one, s.add(one, s.unary(xmath.ExpOp, s.neg(x[0]))))]

    return builder.map("logistic", [sums], [sums.type], logistic)[0]
