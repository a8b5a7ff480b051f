"""How is a matrix product with its epilogue lowered? One tiled kernel; the epilogue runs on each tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import program_values
from onnxloom.conversion.onnx_to_loom.elementwise.epilogues import Addend, body_epilogue
from onnxloom.conversion.onnx_to_loom.products.gemm import Product, build_gemm
from onnxloom.conversion.onnx_to_loom.products.products import factors_of
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.dialects.onnx import FusedOp
from onnxloom.transforms.fusion.kinds.matmul_epilogue import MatMulEpilogueFusion, transpose_before


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
        program = program_values(fused_op, inputs, builder)
        product = next(op for op in body.ops if isinstance(op, helper.anchors))
        transpose = transpose_before(product)
        factors = factors_of(product)
        addend = None if factors.addend is None else Addend(factors.addend, 0)
        behind = replace(body, ops=body.ops[0 if transpose is None else 1 :])
        others, epilogue = (), None
        if len(behind.ops) > 1 or factors.finish is not None:
            others, epilogue = body_epilogue(behind, program, builder, addend, factors.finish)
        lhs, rhs = product.operands[0], product.operands[1] if transpose is None else transpose.data
        form = Product(
            program[lhs],
            program[rhs],
            fused_op.results[0].type,
            others,
            epilogue,
            factors.trans_lhs,
            factors.trans_rhs or transpose is not None,
        )
        return [build_gemm(builder, "matmul_epilogue", form)]
