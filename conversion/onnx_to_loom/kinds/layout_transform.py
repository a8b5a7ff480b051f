"""How is a chain of moving ops lowered? One strided copy of the source per result."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import program_values
from onnxloom.conversion.onnx_to_loom.moving.transposing import Places, strided_copy
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.dialects.onnx import FusedOp
from onnxloom.transforms.fusion.kinds.layout_transform import LayoutTransformFusion, layouts_of
from onnxloom.transforms.fusion.match import Miss
from onnxloom.transforms.fusion.strided import ONE, Factor, Layout, Size


class LayoutTransformLowering(FusedOpKindLowering[LayoutTransformFusion]):
    """Lowers `onnx.layout_transform`."""

    helper = LayoutTransformFusion

    def lower_verified(
        self,
        fused_op: FusedOp,
        helper: LayoutTransformFusion,
        inputs: Sequence[SSAValue],
        builder: KernelBuilder,
    ) -> Sequence[SSAValue]:
        body = helper.retrieve_ops_and_output_values(fused_op)
        data = body.ops[0].operands[0]
        layouts = layouts_of(data, body.ops)
        if isinstance(layouts, Miss):
            raise Declined(layouts.reason)
        source = program_values(fused_op, inputs, builder)[data]
        return [_Copy(builder, source).make(value, layouts[value]) for value in body.results]


class _Copy:
    def __init__(self, builder: KernelBuilder, source: SSAValue):
        self.builder = builder
        self.source = source

    def size(self, size: Size) -> SSAValue:
        dims = [self.builder.dim(self.source, axis) for axis in size.axes]
        return self.builder.multiply([*dims, self.builder.index(size.count)])

    def make(self, value: SSAValue, layout: Layout) -> SSAValue:
        """The result of this layout: a view where it is the source's own memory."""
        builder, type_ = self.builder, ranked(value.type, "a result")
        sizes = [self.size(layout.size(axis)) for axis in range(len(layout.dims))]
        dims = exact_dims(builder, type_, sizes)
        if layout.is_source():
            return builder.view(self.source, dims)
        factors = layout.factors() or [Factor(ONE, ONE)]
        units = [place for place, factor in enumerate(factors) if factor.stride == ONE]
        # The innermost loop is the one to be contiguous where several are.
        places = Places(
            [self.size(factor.size) for factor in factors],
            [self.size(factor.stride) for factor in factors],
            [factor.size.known for factor in factors],
            units[-1] if units and factors[-1].stride.count else None,
        )
        return strided_copy(builder, self.source, type_, dims, places, self.offset(layout.offset))

    def offset(self, terms: Sequence[Size]) -> SSAValue | None:
        total: SSAValue | None = None
        for term in terms:
            size = self.size(term)
            total = size if total is None else self.builder.insert(arith.AddiOp(total, size)).results[0]
        return total
