"""Every reason why an op is in no elementwise chain, why a chain ends, and why a body is none."""

from __future__ import annotations

import pytest
from fusion_reasons import checked, detected, stops
from ir_graphs import T, graph

from onnxloom.transforms.fusion.kinds.elementwise import ElementwiseFusion

ALONE = "onnx.Neg alone is not worth a fused op: "
DEEP = "tensor<1x1x1x1x1x1x1x1x4xf32>"
IMAGE = "tensor<2x4x4x4xf32>"


def chain(length: int) -> str:
    """A chain of Neg from %x."""
    return graph(
        *(f"%v{i} = Neg %{'x' if i == 0 else f'v{i - 1}'}" for i in range(length)), returns=f"%v{length - 1}"
    )


DETECTION = {
    "another chain takes it in": (
        graph("%n = Neg %x", "%y = Exp %n"),
        "Exp",
        "belongs to the chain that starts with onnx.Neg",
    ),
    "operand of unknown rank": (
        graph("%y = Neg %x : tensor<4xf32>", inputs=("%x : tensor<*xf32>",), results="tensor<4xf32>"),
        "Neg",
        "the rank of an operand of onnx.Neg is not known",
    ),
    "result of unknown rank": (
        graph("%y = Neg %x : tensor<*xf32>", results="tensor<*xf32>"),
        "Neg",
        "the rank of the result of onnx.Neg is not known",
    ),
    "too many dims": (
        graph("%y = Neg %x : " + DEEP, inputs=(f"%x : {DEEP}",), results=DEEP),
        "Neg",
        "the result of onnx.Neg has rank 9, above 8",
    ),
    "known before kernels run": (
        graph(
            "%s = Shape %x : tensor<2xi64>",
            "%a = Add %s %s : tensor<2xi64>",
            "%y = Mul %a %a : tensor<2xi64>",
            results="tensor<2xi64>",
        ),
        "Add",
        "onnx.Add computes from shapes and constants alone, before any kernel runs",
    ),
    "another shape": (
        graph("%n = Neg %x : tensor<4xf32>", "%y = Add %n %z", inputs=("%x : tensor<4xf32>", f"%z : {T}")),
        "Neg",
        f"{ALONE}the result of onnx.Add is not proven to have the shape of the loop",
    ),
    "a late producer that is not elementwise": (
        graph("%n = Neg %x", "%s = Softmax %n", "%y = Add %n %s"),
        "Neg",
        f"{ALONE}onnx.Softmax is not elementwise",
    ),
    "nothing reads it": (graph("%n = Neg %x", "%y = Softmax %x"), "Neg", "no legal chain"),
    "two axes": (
        graph(
            f"%b = BatchNormalization %x %s %s %s %s : {IMAGE}",
            f"%y = Mul %b %s : {IMAGE}",
            inputs=(f"%x : {IMAGE}", "%s : tensor<4xf32>"),
            results=IMAGE,
        ),
        "BatchNormalization",
        "onnx.Mul reads a value along another axis than an op before it",
    ),
    "recomputes more than it saves": (
        graph(
            "%n = Neg %s : tensor<1024x1xf32>",
            "%y = Mul %x %n : tensor<1024x4xf32>",
            inputs=("%x : tensor<1024x4xf32>", "%s : tensor<1024x1xf32>"),
            results="tensor<1024x4xf32>",
        ),
        "Mul",
        "not worth it: saves 1 launch and 8192 bytes of traffic, recomputes 3072 scalars",
    ),
}


@pytest.mark.parametrize("case", DETECTION)
def test_why_there_is_no_chain(case: str) -> None:
    text, anchor, reason = DETECTION[case]
    assert detected(ElementwiseFusion, text, anchor) == reason


def test_a_chain_ends_at_the_largest_number_of_ops() -> None:
    assert detected(ElementwiseFusion, chain(65), "Neg") == 64
    assert stops(ElementwiseFusion, chain(65), "Neg") == ["the chain has 64 ops already"]


def test_a_chain_ends_at_the_largest_number_of_inputs() -> None:
    lines = [f"%v{i + 1} = Add %{'x' if i == 0 else f'v{i}'} %i{i}" for i in range(17)]
    inputs = [f"%x : {T}", *(f"%i{i} : {T}" for i in range(17))]
    text = graph(*lines, inputs=inputs, returns="%v17")
    assert detected(ElementwiseFusion, text, "Add") == 15
    assert stops(ElementwiseFusion, text, "Add") == ["onnx.Add would give the kernel more than 16 inputs"]


def test_a_late_producer_that_has_no_scalars_ends_the_chain() -> None:
    text = graph("%n = Neg %x", "%e = Exp %n", "%s = Softmax %n", "%y = Add %e %s")
    assert stops(ElementwiseFusion, text, "Neg") == [
        "onnx.Softmax is not elementwise",
        "onnx.Softmax comes after a value of the chain has been read outside",
    ]


def test_a_late_producer_that_is_read_elsewhere_ends_the_chain() -> None:
    lines = ("%n = Neg %x", "%e = Exp %n", "%s = Softmax %n", "%a = Abs %x", "%y = Add %e %a")
    text = graph(*lines, returns="%y %s %a", results=f"{T}, {T}, {T}")
    assert stops(ElementwiseFusion, text, "Neg") == [
        "onnx.Softmax is not elementwise",
        "onnx.Abs comes after a value of the chain has been read outside and is itself read elsewhere",
    ]


TWO = graph("%n = Neg %x", "%y = Exp %n")


def test_a_body_that_fits() -> None:
    assert checked(ElementwiseFusion(2, 2), TWO) is None


BODIES = {
    "another number of ops": (ElementwiseFusion(2, 3), TWO, "the body has 2 ops; expected 3"),
    "an op without scalars": (
        ElementwiseFusion(2, 1),
        graph("%y = Softmax %x"),
        "onnx.Softmax of this form is not elementwise",
    ),
    "unknown rank": (
        ElementwiseFusion(1, 1),
        graph("%y = Neg %x : tensor<4xf32>", inputs=("%x : tensor<*xf32>",), results="tensor<4xf32>"),
        "the rank of an operand of onnx.Neg is not known",
    ),
    "two axes": (
        ElementwiseFusion(4, 2),
        DETECTION["two axes"][0],
        "onnx.Mul reads a value along another axis than an op before it",
    ),
    "another rank": (ElementwiseFusion(3, 2), TWO, f"a result has type {T}; expected rank 3"),
    "a result of unknown rank": (
        ElementwiseFusion(2, 1),
        graph("%y = Neg %x : tensor<*xf32>", results="tensor<*xf32>"),
        "a result has type tensor<*xf32>; expected rank 2",
    ),
    "too many dims": (
        ElementwiseFusion(9, 1),
        DETECTION["too many dims"][0],
        "a loop of rank 9 is above 8",
    ),
}


@pytest.mark.parametrize("case", BODIES)
def test_why_a_body_is_none(case: str) -> None:
    helper, text, reason = BODIES[case]
    assert checked(helper, text) == reason
