"""Can a mask hide all keys from a query?

Softmax of a row of -inf is NaN; Attention gives 0 there. The two agree where no row is hidden altogether, or
where the NaN is replaced by 0.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_DTYPE
from onnxloom.transforms.rewriting.graph_index import GraphIndex

_DEPTH: Final = 12
"""Masks are computed in fewer steps."""

_MOVES: Final = (
    onnx.UnsqueezeOp,
    onnx.SqueezeOp,
    onnx.ExpandOp,
    onnx.ReshapeOp,
    onnx.TransposeOp,
    onnx.SliceOp,
    onnx.GatherOp,
    onnx.IdentityOp,
)

_ARITHMETIC: Final = (onnx.AddOp, onnx.SubOp, onnx.MulOp)


def hides_no_row(graph: GraphIndex, mask: SSAValue) -> bool:
    """Whether each query provably sees a key.

    Numbers computed from integers and truth values are taken for finite: (1 - m) * lowest is, for an m of 0
    and 1.
    """
    array = graph.constant(mask)
    if array is not None:
        seen: np.ndarray[Any, Any] = (
            array if array.dtype == np.bool_ else ~np.isneginf(array.astype(np.float64))
        )
        return bool(seen.any(axis=-1).all())
    return isinstance(graph.element_type(mask), AnyFloat) and _is_finite(graph, mask, _DEPTH)


def _is_finite(graph: GraphIndex, value: SSAValue, depth: int) -> bool:
    array = graph.constant(value)
    if array is not None:
        return bool(np.isfinite(array.astype(np.float64)).all())
    owner = graph.producer(value)
    if depth == 0:
        return False
    if isinstance(owner, onnx.WhereOp):
        return all(_is_finite(graph, side, depth - 1) for side in (owner.X, owner.Y))
    if isinstance(owner, _ARITHMETIC):
        return all(_is_finite(graph, side, depth - 1) for side in owner.operands)
    if isinstance(owner, _MOVES):
        return _is_finite(graph, owner.operands[0], depth - 1)
    if isinstance(owner, onnx.CastOp):
        return _is_whole(graph, owner.input) or _is_finite(graph, owner.input, depth - 1)
    return False


def _is_whole(graph: GraphIndex, value: SSAValue) -> bool:
    element = graph.element_type(value)
    dtype = None if element is None else ELEMENT_TO_DTYPE.get(element)
    return dtype is not None and dtype.kind in "iub"
