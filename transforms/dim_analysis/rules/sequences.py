"""SplitToSequence, whose inference in the standard overlooks that `keepdims` may drop the axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, UnrankedTensorType
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.types import SeqType
from onnxloom.transforms.dim_analysis.facts import Result, Rule
from onnxloom.transforms.dim_analysis.query import OpQuery


def _split_to_sequence(query: OpQuery) -> Sequence[Result]:
    shape, element = query.shape(0), query.element(0)
    if element is None:
        return [None]
    if shape is None:
        return [SeqType(UnrankedTensorType(element))]
    axis = query.axis(query.int_attr("axis"), len(shape))
    dims = [DYNAMIC_INDEX if dim.constant is None else dim.constant for dim in shape]
    if query.has(1):
        dims[axis] = _common_length(query, dims[axis])
    elif query.int_attr("keepdims"):
        dims[axis] = 1
    else:
        del dims[axis]
    return [SeqType(TensorType(element, dims))]


def _common_length(query: OpQuery, dim: int) -> int:
    """The length of every part, when all are equal."""
    lengths = query.ints(1)
    if not lengths:
        return DYNAMIC_INDEX
    if query.rank(1) == 0:
        return (
            lengths[0] if dim != DYNAMIC_INDEX and lengths[0] > 0 and dim % lengths[0] == 0 else DYNAMIC_INDEX
        )
    return lengths[0] if len(set(lengths)) == 1 else DYNAMIC_INDEX


RULES: Final[dict[type[Operation], Rule]] = {onnx.SplitToSequenceOp: _split_to_sequence}
