"""Every reason why an op joins no epilogue, why an epilogue ends, and why a body is none."""

from __future__ import annotations

import pytest
from fusion_reasons import checked, detected, stops
from ir_graphs import graph

from onnxloom.transforms.fusion.epilogue import EpilogueFusion
from onnxloom.transforms.fusion.kinds.conv_epilogue import ConvEpilogueFusion
from onnxloom.transforms.fusion.kinds.matmul_epilogue import MatMulEpilogueFusion

P = "tensor<4x8xf32>"
X, W = f"%x : {P}", "%w : tensor<8x8xf32>"
PRODUCT = f"%p = MatMul %x %w : {P}"
NEG = f"%y = Neg %p : {P}"
ROW = "tensor<2x4x1x4xf32>"


def product_of(x: str, w: str, p: str) -> str:
    """A product of other types, and a Neg of it."""
    return graph(
        f"%p = MatMul %x %w : {p}", f"%y = Neg %p : {p}", inputs=(f"%x : {x}", f"%w : {w}"), results=p
    )


def long_chain(length: int) -> str:
    lines = [f"%v{i} = Neg %{'p' if i == 0 else f'v{i - 1}'} : {P}" for i in range(length)]
    return graph(PRODUCT, *lines, inputs=(X, W), returns=f"%v{length - 1}", results=P)


CONV_ROW = graph(
    f"%p = Conv %x %w %b : {ROW}",
    f"%y = Mul %p %b : {ROW}",
    inputs=("%x : tensor<2x3x1x4xf32>", "%w : tensor<4x3x1x1xf32>", "%b : tensor<4xf32>"),
    results=ROW,
)
"""The bias lies along the channels, the Mul reads it along the columns."""

VECTOR_ALONG_ROWS = graph(
    PRODUCT,
    f"%y = BatchNormalization %p %s %s %s %s : {P}",
    inputs=(X, W, "%s : tensor<8xf32>"),
    results=P,
)

BIG = "tensor<2x4x6x6xf32>"
PART_OF_POINTS = graph(
    f"%p = Conv %x %w %none : {BIG}",
    f"%y = Mul %p %s : {BIG}",
    inputs=("%x : tensor<2x3x6x6xf32>", "%w : tensor<4x3x1x1xf32>", "%s : tensor<6xf32>"),
    results=BIG,
)

OPEN = "tensor<1x4x?x4xf32>"
STRIDED = "{strides = [2 : si64, 2 : si64]}"
POOLED = STRIDED.replace("{", "{kernel_shape = [1 : si64, 1 : si64], ")

MATMUL, CONV = MatMulEpilogueFusion, ConvEpilogueFusion

DETECTION: dict[str, tuple[type[EpilogueFusion], str, str]] = {
    "nothing reads it": (
        MATMUL,
        graph(PRODUCT, f"%y = Neg %x : {P}", inputs=(X, W), results=P),
        "nothing reads the product",
    ),
    "an operand of unknown rank": (
        MATMUL,
        graph(PRODUCT, f"%y = Add %p %u : {P}", inputs=(X, W, "%u : tensor<*xf32>"), results=P),
        "the rank of an operand of onnx.Add is not known",
    ),
    "not elementwise": (
        MATMUL,
        graph(PRODUCT, f"%y = Softmax %p : {P}", inputs=(X, W), results=P),
        "onnx.Softmax is not elementwise",
    ),
    "an operand along some points": (
        CONV,
        PART_OF_POINTS,
        "onnx.Mul reads an operand that broadcasts along some spatial dims only",
    ),
    "another shape": (
        MATMUL,
        graph(
            PRODUCT,
            "%y = Add %p %r : tensor<2x4x8xf32>",
            inputs=(X, W, "%r : tensor<2x4x8xf32>"),
            results="tensor<2x4x8xf32>",
        ),
        "the result of onnx.Add is not proven to have the shape of the product",
    ),
    "a later product takes it": (
        MATMUL,
        graph(PRODUCT, f"%q = Gemm %x %w %none : {P}", f"%y = Add %p %q : {P}", inputs=(X, W), results=P),
        "onnx.Gemm, which comes later, may take onnx.Add into its own epilogue",
    ),
    "two axes": (CONV, CONV_ROW, "onnx.Mul reads a value along another axis than an op before it"),
    "a dim that no input has": (
        CONV,
        graph(
            f"%p = Conv %x %w %none {STRIDED} : {OPEN}",
            f"%q = MaxPool %x {POOLED} : {OPEN}",
            f"%y = Add %p %q : {OPEN}",
            inputs=("%x : tensor<1x4x?x8xf32>", "%w : tensor<4x4x1x1xf32>"),
            results=OPEN,
        ),
        "that an operand is not larger than the product depends on a dim no input has",
    ),
}


@pytest.mark.parametrize("case", DETECTION)
def test_why_there_is_no_epilogue(case: str) -> None:
    kind, text, reason = DETECTION[case]
    assert detected(kind, text, kind.anchors[0].name.removeprefix("onnx.")) == reason


def test_an_input_made_too_late_ends_the_epilogue() -> None:
    lines = (PRODUCT, f"%n = Neg %p : {P}", f"%s = Softmax %n : {P}", f"%y = Add %n %s : {P}")
    assert stops(MATMUL, graph(*lines, f"%z = Softmax %y : {P}", inputs=(X, W), results=P), "MatMul") == [
        "onnx.Softmax is not elementwise",
        "an input of onnx.Add is made after the chain has been read outside",
    ]


def test_an_epilogue_ends_at_the_largest_number_of_ops() -> None:
    assert detected(MATMUL, long_chain(40), "MatMul") == 32
    assert stops(MATMUL, long_chain(40), "MatMul") == ["the chain has 32 ops already"]


def test_an_epilogue_ends_at_the_largest_number_of_inputs() -> None:
    lines = [f"%v{i} = Add %{'p' if i == 0 else f'v{i - 1}'} %i{i} : {P}" for i in range(12)]
    inputs = [X, W, *(f"%i{i} : {P}" for i in range(12))]
    text = graph(PRODUCT, *lines, inputs=inputs, returns="%v11", results=P)
    assert detected(MATMUL, text, "MatMul") == 11
    assert stops(MATMUL, text, "MatMul") == ["onnx.Add would give the kernel more than 12 inputs"]


FITS = graph(PRODUCT, NEG, inputs=(X, W), results=P)


def test_a_body_that_fits() -> None:
    assert checked(MATMUL(2), FITS) is None


BODIES: dict[str, tuple[EpilogueFusion, str, str]] = {
    "another number of ops": (MATMUL(3), FITS, "the body has 2 ops; expected 3"),
    "two results": (
        MATMUL(2),
        graph(PRODUCT, NEG, inputs=(X, W), returns="%p %y", results=f"{P}, {P}"),
        "the body yields 2 values; expected one",
    ),
    "the product reads its epilogue": (
        MATMUL(2),
        FITS.replace("(%x, %w)", "(%y, %w)"),
        "onnx.MatMul reads a value of its own epilogue",
    ),
    "two axes": (CONV(2), CONV_ROW, "onnx.Mul reads a value along another axis than an op before it"),
    "factors of unknown rank": (
        MATMUL(2),
        product_of("tensor<*xf32>", "tensor<8x8xf32>", P),
        "onnx.MatMul of a tensor of unknown rank",
    ),
    "a vector": (
        MATMUL(2),
        product_of("tensor<8xf32>", "tensor<8x8xf32>", "tensor<8xf32>"),
        "onnx.MatMul of a tensor of rank 1",
    ),
    "integers": (
        MATMUL(2),
        product_of("tensor<4x8xi32>", "tensor<8x8xi32>", "tensor<4x8xi32>"),
        "onnx.MatMul of element type i32 has no tile kernel",
    ),
    "factors of two types": (
        MATMUL(2),
        product_of("tensor<4x8xf32>", "tensor<8x8xf16>", "tensor<4x8xf32>"),
        "onnx.MatMul of element types f32 and f16",
    ),
    "a product of unknown rank": (
        MATMUL(2),
        product_of("tensor<4x8xf32>", "tensor<8x8xf32>", "tensor<*xf32>"),
        "the rank of the result of onnx.MatMul is not known",
    ),
    "an operand of unknown rank": (
        MATMUL(2),
        DETECTION["an operand of unknown rank"][1],
        "the rank of an operand of onnx.Add is not known",
    ),
    "an operand along some points": (CONV(2), PART_OF_POINTS, DETECTION["an operand along some points"][2]),
    "a vector along rows": (
        MATMUL(2),
        graph(
            "%p = MatMul %x %w : tensor<2x4x8xf32>",
            "%y = BatchNormalization %p %s %s %s %s : tensor<2x4x8xf32>",
            inputs=("%x : tensor<2x4x8xf32>", W, "%s : tensor<4xf32>"),
            results="tensor<2x4x8xf32>",
        ),
        "onnx.BatchNormalization reads a vector along an axis that is not the last",
    ),
}


@pytest.mark.parametrize("case", BODIES)
def test_why_a_body_is_none(case: str) -> None:
    helper, text, reason = BODIES[case]
    assert checked(helper, text) == reason
