"""Every reason why a convolution has no kernel with an epilogue."""

from __future__ import annotations

import pytest
from fusion_reasons import unfit
from ir_graphs import graph

from onnxloom.transforms.fusion.kinds.conv_epilogue import ConvEpilogueFusion


def conv(
    attributes: str = "", *, x: str = "1x3x8x8", w: str = "4x3x3x3", y: str = "1x4x6x6", bias: str = ""
) -> str:
    types = {name: f"tensor<{shape}xf32>" for name, shape in {"x": x, "w": w, "b": bias or "4"}.items()}
    given = f" {{{attributes}}}" if attributes else ""
    return graph(
        f"%y = Conv %x %w {'%b' if bias else '%none'}{given} : tensor<{y}xf32>",
        inputs=[f"%{name} : {type_}" for name, type_ in types.items()],
        results=f"tensor<{y}xf32>",
    )


def test_a_convolution_with_a_kernel() -> None:
    assert unfit(ConvEpilogueFusion, conv(bias="4"), "Conv") is None
    # Pads that do not count may be anything.
    pads = 'auto_pad = "VALID", pads = [-1 : si64, 0 : si64, 0 : si64, 0 : si64]'
    assert unfit(ConvEpilogueFusion, conv(pads), "Conv") is None


DECLINES = {
    "ranks": (conv(w="4x3x3"), "input, weights and result of a convolution differ in rank"),
    "four spatial dims": (
        conv(x="1x3x4x4x4x4", w="4x3x1x1x1x1", y="1x4x4x4x4x4"),
        "a convolution over 4 spatial dims has no kernel",
    ),
    "window": (conv(w="4x3x?x3", y="1x4x?x6"), "the dims of the convolution window are not known"),
    "strides": (conv("strides = [1 : si64]"), "strides of a convolution has 1 entries; expected 2"),
    "dilations": (conv("dilations = [1 : si64]"), "dilations of a convolution has 1 entries; expected 2"),
    "pads": (conv("pads = [0 : si64, 0 : si64]"), "pads of a convolution has 2 entries; expected 4"),
    "negative pads": (
        conv("pads = [-1 : si64, 0 : si64, 0 : si64, 0 : si64]", y="1x4x5x6"),
        "negative pads of a convolution have no kernel",
    ),
    "bias": (conv(bias="4x1"), "the bias of a convolution is no vector"),
}


@pytest.mark.parametrize("case", DECLINES)
def test_why_a_convolution_has_none(case: str) -> None:
    text, reason = DECLINES[case]
    assert unfit(ConvEpilogueFusion, text, "Conv") == reason


def test_another_op_is_none() -> None:
    assert unfit(ConvEpilogueFusion, graph("%y = MatMul %x %x"), "MatMul") == (
        "onnx.MatMul is not a convolution"
    )
