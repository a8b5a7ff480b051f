"""A ConvTranspose whose windows lie side by side, and those whose windows do not."""

from __future__ import annotations

import numpy as np
import pytest
from weight_cases import computing, constant, function, tensor
from xdsl.dialects.builtin import ModuleOp

from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.weights.conv_transpose_to_depth_to_space import (
    ConvTransposeToDepthToSpacePattern,
)
from onnxloom.transforms.rewriting.registry import current_patterns

FEEDS = {"x": np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)}


def model(
    properties: str = "strides = [2, 2]",
    *,
    w: tuple[int, ...] = (3, 4, 2, 2),
    bias: str = "",
    weight: bool = True,
) -> ModuleOp:
    rank = len(w)
    x, y = tensor([2, 3, 4, 5][:rank]), tensor([None] * rank)
    inputs = f"%x: {x}" + ("" if weight else f", %w: {tensor(w)}")
    body = constant("w", w) if weight else ""
    channels = [w[1] * (3 if "group" in properties else 1)]
    if bias == "constant":
        body += constant("b", channels)
    elif bias:
        inputs += f", %b: {tensor(channels)}"
    operand, operand_type = ("%b", tensor(channels)) if bias else ("%none", "none")
    body += (
        f'%y = "onnx.ConvTranspose"(%x, %w, {operand}) <{{{properties}}}> '
        f": ({x}, {tensor(w)}, {operand_type}) -> {y}\n"
    )
    return function(inputs, body, y)


@pytest.mark.parametrize("bias", ["", "constant"])
@pytest.mark.parametrize(
    ("properties", "w"),
    [
        ("strides = [2, 2]", (3, 4, 2, 2)),
        ("strides = [3, 3], pads = [0, 0, 0, 0], dilations = [1, 1]", (3, 1, 3, 3)),
        ('strides = [2, 2], auto_pad = "VALID", output_padding = [0, 0]', (3, 2, 2, 2)),
    ],
)
def test_windows_side_by_side(properties: str, w: tuple[int, ...], bias: str) -> None:
    done = check_pattern(
        model(properties, w=w, bias=bias), ConvTransposeToDepthToSpacePattern, FEEDS, times=1
    )
    assert computing(done) == ["Conv", "DepthToSpace"]


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (model(weight=False), "the weight or the bias is not constant"),
        (model(bias="given"), "the weight or the bias is not constant"),
        (model("strides = [2]", w=(3, 4, 2)), "the window is not square"),
        (model("strides = [2, 3]", w=(3, 4, 2, 3)), "the window is not square"),
        (model("strides = [2, 2]", w=(3, 4, 3, 3)), "the windows overlap or leave gaps"),
        (model("strides = [3, 3]"), "the windows overlap or leave gaps"),
        (model("strides = [2, 1]"), "the windows overlap or leave gaps"),
        (model(""), "the windows overlap or leave gaps"),
        (model("strides = [1, 1]", w=(3, 4, 1, 1)), "the windows overlap or leave gaps"),
        (model("strides = [2, 2], pads = [0, 0, 1, 0]"), "the result is padded"),
        (model('strides = [2, 2], auto_pad = "SAME_UPPER"'), "the result is padded"),
        (model("strides = [2, 2], output_padding = [1, 0]"), "the size of the result is given otherwise"),
        (model("strides = [2, 2], output_shape = [8, 10]"), "the size of the result is given otherwise"),
        (model("strides = [2, 2], group = 3 : si64", w=(3, 1, 2, 2)), "there are groups or dilations"),
        (model("strides = [2, 2], dilations = [2, 2]"), "there are groups or dilations"),
        (model("strides = [2, 2], dilations = [1, 2]"), "there are groups or dilations"),
    ],
)
def test_windows_that_are_not(module: ModuleOp, reason: str) -> None:
    assert reason in decline_reason(module, ConvTransposeToDepthToSpacePattern)


def test_it_runs_only_when_asked_for() -> None:
    name = ConvTransposeToDepthToSpacePattern.name
    assert name not in {pattern.name for pattern in current_patterns().select()}
    assert name in {pattern.name for pattern in current_patterns().select((name,))}
