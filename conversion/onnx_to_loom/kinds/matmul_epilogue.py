"""How is a matrix product with its epilogue lowered? One tiled kernel; the epilogue runs on each tile."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element
from onnxloom.conversion.onnx_to_loom.gemm import Product, build_gemm
from onnxloom.conversion.onnx_to_loom.products import factors_of
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx import FusedOp
from onnxloom.dialects.onnx.semantics import scalar_semantics
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, is_float
from onnxloom.transforms.fusion.kinds.matmul_epilogue import MatMulEpilogueFusion


class MatMulEpilogueLowering(FusedOpKindLowering[MatMulEpilogueFusion]):
    """Lowers `onnx.matmul_epilogue`."""

    helper = MatMulEpilogueFusion

    def lower_verified(
        self,
        fused_op: FusedOp,
        helper: MatMulEpilogueFusion,
        inputs: Sequence[SSAValue],
        builder: KernelBuilder,
    ) -> Sequence[SSAValue]:
        body = helper.retrieve_ops_and_output_values(fused_op)
        program: dict[SSAValue, SSAValue] = dict(zip(body.inputs, inputs, strict=True))
        for op in fused_op.body.block.ops:
            if isinstance(op, onnx.ConstantOp) and op.value is not None:
                program[op.output] = builder.insert(loom.ConstantOp(op.value, op.output.type)).results[0]
        product, *rest = body.ops
        factors = factors_of(product)
        lhs, rhs = (program[v] for v in product.operands[:2])
        made = {product.results[0], *(op.results[0] for op in rest)}
        reads = [
            op.operands[i]
            for op in rest
            if (row := scalar_semantics(op)) is not None
            for i in row.reads(op)
            if op.operands[i] not in made
        ]
        if factors.addend is not None:
            reads.insert(0, factors.addend)
        others = list(dict.fromkeys(reads))
        product_element = buffer_element(product.results[0].type)
        finish = factors.finish

        def epilogue(s: Scalars, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
            values = dict(zip(others, operands, strict=True))
            if finish is not None:
                addend = factors.addend
                value = finish(s, value, None if addend is None else values[addend])
            if is_float(product_element):
                value = s.float_to(value, product_element)
            values[product.results[0]] = value
            builder.apply(s, rest, values)
            return values[body.results[0]]

        return [
            build_gemm(
                builder,
                "matmul_epilogue",
                Product(
                    lhs,
                    rhs,
                    fused_op.results[0].type,
                    [program[v] for v in others],
                    epilogue,
                    factors.trans_lhs,
                    factors.trans_rhs,
                ),
            )
        ]
