"""Every reason for which quantization and casts decline, and next to it the form that has a kernel."""

from __future__ import annotations

import pytest
from lowering_reasons import Case, check, op_text, reason_of
from xdsl.dialects.func import FuncOp

from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.quantized.integer_products import check_scales
from onnxloom.dialects.onnx.semantics import scalar_semantics
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import PassError
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.emit_python import compile_python
from onnxloom.tools.testing.kernels import elementwise_kernel


def blocked(
    op: str = "DequantizeLinear",
    x: str = "2x6xi4",
    scale: str = "2x3xf32",
    result: str = "2x6xf32",
    axis: int = 1,
    block: int = 2,
    more: str = "",
) -> Case:
    attributes = f"axis = {axis} : si64, block_size = {block} : si64{more}"
    return (op, [f"tensor<{x}>", f"tensor<{scale}>", "none"], attributes, [f"tensor<{result}>"])


TYPES = "blocked quantization between these element types has no kernel"
HALF = ", precision = 10 : si64"
DOUBLE = ", precision = 11 : si64"
WRONG = ", precision = 6 : si64"

BLOCKED: dict[str, tuple[Case, str | None]] = {
    "fits": (blocked(), None),
    "from the back": (blocked(axis=-1), None),
    "no such axis": (blocked(axis=2), "axis 2 and blocks of 2 do not fit a tensor of rank 2"),
    "negative blocks": (blocked(block=-2), "axis 1 and blocks of -2 do not fit a tensor of rank 2"),
    "scales of another rank": (
        blocked(scale="3xf32"), "the scales of blocks do not have the rank of the data"
    ),
    "powers of two": (blocked(scale="2x3xf8E8M0FNU"), None),
    "powers of two as result": (blocked(scale="2x3xf8E8M0FNU", result="2x6xf8E8M0FNU"), TYPES),
    "integers as scales": (blocked(scale="2x3xi32"), TYPES),
    "integers as result": (blocked(result="2x6xi32"), TYPES),
    "strings": (blocked(x="2x6x!onnx.String"), TYPES),
    "32-bit unsigned": (blocked(x="2x6xui32"), TYPES),
    "32-bit signed": (blocked(x="2x6xi32"), None),
    "to 4 bits": (blocked("QuantizeLinear", "2x6xf32", result="2x6xi4"), None),
    "to 32 bits": (blocked("QuantizeLinear", "2x6xf32", result="2x6xi32"), TYPES),
    "strings quantized": (blocked("QuantizeLinear", "2x6x!onnx.String", result="2x6xi4"), TYPES),
    "in half precision": (blocked("QuantizeLinear", "2x6xf32", result="2x6xi4", more=HALF), None),
    "in double precision": (blocked("QuantizeLinear", "2x6xf32", result="2x6xi4", more=DOUBLE), None),
    "in integers": (blocked("QuantizeLinear", "2x6xf32", result="2x6xi4", more=WRONG), TYPES),
}  # fmt: skip


@check(BLOCKED)
def test_blocked_quantization(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


def _has_semantics(case: Case) -> bool:
    function = next(op for op in parse_module(op_text(*case)).ops if isinstance(op, FuncOp))
    op = next(op for op in function.body.block.ops if op.name == f"onnx.{case[0]}")
    return scalar_semantics(op) is not None


def cast(source: str, target: str, code: int, op: str = "Cast") -> Case:
    return (op, [f"tensor<4x{source}>"], f"to = {code} : si64", [f"tensor<4x{target}>"])


@pytest.mark.parametrize(
    ("case", "covered"),
    [
        (cast("f32", "i4", 22), True),
        (cast("complex<f32>", "f32", 1), False),
        (cast("f32", "complex<f32>", 14), False),
        (cast("complex<f32>", "f64", 11, "BitCast"), True),
        (cast("complex<f64>", "complex<f64>", 15, "BitCast"), True),
        (cast("i1", "ui8", 2, "BitCast"), True),
        (cast("i4", "i8", 3, "BitCast"), False),
        (cast("!onnx.String", "i8", 3, "BitCast"), False),
    ],
)
def test_what_is_converted_in_a_kernel(case: Case, covered: bool) -> None:
    assert _has_semantics(case) == covered


def test_products_take_scales_of_32_bits_or_half_of_them() -> None:
    text = op_text("QLinearMatMul", ["tensor<f16>", "tensor<f64>"], "", ["tensor<f16>"])
    half, double = next(op for op in parse_module(text).ops if isinstance(op, FuncOp)).body.block.args
    check_scales([half], halves=True)
    for scale, halves in ((half, False), (double, True)):
        with pytest.raises(Declined, match="scales of type"):
            check_scales([scale], halves=halves)


def test_a_kernel_says_how_it_rounds_to_a_power_of_two() -> None:
    kernel = elementwise_kernel("k", ["f32"], "f8E8M0FNU", "%r = arith.truncf %a : f32 to f8E8M0FNU")
    with pytest.raises(PassError, match="has no form"):
        compile_kernels([kernel])
    with pytest.raises(PassError, match="has no form"):
        compile_python(kernel)
