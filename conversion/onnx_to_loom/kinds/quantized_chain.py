"""How is a quantized chain lowered? As a product of integers; scales and the other ops run on each tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.channels_last.integers import build_integer_channels_last
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import program_values
from onnxloom.conversion.onnx_to_loom.elementwise.epilogues import body_epilogue
from onnxloom.conversion.onnx_to_loom.products.product_loops import Epilogue
from onnxloom.conversion.onnx_to_loom.quantized.dequantized_epilogue import Scaling, scaled_epilogue
from onnxloom.conversion.onnx_to_loom.quantized.integer_products import (
    build_integer_convolution,
    build_integer_product,
)
from onnxloom.conversion.onnx_to_loom.quantized.pair_words import Factor
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx import FusedOp
from onnxloom.dialects.onnx.access import int_attr, is_none
from onnxloom.transforms.fusion.dequantized import dequantized_factors, transposes_around
from onnxloom.transforms.fusion.epilogue import core_in
from onnxloom.transforms.fusion.kinds.quantized_chain import CONVOLUTIONS, QuantizedChainFusion
from onnxloom.transforms.fusion.match import Body, Miss

Program = Mapping[SSAValue, SSAValue]


@dataclass(frozen=True)
class _Parts:
    """What is multiplied, what is added to the sums, and what follows."""

    lhs: Factor
    rhs: Factor
    bias: SSAValue | None
    others: Sequence[SSAValue]
    epilogue: Epilogue | None


class QuantizedChainLowering(FusedOpKindLowering[QuantizedChainFusion]):
    """Lowers `onnx.quantized_chain`."""

    helper = QuantizedChainFusion

    def lower_verified(
        self,
        fused_op: FusedOp,
        helper: QuantizedChainFusion,
        inputs: Sequence[SSAValue],
        builder: KernelBuilder,
    ) -> Sequence[SSAValue]:
        body = helper.retrieve_ops_and_output_values(fused_op)
        program = program_values(fused_op, inputs, builder)
        core = core_in(QuantizedChainFusion, body)
        assert not isinstance(core, Miss), "a verified body has a core"
        product, result_type = core.product, fused_op.results[0].type
        parts = _parts(product, body, program, builder)
        if not isinstance(product, CONVOLUTIONS):
            trans_rhs = isinstance(product, onnx.GemmOp) and bool(int_attr(product, "transB"))
            return [
                build_integer_product(
                    builder,
                    "quantized_product",
                    parts.lhs,
                    parts.rhs,
                    result_type,
                    parts.others,
                    parts.epilogue,
                    parts.bias,
                    trans_rhs,
                )
            ]
        is_first = transposes_around(product) is None
        build = build_integer_convolution if is_first else build_integer_channels_last
        factors = parts.lhs, parts.rhs
        return [
            build(
                builder,
                "quantized_conv",
                product,
                *factors,
                result_type,
                parts.others,
                parts.epilogue,
                parts.bias,
            )
        ]


def _parts(product: Operation, body: Body, program: Program, builder: KernelBuilder) -> _Parts:
    if isinstance(product, onnx.MatMulIntegerOp | onnx.ConvIntegerOp):
        lhs, rhs, lhs_zero, rhs_zero = (program.get(v) for v in product.operands)
        assert lhs is not None and rhs is not None
        others, epilogue = body_epilogue(body, program, builder, None, None)
        return _Parts(Factor(lhs, lhs_zero), Factor(rhs, rhs_zero), None, others, epilogue)
    factors = dequantized_factors(product)
    assert not isinstance(factors, Miss), "a verified product has dequantized factors"
    bias = product.operands[2] if len(product.operands) > 2 and not is_none(product.operands[2]) else None
    scaling = Scaling(
        program[factors.left.x_scale],
        program[factors.right.x_scale],
        None if bias is None or factors.bias is not None else program[bias],
        spatial=_spatial(product),
    )
    core = core_in(QuantizedChainFusion, body)
    assert not isinstance(core, Miss)
    others, epilogue = scaled_epilogue(core, body, program, builder, scaling)
    return _Parts(
        _factor(factors.left, program),
        _factor(factors.right, program),
        None if factors.bias is None else program[factors.bias.x],
        others,
        epilogue,
    )


def _factor(op: onnx.DequantizeLinearOp, program: Program) -> Factor:
    return Factor(program[op.x], program.get(op.x_zero_point))


def _spatial(product: Operation) -> int:
    """How many dims of the result follow that of the columns."""
    if not isinstance(product, onnx.ConvOp) or transposes_around(product) is not None:
        return 0
    return len(product.results[0].type.get_shape()) - 2  # pyright: ignore
