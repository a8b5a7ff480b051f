"""com.microsoft FusedGemm(A, B, C) -> activation(Gemm(A, B, C))"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.contributed.fused_activation import activated
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedFusedGemmPattern(ContributedOpPattern):
    op_type = "FusedGemm"
    operands = ("A", "B", "C")
    attributes: ClassVar[Mapping[str, Any]] = {
        "alpha": 1.0,
        "beta": 1.0,
        "transA": 0,
        "transB": 0,
        "activation": None,
        "activation_alpha": None,
        "activation_beta": None,
        "activation_gamma": None,
    }

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        attributes = {name: match.attribute(name) for name in ("alpha", "beta", "transA", "transB")}
        y = op.Gemm(inputs.A, inputs.B, inputs.C, **attributes)
        given = [match.attribute(f"activation_{name}") for name in ("alpha", "beta", "gamma")]
        numbers = [number for number in given if number is not None]
        return activated(match, y, match.attribute("activation"), numbers)
