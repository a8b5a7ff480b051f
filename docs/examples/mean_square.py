"""Mul(x, x) -> ReduceMean(axes = [last]) in one pass over memory; the squares are never stored.

Where the product is read by the mean alone, the elements are f32 and the rank is known."""

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, reassociated
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx import FusedOp, constant_value
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.match import Body, Match, Miss
from onnxloom.transforms.fusion.spaces import element_of, shape_of


class MeanSquareFusion(FusionOpKindHelper):
    kind = "example.mean_square"
    anchors = (onnx.MulOp,)
    max_op_count = 2

    keepdims: bool

    @classmethod
    def detect_if_beneficial(cls, dims: DimAnalysis, anchor: Operation) -> Match[Self] | Miss:
        readers = [use.operation for use in anchor.results[0].uses]
        if len(readers) != 1:
            return Miss(f"{len(readers)} ops read the product; expected one")
        helper = cls(keepdims=bool(int_attr(readers[0], "keepdims", 1)))
        return check(anchor, readers[0]) or Match(helper, (anchor, readers[0]), readers[0].results)

    def verify(self, body: Body) -> Miss | None:
        if len(body.ops) != 2 or list(body.results) != list(body.ops[1].results):
            return Miss("the body is not a product and its mean")
        if bool(int_attr(body.ops[1], "keepdims", 1)) != self.keepdims:
            return Miss("keepdims of the body differs from the attribute")
        return check(*body.ops)


def check(product: Operation, mean: Operation) -> Miss | None:
    """What must hold both when the chain is found and when it is lowered."""
    if not isinstance(product, onnx.MulOp) or product.operands[0] is not product.operands[1]:
        return Miss("not the product of a value with itself")
    if not isinstance(mean, onnx.ReduceMeanOp) or mean.operands[0] is not product.results[0]:
        return Miss(f"the product is read by {mean.name}; expected onnx.ReduceMean")
    axes, shape = constant_value(mean.operands[1]), shape_of(product.results[0])
    if shape is None or element_of(product.results[0]) != f32:
        return Miss(f"the product has type {product.results[0].type}; expected f32 and a known rank")
    if axes is None or axes.tolist() not in ([-1], [len(shape) - 1]):
        return Miss("the axes are not a constant that names the last axis alone")
    return None


class MeanSquareLowering(FusedOpKindLowering[MeanSquareFusion]):
    helper = MeanSquareFusion

    def lower_verified(
        self, fused_op: FusedOp, helper: MeanSquareFusion, inputs: Sequence[SSAValue], builder: KernelBuilder
    ) -> Sequence[SSAValue]:
        (x,), result = inputs, fused_op.results[0].type
        *outer, columns = builder.dims(x)
        k = builder.kernel("mean_square", [x], [result], sizes=2)
        s = k.scalars
        with k.loop(k.sizes[0]) as i:

            def add_square(j: SSAValue, total: Sequence[SSAValue]) -> Sequence[SSAValue]:
                value = k.load(k.ins[0], k.at(i, k.sizes[1], j))
                return [reassociated(s.add(total[0], s.mul(value, value)))]

            (total,) = k.reduce(k.sizes[1], [s.const(0.0, f32)], add_square)
            count = s.int_to_float(k.from_index(k.sizes[1], i64), f32, unsigned=False)
            k.store(s.divf(total, count), k.outs[0], i)
        dims = [*outer, builder.index(1)] if helper.keepdims else outer
        return builder.launch(k, [x], [builder.empty(result, dims)], [builder.multiply(outer), columns])
