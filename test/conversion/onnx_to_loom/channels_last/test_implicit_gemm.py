"""Convolutions of channels-last tensors against the reference: windows, groups, sizes, types, operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from channels_last_text import conv_text, ints
from fused_values import Array, assert_same, compiled, fused, lowered_as_one, normal, reference
from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Block

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.channels_last.implicit_gemm import build_implicit_gemm
from onnxloom.conversion.onnx_to_loom.convert import ConvertOnnxToLoomPass
from onnxloom.conversion.onnx_to_loom.convolutions.convolution import Convolution
from onnxloom.conversion.onnx_to_loom.decline import Declined, FusionFallbackWarning
from onnxloom.conversion.onnx_to_loom.kernel_set import KernelSet
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.constant import constant_attr
from onnxloom.dialects.onnx.dtypes import tensor_type_of
from onnxloom.dialects.onnx.text import make_context, parse_module

KIND = "onnx.conv_channels_last"


def feeds(x: Sequence[int], w: Sequence[int], r: Sequence[int], element: str = "f32") -> list[Array]:
    return [normal(x, element), normal(w, element, 1), normal(w[:1], element, 2), normal(r, element, 3)]


def check(text: str, inputs: Sequence[Array], tolerance: float = 2e-5) -> None:
    module = parse_module(text)
    assert_same(lowered_as_one(module, KIND, inputs), reference(module, inputs), tolerance)


def pads(*values: int) -> str:
    return ints("pads", values)


def strides(*values: int) -> str:
    return ints("strides", values)


def gaps(*values: int) -> str:
    return ints("dilations", values)


GROUPS = "group = 2 : si64"
CASES: dict[str, tuple[Sequence[int], Sequence[int], Sequence[int], str]] = {
    "one tap": ([1, 7, 7, 64], [100, 64, 1, 1], [1, 7, 7, 100], ""),
    "one tap, stride": ([2, 9, 9, 12], [50, 12, 1, 1], [2, 5, 5, 50], strides(2, 2)),
    "3x3": ([1, 8, 8, 16], [16, 16, 3, 3], [1, 6, 6, 16], ""),
    "3x3, whole tiles outside": ([1, 7, 7, 20], [33, 20, 5, 5], [1, 7, 7, 33], pads(2, 2, 2, 2)),
    "uneven": ([2, 9, 7, 12], [20, 12, 3, 2], [2, 5, 6, 20], f"{pads(1, 0, 1, 0)}, {strides(2, 1)}"),
    "dilations": ([1, 14, 14, 12], [30, 12, 3, 3], [1, 14, 14, 30], f"{pads(2, 2, 2, 2)}, {gaps(2, 2)}"),
    "groups": ([2, 14, 14, 24], [98, 12, 3, 3], [2, 14, 14, 98], f"{pads(1, 1, 1, 1)}, {GROUPS}"),
    "groups, one tap": ([1, 3, 5, 24], [50, 12, 1, 1], [1, 3, 5, 50], GROUPS),
    "one channel per group": ([1, 5, 5, 4], [8, 1, 3, 3], [1, 3, 3, 8], "group = 4 : si64"),
    "same upper": ([1, 6, 5, 9], [4, 9, 4, 2], [1, 6, 5, 4], 'auto_pad = "SAME_UPPER"'),
    "same lower": ([1, 6, 5, 3], [4, 3, 4, 2], [1, 6, 5, 4], 'auto_pad = "SAME_LOWER"'),
    "few channels": ([2, 9, 9, 3], [70, 3, 3, 3], [2, 5, 5, 70], f"{pads(1, 1, 1, 1)}, {strides(2, 2)}"),
    "few channels, valid": ([1, 9, 9, 3], [7, 3, 3, 3], [1, 7, 7, 7], 'auto_pad = "VALID"'),
    "few channels, gaps": ([1, 9, 9, 3], [7, 3, 3, 3], [1, 5, 5, 7], gaps(2, 2)),
    "few channels, gaps between rows": ([1, 9, 9, 3], [7, 3, 3, 3], [1, 5, 7, 7], gaps(2, 1)),
    "few channels, one dim": ([2, 30, 3], [70, 3, 5], [2, 15, 70], f"{pads(2, 2)}, {strides(2)}"),
    "one dim": ([2, 30, 33], [7, 33, 5], [2, 15, 7], f"{pads(2, 2)}, {strides(2)}"),
    "three dims": ([2, 5, 6, 7, 9], [17, 9, 3, 3, 3], [2, 5, 6, 7, 17], pads(*[1] * 6)),
    "three dims, few channels": ([1, 5, 6, 7, 2], [17, 2, 3, 3, 3], [1, 5, 6, 7, 17], pads(*[1] * 6)),
    "several blocks": ([1, 40, 41, 24], [5, 24, 3, 3], [1, 40, 41, 5], pads(1, 1, 1, 1)),
    "many taps": ([1, 10, 30, 9], [5, 9, 3, 27], [1, 8, 4, 5], ""),
    "no images": ([0, 7, 7, 64], [100, 64, 1, 1], [0, 7, 7, 100], ""),
    "no result channels": ([1, 7, 7, 16], [0, 16, 1, 1], [1, 7, 7, 0], ""),
    "no input channels": ([1, 7, 7, 0], [5, 0, 3, 3], [1, 5, 5, 5], ""),
    "one of each": ([1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], ""),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_window(case: str) -> None:
    x, w, y, attributes = CASES[case]
    check(conv_text(x, w, y, attributes), feeds(x, w, y))


@pytest.mark.parametrize("case", ["uneven", "groups", "few channels"])
def test_tiles_are_results_where_nothing_follows(case: str) -> None:
    x, w, y, attributes = CASES[case]
    check(conv_text(x, w, y, attributes, has_bias=False, has_epilogue=False), feeds(x, w, y))


@pytest.mark.parametrize("case", ["one tap", "groups", "few channels", "three dims, few channels"])
def test_weights_packed_ahead(case: str) -> None:
    x, w, y, attributes = CASES[case]
    inputs = feeds(x, w, y)
    module = parse_module(conv_text(x, w, y, attributes))
    function = next(iter(module.ops))
    block: Any = function.regions[0].block
    constant = onnx.ConstantOp.create(
        properties={"value": constant_attr(inputs[1])}, result_types=[tensor_type_of(inputs[1])]
    )
    block.insert_op_before(constant, block.first_op)
    block.args[1].replace_all_uses_with(constant.results[0])
    expected = reference(module, inputs)
    assert_same(lowered_as_one(module, KIND, inputs), expected, 2e-5)


@pytest.mark.parametrize("element, tolerance", [("f64", 1e-12), ("f16", 2e-2), ("bf16", 2e-1)])
@pytest.mark.parametrize("case", ["groups", "few channels"])
def test_every_type(case: str, element: str, tolerance: float) -> None:
    x, w, y, attributes = CASES[case]
    module, inputs = parse_module(conv_text(x, w, y, attributes, element=element)), feeds(x, w, y, element)
    assert_same(lowered_as_one(module, KIND, inputs), compiled(module, inputs), tolerance)


Dims = Sequence[int | str]
SIZES_UNKNOWN: dict[str, tuple[Dims, Dims, Dims, Dims, list[tuple[int, int]]]] = {
    "points": (["?", "?", "?", 12], [20, 12, 3, 3], ["?", "?", "?", 20], [20], [(2, 5), (1, 9)]),
    "few channels": (["?", "?", "?", 3], [20, 3, 3, 3], ["?", "?", "?", 20], [1, 1, 1, 20], [(2, 5), (1, 9)]),
    "channels": ([2, 5, 7, "?"], ["?", "?", 3, 3], [2, 5, 7, "?"], [2, 5, 7, 1], [(2, 5)]),
}


@pytest.mark.parametrize("case", SIZES_UNKNOWN)
def test_sizes_that_are_not_known(case: str) -> None:
    x, w, y, r, sizes = SIZES_UNKNOWN[case]
    module = parse_module(conv_text(x, w, y, pads(1, 1, 1, 1), residual=r))
    channels = x[-1] if isinstance(x[-1], int) else 12
    for batch, rows in sizes:
        operand = [d if isinstance(d, int) else 20 for d in r]
        inputs = feeds((batch, rows, 7, channels), (20, channels, 3, 3), operand)
        assert_same(lowered_as_one(module, KIND, inputs), reference(module, inputs), 2e-5)


OPERANDS: list[Sequence[int]] = [
    [2, 9, 7, 34], [34], [1, 1, 1, 34], [2, 1, 1, 34], [2, 1, 1, 1], [9, 7, 1], [2, 9, 7, 1], [1], [],
]  # fmt: skip


@pytest.mark.parametrize("operand", OPERANDS, ids=str)
def test_every_operand(operand: Sequence[int]) -> None:
    x, w, y = [2, 9, 7, 12], [34, 12, 3, 3], [2, 9, 7, 34]
    check(conv_text(x, w, y, pads(1, 1, 1, 1), residual=operand), feeds(x, w, operand))


def test_nan_and_infinities_come_through() -> None:
    x, w, y, attributes = CASES["3x3, whole tiles outside"]
    inputs = feeds(x, w, y)
    inputs[0][0, 0, 0, 0], inputs[0][0, 4, 6, 1] = np.nan, np.inf
    inputs[3][0, 2, 2, 2] = -np.inf
    check(conv_text(x, w, y, attributes), inputs)


def test_long_sums_are_made_of_short_ones() -> None:
    """A plain sum of 2304 products has an error of about 2e-6 of the largest value."""
    x, w, y = [1, 7, 7, 256], [32, 256, 3, 3], [1, 7, 7, 32]
    text = conv_text(x, w, y, pads(1, 1, 1, 1), has_epilogue=False)
    inputs = feeds(x, w, y)
    exact = compiled(
        fused(parse_module(text.replace("f32", "f64")), KIND), [array.astype(np.float64) for array in inputs]
    )[0]
    ours = lowered_as_one(parse_module(text), KIND, inputs)[0]
    assert np.abs(ours - exact).max() < 7e-7 * np.abs(exact).max()


def test_a_window_of_very_many_taps_runs_op_by_op() -> None:
    x, w, y = [1, 46, 24, 9], [4, 9, 46, 23], [1, 1, 2, 4]
    module, inputs = fused(parse_module(conv_text(x, w, y)), KIND), feeds(x, w, y)
    with pytest.warns(FusionFallbackWarning, match="a channels-last convolution of 1058 taps has no kernel"):
        actual = compiled(module, inputs)
    assert_same(actual, reference(module, inputs), 2e-5)


def test_other_element_types_have_no_kernel() -> None:
    builder = KernelBuilder(
        Block(arg_types=[TensorType(i32, dims) for dims in ([1, 4, 4, 9], [5, 9, 3, 3])]), KernelSet()
    )
    source, weights = builder.block.args
    window = Window((3, 3), (1, 1), (1, 1), (0,) * 4)
    conv = Convolution(source, weights, window, 1, TensorType(i32, [1, 2, 2, 5]))
    with pytest.raises(Declined, match="a channels-last convolution of i32 has no kernel"):
        build_implicit_gemm(builder, "conv", conv)


def test_kernels_are_shared_by_all_windows() -> None:
    kernels: set[str] = set()
    for case in ("one tap", "3x3", "dilations", "groups"):
        x, w, y, attributes = CASES[case]
        kernels.add(_kernel_of(conv_text(x, w, y, attributes)))
    assert len(kernels) == 1


def _kernel_of(text: str) -> str:
    module = fused(parse_module(text), KIND)
    ConvertOnnxToLoomPass().apply(make_context(), module)
    kernels = [op for op in module.walk() if isinstance(op, loom.KernelOp)]
    (found,) = (op for op in kernels if op.sym_name.data.startswith("conv_channels_last"))
    return str(found).replace(found.sym_name.data, "kernel")
