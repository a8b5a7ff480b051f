"""A plug-in kind with its lowering: `x / sqrt(mean(x * x) + epsilon)` over the last axis, row by row."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects import math
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.dialects import onnx
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.match import Body, Match, Miss
from onnxloom.transforms.fusion.spaces import element_of, shape_of

CHAIN = [onnx.MulOp, onnx.ReduceMeanOp, onnx.AddOp, onnx.SqrtOp, onnx.DivOp]


class RmsScale(FusionOpKindHelper):
    kind: ClassVar[str] = "demo.rms_scale"
    anchors: ClassVar[tuple[type[Operation], ...]] = (onnx.DivOp,)
    max_op_count: ClassVar[int] = 5
    epsilon: float

    @classmethod
    def detect_if_beneficial(cls, dims: DimAnalysis, anchor: Operation) -> "Match[RmsScale] | Miss":
        ops, op = [anchor], anchor.operands[1].owner
        while len(ops) < len(CHAIN) and isinstance(op, Operation) and op.operands:
            ops, op = [op, *ops], op.operands[0].owner
        epsilon = onnx.constant_value(ops[2].operands[-1]) if len(ops) == len(CHAIN) else None
        if epsilon is None or epsilon.size != 1:
            return Miss("epsilon is not a constant number")
        helper = cls(float(epsilon.item()))
        return helper.why_not(ops) or Match(helper, ops, anchor.results)

    def verify(self, body: Body) -> Miss | None:
        return self.why_not(body.ops)

    def why_not(self, ops: Sequence[Operation]) -> Miss | None:
        if [type(op) for op in ops] != CHAIN:
            return Miss("the ops are not Mul, ReduceMean, Add, Sqrt, Div")
        mul, mean, add, sqrt, div = ops
        x, shape = mul.operands[0], shape_of(mul.operands[0])
        if [mul.operands[1], *div.operands] != [x, x, sqrt.results[0]] or any(
            user.operands[0] != made.results[0] for user, made in ((mean, mul), (add, mean), (sqrt, add))
        ):
            return Miss("the ops do not follow each other")
        axes, epsilon = onnx.constant_value(mean.operands[1]), onnx.constant_value(add.operands[1])
        if not shape or axes is None or axes.tolist() != [-1] or shape_of(add.results[0]) != (*shape[:-1], 1):
            return Miss("the mean is not over the last axis with its dim kept")
        if element_of(x) != f32 or epsilon is None or epsilon.tolist() != self.epsilon:
            return Miss("the elements are not f32, or epsilon is another one")
        return None


class RmsScaleLowering(FusedOpKindLowering[RmsScale]):
    helper = RmsScale

    def lower_verified(
        self, fused_op: onnx.FusedOp, helper: RmsScale, inputs: Sequence[SSAValue], builder: KernelBuilder
    ) -> Sequence[SSAValue]:
        *outer, columns = builder.dims(inputs[0])
        k = builder.kernel("rms_scale", inputs, fused_op.result_types, sizes=2)
        s, size = k.scalars, k.sizes[1]
        count = s.int_to_float(k.from_index(size, i64), f32, False)
        with k.loop(k.sizes[0]) as i:
            (total,) = k.reduce(
                size,
                [s.const(0.0, f32)],
                lambda j, acc: [s.add(acc[0], s.mul(*[k.load(k.ins[0], k.at(i, size, j))] * 2))],
            )
            root = s.unary(math.SqrtOp, s.add_const(s.divf(total, count), helper.epsilon))
            with k.loop(size, parallel=True) as j:
                at = k.at(i, size, j)
                k.store(s.divf(k.load(k.ins[0], at), root), k.outs[0], at)
        out = builder.empty(fused_op.result_types[0], [*outer, columns])
        return builder.launch(k, inputs, [out], [builder.multiply(outer), columns])
