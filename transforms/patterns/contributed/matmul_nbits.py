"""com.microsoft MatMulNBits(A, B, scales, zero_points, g_idx, bias) -> MatMul(A, dequantized B) + bias

where weights, scales or zero points are no constants, a scale is infinite, or the rows of B say which blocks
they belong to. Any other has a kernel of its own, and stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.attention_masks import FLOAT, element_code
from onnxloom.transforms.patterns.contributed.bit_fields import unpacked
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedMatMulNBitsPattern(ContributedOpPattern):
    op_type = "MatMulNBits"
    operands = ("A", "B", "scales", "zero_points", "g_idx", "bias")
    attributes: ClassVar[Mapping[str, Any]] = {"K": 0, "N": 0, "bits": 4, "block_size": 0}
    min_opset = 18

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        names = [name for name in ("B", "scales", "zero_points") if match.has(name)]
        scales = match.graph.constant(match["scales"])
        is_infinite = scales is not None and bool(np.isinf(scales.astype(np.float32)).any())
        are_constant = all(match.graph.is_constant(match[name]) for name in names)
        if inputs.g_idx is None and are_constant and not is_infinite:
            return no_match(match.anchor, "it has a kernel")
        names = ("K", "N", "bits", "block_size")
        depth, columns, bits, block = (int(match.attribute(name)) for name in names)
        if bits not in (2, 4, 8) or block <= 0:
            return no_match(match.anchor, f"{bits} bits in blocks of {block} have no form known here")
        blocks = -(-depth // block)
        levels = op.Reshape(unpacked(op.Reshape(inputs.B, [columns, -1]), bits), [columns, -1])
        weights = op.Cast(op.Slice(levels, [0], [depth], [1]), to=FLOAT)

        def spread(x: Tensor) -> Tensor:
            per_block = op.Cast(op.Reshape(x, [columns, blocks]), to=FLOAT)
            if inputs.g_idx is None:
                return op.Gather(per_block, [place // block for place in range(depth)], axis=1)
            return op.Gather(per_block, op.Slice(inputs.g_idx, [0], [depth], [0]), axis=1)

        zero: Tensor | float = float(1 << (bits - 1))
        if inputs.zero_points is not None:
            zero = spread(self._zero_points(inputs, match, columns, blocks, bits))
        weights = (weights - zero) * spread(inputs.scales)
        y = op.MatMul(op.Cast(inputs.A, to=FLOAT), op.Transpose(weights, perm=[1, 0]))
        if inputs.bias is not None:
            y = y + op.Cast(inputs.bias, to=FLOAT)
        return op.Cast(y, to=element_code(match, "A"))

    def _zero_points(self, inputs: Inputs, match: Match, columns: int, blocks: int, bits: int) -> Tensor:
        """One per block; as bytes those of a column are packed like its weights."""
        if match.graph.dtype(match["zero_points"]) != np.uint8:
            return inputs.zero_points
        packed = op.Reshape(inputs.zero_points, [columns, -1])
        return op.Slice(unpacked(packed, bits), [0], [blocks], [1])
