"""MatMul and Gemm as one tiled kernel."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element
from onnxloom.conversion.onnx_to_loom.products.gemm import Product, build_gemm
from onnxloom.conversion.onnx_to_loom.products.products import factors_of
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, is_float


@lowering(onnx.MatMulOp, onnx.GemmOp)
def lower_matmul(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """`A @ B`, for Gemm `alpha * A @ B + beta * C` with the transposes it asks for."""
    lhs, rhs = inputs[:2]
    assert lhs is not None and rhs is not None
    factors = factors_of(op)
    result_type = op.results[0].type
    target = buffer_element(result_type)
    finish = factors.finish

    def epilogue(s: Scalars, value: Scalar, others: Sequence[Scalar]) -> Scalar:
        assert finish is not None
        total = finish(s, value, others[0] if others else None)
        return s.float_to(total, target) if is_float(target) else total

    others = [v for v in inputs[2:3] if v is not None] if factors.addend is not None else []
    product = Product(
        lhs,
        rhs,
        result_type,
        others,
        epilogue if finish is not None else None,
        factors.trans_lhs,
        factors.trans_rhs,
    )
    return [build_gemm(builder, "gemm" if isinstance(op, onnx.GemmOp) else "matmul", product)]
