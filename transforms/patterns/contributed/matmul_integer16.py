"""com.microsoft MatMulInteger16(A, B) -> MatMul of A and B as 32-bit integers"""

from __future__ import annotations

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op

_INT32 = 6
"""TensorProto.INT32."""


class ContributedMatMulInteger16Pattern(ContributedOpPattern):
    op_type = "MatMulInteger16"
    operands = ("A", "B")

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.MatMul(op.Cast(inputs.A, to=_INT32), op.Cast(inputs.B, to=_INT32))
