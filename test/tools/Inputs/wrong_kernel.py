"""A fusion kind with a kernel that is wrong: Neg(Exp(x)) is found, and lowered as Neg(x)."""

from collections.abc import Sequence
from typing import Self

from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx import FusedOp
from onnxloom.dialects.onnx.semantics.scalars import Scalars
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.match import Body, Match, Miss


class NegExpFusion(FusionOpKindHelper):
    kind = "planted.neg_exp"
    anchors = (onnx.ExpOp,)
    max_op_count = 2
    benefit = 1000

    @classmethod
    def detect_if_beneficial(cls, dims: DimAnalysis, anchor: Operation) -> Match[Self] | Miss:
        readers = [use.operation for use in anchor.results[0].uses]
        if len(readers) != 1 or not isinstance(readers[0], onnx.NegOp):
            return Miss("not read by one Neg")
        return Match(cls(), (anchor, readers[0]), readers[0].results)

    def verify(self, body: Body) -> Miss | None:
        return None


class NegExpLowering(FusedOpKindLowering[NegExpFusion]):
    helper = NegExpFusion

    def lower_verified(
        self, fused_op: FusedOp, helper: NegExpFusion, inputs: Sequence[SSAValue], builder: KernelBuilder
    ) -> Sequence[SSAValue]:
        (x,) = inputs

        def negated(scalars: Scalars, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [scalars.neg(values[0])]

        return builder.map("neg_exp", [x], [fused_op.results[0].type], negated)
