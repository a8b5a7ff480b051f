"""com.microsoft QLinearConcat(inputs) -> Concat of the inputs as levels of the result"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedQLinearConcatPattern(ContributedOpPattern):
    op_type = "QLinearConcat"
    operands = ("Y_scale", "Y_zero_point", "inputs")
    is_variadic = True
    attributes: ClassVar[Mapping[str, Any]] = {"axis": None}

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        given = match.tensors("inputs")
        if not given or len(given) % 3:
            return no_match(match.anchor, "not every input has a scale and a zero point")
        own = (match["Y_scale"], match["Y_zero_point"])
        parts: list[Tensor] = []
        for at in range(0, len(given), 3):
            x, scale, zero = inputs.inputs[at : at + 3]
            if given[at + 1 : at + 3] != own:
                x = op.QuantizeLinear(
                    op.DequantizeLinear(x, scale, zero), inputs.Y_scale, inputs.Y_zero_point
                )
            parts.append(x)
        return op.Concat(*parts, axis=match.attribute("axis"))
