"""com.microsoft QGemm(A, B, C) -> Gemm of dequantized operands, quantized where the op has a scale of Y

The scale of the 32-bit C is the product of those of A and B.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedQGemmPattern(ContributedOpPattern):
    op_type = "QGemm"
    operands = (
        "A",
        "a_scale",
        "a_zero_point",
        "B",
        "b_scale",
        "b_zero_point",
        "C",
        "y_scale",
        "y_zero_point",
    )
    attributes: ClassVar[Mapping[str, Any]] = {"alpha": 1.0, "transA": 0, "transB": 0}

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        graph, columns = match.graph, 0 if match.attribute("transB") else 1
        if match.attribute("alpha") != 1.0:
            return no_match(match.anchor, "the product is scaled by alpha")
        a = op.DequantizeLinear(inputs.A, inputs.a_scale, inputs.a_zero_point)
        b = op.DequantizeLinear(inputs.B, inputs.b_scale, inputs.b_zero_point, axis=columns)
        c = None
        if inputs.C is not None:
            if graph.rank(match["C"]) != 1:
                return no_match(match.anchor, "C is no vector")
            c = op.DequantizeLinear(inputs.C, op.Mul(inputs.a_scale, inputs.b_scale), axis=0)
        transposes = {name: match.attribute(name) for name in ("transA", "transB")}
        y = op.Gemm(a, b, c, **transposes)
        if inputs.y_scale is None:
            return y
        return op.QuantizeLinear(y, inputs.y_scale, inputs.y_zero_point)
