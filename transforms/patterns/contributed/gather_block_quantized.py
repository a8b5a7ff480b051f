"""com.microsoft GatherBlockQuantized(data, indices, scales, zero_points) -> Gather of each, dequantized

where rows are gathered and blocks lie along them. A byte of the data holds one number of 8 bits or two of 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.attention_masks import FLOAT, element_code
from onnxloom.transforms.patterns.contributed.bit_fields import unpacked
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.operands import static_dim
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedGatherBlockQuantizedPattern(ContributedOpPattern):
    op_type = "GatherBlockQuantized"
    operands = ("data", "indices", "scales", "zero_points")
    attributes: ClassVar[Mapping[str, Any]] = {
        "bits": 4,
        "block_size": 128,
        "gather_axis": 0,
        "quantize_axis": 1,
    }
    min_opset = 18

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        bits, block = match.attribute("bits"), match.attribute("block_size")
        rank, columns = match.graph.rank(match["data"]), static_dim(match.graph, match["data"], -1)
        if match.graph.dtype(match["data"]) != np.uint8 or bits not in (4, 8):
            return no_match(match.anchor, "its data is not made of bytes that hold 4 or 8 bits")
        if columns is None or rank is None:
            return no_match(match.anchor, "the width of its data is not known")
        if match.attribute("gather_axis") % rank != 0 or match.attribute("quantize_axis") % rank != rank - 1:
            return no_match(
                match.anchor, "it gathers along other dims than the first, or blocks lie along others"
            )
        blocks = np.arange(columns * 8 // bits) // block

        def whole(x: Tensor) -> Tensor:
            return op.Cast(op.Gather(x, inputs.indices, axis=0), to=FLOAT)

        def spread(x: Tensor) -> Tensor:
            return op.Gather(x, blocks, axis=-1)

        def levels(x: Tensor) -> Tensor:
            return op.Cast(unpacked(op.Gather(x, inputs.indices, axis=0), bits), to=FLOAT)

        zero = float(1 << (bits - 1)) if inputs.zero_points is None else spread(levels(inputs.zero_points))
        y = (levels(inputs.data) - zero) * spread(whole(inputs.scales))
        code = element_code(match, "scales")
        return y if code == FLOAT else op.Cast(y, to=code)
