"""com.microsoft QGemm(A, B, C) -> Gemm of dequantized operands, quantized where the op has a scale of Y

The scale of the 32-bit C is the product of those of A and B; `alpha` scales the sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.patterns.contributed.attention_masks import FLOAT
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.operands import static_dim
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

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        columns = 0 if match.attribute("transB") else 1
        a = op.DequantizeLinear(inputs.A, inputs.a_scale, inputs.a_zero_point)
        b = op.DequantizeLinear(inputs.B, inputs.b_scale, inputs.b_zero_point, axis=columns)
        transposes = {name: match.attribute(name) for name in ("transA", "transB")}
        y = op.Gemm(a, b, self._added(inputs, match), **transposes)
        if match.attribute("alpha") != 1.0:
            y = y * match.attribute("alpha")
        if inputs.y_scale is None:
            return y
        return op.QuantizeLinear(y, inputs.y_scale, inputs.y_zero_point)

    def _added(self, inputs: Inputs, match: Match) -> Tensor | None:
        if inputs.C is None:
            return None
        scale = op.Mul(inputs.a_scale, inputs.b_scale)
        sizes = [
            static_dim(match.graph, match[n], 0) for n in ("C", "b_scale") if match.graph.rank(match[n]) == 1
        ]
        if len(sizes) == 2 and sizes[0] == sizes[1] is not None:
            return op.DequantizeLinear(inputs.C, scale, axis=0)
        return op.Cast(inputs.C, to=FLOAT) * scale
