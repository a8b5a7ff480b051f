"""Which dim conditions of fused ops hold for every input, so that no shape key needs the unfused ops?

Proven anew from the module as it stands: what a fused op says of itself is not trusted. Dims that
share a name are equal, because a session refuses inputs for which they are not.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from onnxloom.dialects.onnx import FusedOp
from onnxloom.errors import ModelError
from onnxloom.transforms.dim_analysis import DimAnalysis


class DimProofs:
    """Proofs from one analysis per function, made when first needed."""

    def __init__(self) -> None:
        self._analyses: dict[FuncOp, DimAnalysis | None] = {}

    def hold(self, fused_op: FusedOp, conditions: Iterable[tuple[int, int, int, int]]) -> bool:
        """Whether dim `a` of input `i` equals dim `b` of input `j` for each `(i, a, j, b)`."""
        dims = self._analysis(fused_op)
        if dims is None:
            return False
        inputs = fused_op.operands
        return all(dims.same_dim(inputs[i], a, inputs[j], b) for i, a, j, b in conditions)

    def _analysis(self, op: Operation) -> DimAnalysis | None:
        function: Operation | None = op
        while function is not None and not isinstance(function, FuncOp):
            function = function.parent_op()
        if function is None:
            return None
        if function not in self._analyses:
            try:
                self._analyses[function] = DimAnalysis.of(function)
            except ModelError:
                self._analyses[function] = None
        return self._analyses[function]
