"""Vectors of the depthwise kernel reach beyond the ends of rows and planes, but read what is there."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import pytest
from channels_last_text import ints
from fused_values import fused
from kernel_interpreter import run_kernel

from onnxloom.conversion.onnx_to_loom.convert import ConvertOnnxToLoomPass
from onnxloom.conversion.onnx_to_loom.convolutions.padded_image import SLACK
from onnxloom.dialects import loom
from onnxloom.dialects.loom.conv_space import Window, conv_space
from onnxloom.dialects.onnx.text import make_context, parse_module

IMAGES, CHANNELS, SIZE = 2, 33, 3
RESULT, WEIGHTS = (IMAGES, CHANNELS, SIZE, SIZE), (CHANNELS, 1, 3, 3)
OPERANDS = [RESULT, (SIZE, SIZE), (1, CHANNELS, SIZE, SIZE), (IMAGES, 1, SIZE, SIZE), (CHANNELS, 1, 1)]

TEXT = """
func.func @f(%x: {result}, %w: {weights}, %r: {operand}) -> {result} {{
  %none = "onnx.NoValue"() {{value}} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) {{{attributes}}} : ({result}, {weights}, none) -> {result}
  %1 = "onnx.Add"(%0, %r) : ({result}, {operand}) -> {result}
  onnx.Return %1 : {result}
}}
"""


def tensor(dims: Sequence[int]) -> str:
    return f"tensor<{''.join(f'{dim}x' for dim in dims)}f32>"


def kernel_of(operand: Sequence[int]) -> loom.KernelOp:
    attributes = f"{ints('pads', [1] * 4)}, group = {CHANNELS} : si64"
    types = {"result": tensor(RESULT), "weights": tensor(WEIGHTS), "operand": tensor(operand)}
    text = TEXT.format(attributes=attributes, **types)
    module = fused(parse_module(text), "onnx.conv_epilogue")
    ConvertOnnxToLoomPass().apply(make_context(), module)
    kernels = [op for op in module.walk() if isinstance(op, loom.KernelOp)]
    (found,) = (kernel for kernel in kernels if kernel.sym_name.data.startswith("depthwise"))
    return found


@pytest.mark.parametrize("operand", OPERANDS, ids=str)
def test_operands_are_not_read_beyond_their_end(operand: tuple[int, ...]) -> None:
    """The interpreter refuses accesses outside of a buffer; tasks hold two planes."""
    rng = np.random.default_rng(0)
    window = Window((3, 3), (1, 1), (1, 1), (1, 1, 1, 1))
    x = rng.standard_normal(RESULT).astype(np.float32)
    weights = rng.standard_normal(WEIGHTS).astype(np.float32)
    added = rng.standard_normal(operand).astype(np.float32)
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    image = np.concatenate([padded.ravel(), np.full(SLACK, np.nan, np.float32)])
    result = np.full(prod(RESULT), np.nan, np.float32)
    sizes = conv_space(RESULT, WEIGHTS, [operand], window, CHANNELS)
    run_kernel(kernel_of(operand), [weights.ravel(), image, added.ravel(), result, *map(np.int64, sizes)])
    taps = [
        padded[:, :, i : i + SIZE, j : j + SIZE] * weights[None, :, 0, i, j, None, None]
        for i in range(3)
        for j in range(3)
    ]
    np.testing.assert_allclose(result.reshape(RESULT), sum(taps) + added, rtol=1e-4, atol=1e-4)
