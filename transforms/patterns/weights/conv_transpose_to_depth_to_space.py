"""ConvTranspose(x, W, b) -> DepthToSpace(Conv(x, W', b'), r), where windows lie side by side.

Of two spatial dims, with square windows of r x r that move by r: nothing overlaps, so each input element
alone gives a block of r x r output elements per channel, which is what a 1x1 Conv to r * r times the
channels computes. No padding, dilation, output padding or groups; W and b constant.

Not on by default: whether it pays depends on the kernels of the two ops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr, is_none, str_attr
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.rewriting.constants import Array
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import MatchResult, Numerics, PatternOptimization, Replacement


@dataclass(frozen=True)
class _Blocks:
    size: int
    weight: Array
    """[channels * size * size, input channels, 1, 1]."""

    bias: Array | None


class ConvTransposeToDepthToSpacePattern(PatternOptimization):
    """A ConvTranspose without overlap becomes a Conv over single elements and a rearrangement."""

    default: ClassVar[bool] = False
    min_opset: ClassVar[int] = 11
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ConvTransposeOp,)
    adds_ops: ClassVar[str] = "one op that overlaps nothing is a product and a rearrangement"

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.ConvTransposeOp)
        weight = graph.constant(op.W)
        bias = None if is_none(op.B) else graph.constant(op.B)
        if weight is None or (bias is None and not is_none(op.B)):
            return no_match(op, "the weight or the bias is not constant")
        if weight.ndim != 4 or weight.shape[2] != weight.shape[3]:
            return no_match(op, "the window is not square")
        size = weight.shape[2]
        if size < 2 or ints_attr(op, "strides") != (size, size):
            return no_match(op, "the windows overlap or leave gaps")
        if any(ints_attr(op, "pads") or ()) or str_attr(op, "auto_pad") not in ("NOTSET", "VALID"):
            return no_match(op, "the result is padded")
        if any(ints_attr(op, "output_padding") or ()) or ints_attr(op, "output_shape") is not None:
            return no_match(op, "the size of the result is given otherwise")
        if int_attr(op, "group") != 1 or any(step != 1 for step in ints_attr(op, "dilations") or ()):
            return no_match(op, "there are groups or dilations")
        return MatchResult((op,), data=_blocks(size, weight, bias))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        op, blocks = match.ops[0], match.data
        assert isinstance(op, onnx.ConvTransposeOp) and isinstance(blocks, _Blocks)
        made: list[Operation] = [graph.make_constant(blocks.weight)]
        if blocks.bias is not None:
            made.append(graph.make_constant(blocks.bias))
        operands = [op.X, *(constant.results[0] for constant in made)]
        conv = graph.make(onnx.ConvOp, operands, name_from=op)
        spread = graph.make(
            onnx.DepthToSpaceOp,
            [conv.Y],
            result_types=[op.Y.type],
            name_from=op,
            blocksize=blocks.size,
            mode="CRD",
        )
        return Replacement([*made, conv, spread], {op.Y: spread.output})


def _blocks(size: int, weight: Array, bias: Array | None) -> _Blocks:
    """Each channel's block, row by row, as channels of their own."""
    channels = weight.shape[1]
    rows = weight.transpose(1, 2, 3, 0).reshape(channels * size * size, weight.shape[0], 1, 1)
    return _Blocks(size, np.ascontiguousarray(rows), None if bias is None else np.repeat(bias, size * size))
