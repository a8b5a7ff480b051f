"""com.microsoft ScaledSiLU(X) -> z * Sigmoid(z), z = alpha * X"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedScaledSiLUPattern(ContributedOpPattern):
    op_type = "ScaledSiLU"
    operands = ("X", "scale")
    attributes: ClassVar[Mapping[str, Any]] = {"alpha": 1.0}

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        if inputs.scale is None:
            scaled = inputs.X * match.attribute("alpha")
        elif match.graph.dtype(match["scale"]) != match.graph.dtype(match["X"]):
            return no_match(match.anchor, "the scale is of another type than X")
        else:
            scaled = inputs.X * inputs.scale
        return scaled * op.Sigmoid(scaled)
