"""How do scale and bias of a normalization take in another factor or summand?

A factor of ones, or a summand of zeros, is None. Two constants are combined in f64 and rounded once; where
one is computed by the model, an op is made.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.normalization.parameters import Array, Parameter, materialized
from onnxloom.transforms.rewriting.graph_index import GraphIndex


def product(
    graph: GraphIndex, left: Parameter | None, right: Parameter | None, ops: list[Operation]
) -> Parameter | None:
    """`left * right`; what has to be made for it is appended to `ops`."""
    return _combined(graph, onnx.MulOp, left, right, ops)


def total(
    graph: GraphIndex, left: Parameter | None, right: Parameter | None, ops: list[Operation]
) -> Parameter | None:
    """`left + right`; what has to be made for it is appended to `ops`."""
    return _combined(graph, onnx.AddOp, left, right, ops)


def _combined(
    graph: GraphIndex,
    op_class: type[onnx.MulOp] | type[onnx.AddOp],
    left: Parameter | None,
    right: Parameter | None,
    ops: list[Operation],
) -> Parameter | None:
    if left is None or right is None:
        return right if left is None else left
    first, second = _constant(graph, left), _constant(graph, right)
    if first is None or second is None:
        operands = [materialized(graph, parameter, ops) for parameter in (left, right)]
        ops.append(graph.make(op_class, operands))
        return ops[-1].results[0]
    combine = np.multiply if op_class is onnx.MulOp else np.add
    wide = combine(first.astype(np.float64), second.astype(np.float64))
    return wide.astype(first.dtype)


def _constant(graph: GraphIndex, parameter: Parameter) -> Array | None:
    return graph.constant(parameter) if isinstance(parameter, SSAValue) else parameter
