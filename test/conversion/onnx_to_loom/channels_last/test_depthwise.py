"""Depthwise convolutions of channels-last tensors against the reference: windows, sizes, types, operands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from channels_last_text import conv_text, ints
from fused_values import Array, assert_same, compiled, fused, lowered_as_one, normal, reference
from xdsl.dialects.builtin import DYNAMIC_INDEX

from onnxloom.conversion.onnx_to_loom.channels_last.tile_shapes import WindowSizes, tile_shape
from onnxloom.conversion.onnx_to_loom.convert import ConvertOnnxToLoomPass
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.loom.target import Target
from onnxloom.dialects.onnx.constant import constant_attr
from onnxloom.dialects.onnx.dtypes import tensor_type_of
from onnxloom.dialects.onnx.text import make_context, parse_module
from onnxloom.errors import OnnxloomError
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.emit_llvm import assembly
from onnxloom.lowering.emit_python import emit_python

KIND = "onnx.conv_channels_last"


def feeds(x: Sequence[int], w: Sequence[int], r: Sequence[int], element: str = "f32") -> list[Array]:
    return [normal(x, element), normal(w, element, 1), normal(w[:1], element, 2), normal(r, element, 3)]


def check(text: str, inputs: Sequence[Array], tolerance: float = 2e-5) -> None:
    module = parse_module(text)
    assert _depthwise_kernels(module)
    assert_same(lowered_as_one(module, KIND, inputs), reference(module, inputs), tolerance)


def _depthwise_kernels(module: Any) -> list[loom.KernelOp]:
    """The kernels that read weights tap by tap: `lanes` loops and no product tile."""
    copy = fused(module, KIND)
    ConvertOnnxToLoomPass().apply(make_context(), copy)
    kernels = [op for op in copy.walk() if isinstance(op, loom.KernelOp)]
    return [
        k
        for k in kernels
        if any("loom.lanes" in op.attributes for op in k.walk()) and "conv" in k.sym_name.data
    ]


def group(count: int) -> str:
    return f"group = {count} : si64"


def pads(*values: int) -> str:
    return ints("pads", values)


def strides(*values: int) -> str:
    return ints("strides", values)


def gaps(*values: int) -> str:
    return ints("dilations", values)


SAME = pads(1, 1, 1, 1)
CASES: dict[str, tuple[Sequence[int], Sequence[int], Sequence[int], str]] = {
    "one tile per line": ([1, 7, 7, 32], [32, 1, 3, 3], [1, 7, 7, 32], f"{group(32)}, {SAME}"),
    "tiles inside and beside": ([2, 10, 28, 16], [16, 1, 3, 3], [2, 10, 28, 16], f"{group(16)}, {SAME}"),
    "a tile beyond the end": ([1, 5, 17, 16], [16, 1, 3, 3], [1, 5, 17, 16], f"{group(16)}, {SAME}"),
    "a line of one place": ([1, 5, 1, 16], [16, 1, 3, 3], [1, 5, 1, 16], f"{group(16)}, {SAME}"),
    "stride": ([2, 9, 15, 24], [24, 1, 3, 3], [2, 5, 8, 24], f"{group(24)}, {SAME}, {strides(2, 2)}"),
    "strides that differ": (
        [1, 9, 15, 24], [24, 1, 3, 3], [1, 9, 5, 24], f"{group(24)}, {SAME}, {strides(1, 3)}",
    ),
    "vectors that overlap": ([1, 6, 9, 37], [37, 1, 3, 3], [1, 6, 9, 37], f"{group(37)}, {SAME}"),
    "many vectors": ([1, 3, 4, 200], [200, 1, 3, 3], [1, 3, 4, 200], f"{group(200)}, {SAME}"),
    "few channels": ([1, 6, 9, 3], [3, 1, 3, 3], [1, 6, 9, 3], f"{group(3)}, {SAME}"),
    "wide tiles": ([1, 8, 30, 16], [16, 1, 5, 5], [1, 8, 30, 16], f"{group(16)}, {pads(2, 2, 2, 2)}"),
    "7x7": ([1, 9, 9, 16], [16, 1, 7, 7], [1, 9, 9, 16], f"{group(16)}, {pads(3, 3, 3, 3)}"),
    "uneven": ([1, 8, 9, 16], [16, 1, 2, 4], [1, 9, 8, 16], f"{group(16)}, {pads(1, 0, 1, 2)}"),
    "no border": ([1, 8, 20, 16], [16, 1, 3, 3], [1, 6, 18, 16], group(16)),
    "gaps": ([1, 9, 20, 16], [16, 1, 3, 3], [1, 9, 20, 16], f"{group(16)}, {pads(2, 3, 2, 3)}, {gaps(2, 3)}"),
    "gaps and stride": (
        [1, 9, 20, 16], [16, 1, 3, 3], [1, 5, 10, 16],
        f"{group(16)}, {pads(2, 2, 2, 2)}, {gaps(2, 2)}, {strides(2, 2)}",
    ),
    "a window larger than the image": (
        [1, 2, 2, 16], [16, 1, 5, 5], [1, 2, 2, 16], f"{group(16)}, {pads(2, 2, 2, 2)}",
    ),
    "places that see only the border": (
        [1, 2, 2, 16], [16, 1, 1, 1], [1, 6, 6, 16], f"{group(16)}, {pads(2, 2, 2, 2)}",
    ),
    "multiplier 2": ([1, 6, 7, 24], [48, 1, 3, 3], [1, 6, 7, 48], f"{group(24)}, {SAME}"),
    "multiplier 3": ([1, 6, 7, 10], [30, 1, 3, 3], [1, 6, 7, 30], f"{group(10)}, {SAME}"),
    "multiplier of whole vectors": ([1, 6, 7, 2], [128, 1, 3, 3], [1, 6, 7, 128], f"{group(2)}, {SAME}"),
    "same upper": (
        [1, 6, 9, 16], [16, 1, 4, 2], [1, 3, 5, 16],
        f'{group(16)}, auto_pad = "SAME_UPPER", {strides(2, 2)}',
    ),
    "same lower": ([1, 6, 9, 16], [16, 1, 4, 2], [1, 6, 9, 16], f'{group(16)}, auto_pad = "SAME_LOWER"'),
    "one dim": ([2, 30, 20], [20, 1, 5], [2, 15, 20], f"{group(20)}, {pads(2, 2)}, {strides(2)}"),
    "three dims": (
        [2, 4, 3, 5, 9], [9, 1, 3, 2, 3], [2, 4, 2, 5, 9], f"{group(9)}, {pads(1, 0, 1, 1, 0, 1)}",
    ),
    "no images": ([0, 7, 7, 32], [32, 1, 3, 3], [0, 7, 7, 32], f"{group(32)}, {SAME}"),
    "no rows": ([1, 0, 4, 16], [16, 1, 3, 3], [1, 1, 4, 16], f"{group(16)}, {pads(1, 1, 2, 1)}"),
    "no columns": ([1, 4, 0, 16], [16, 1, 3, 3], [1, 4, 1, 16], f"{group(16)}, {pads(1, 2, 1, 1)}"),
    "no columns, one dim": ([1, 0, 16], [16, 1, 2], [1, 2, 16], f"{group(16)}, {pads(1, 2)}"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_window(case: str) -> None:
    x, w, y, attributes = CASES[case]
    check(conv_text(x, w, y, attributes), feeds(x, w, y))


@pytest.mark.parametrize("case", ["stride", "multiplier 2"])
def test_sums_alone(case: str) -> None:
    x, w, y, attributes = CASES[case]
    check(conv_text(x, w, y, attributes, has_bias=False, has_epilogue=False), feeds(x, w, y))


@pytest.mark.parametrize("element, tolerance", [("f32", 2e-5), ("f16", 2e-2)])
@pytest.mark.parametrize("case", ["one tile per line", "multiplier 3", "three dims"])
def test_weights_arranged_ahead(case: str, element: str, tolerance: float) -> None:
    x, w, y, attributes = CASES[case]
    inputs = feeds(x, w, y, element)
    module = parse_module(conv_text(x, w, y, attributes, element=element))
    _make_constant(module, inputs[1])
    expected = compiled(module, inputs)
    assert_same(lowered_as_one(module, KIND, inputs), expected, tolerance)
    copy = fused(module, KIND)
    ConvertOnnxToLoomPass().apply(make_context(), copy)
    assert any(isinstance(op, loom.PackOp) and op.layout.data == "transposed_rows" for op in copy.walk())


def _make_constant(module: Any, array: Array) -> None:
    """The second argument as a constant."""
    block: Any = next(iter(module.ops)).regions[0].block
    constant = onnx.ConstantOp.create(
        properties={"value": constant_attr(array)}, result_types=[tensor_type_of(array)]
    )
    block.insert_op_before(constant, block.first_op)
    block.args[1].replace_all_uses_with(constant.results[0])


@pytest.mark.parametrize("element, tolerance", [("f64", 1e-12), ("f16", 2e-2), ("bf16", 2e-1)])
@pytest.mark.parametrize("case", ["tiles inside and beside", "vectors that overlap", "multiplier 2"])
def test_every_type(case: str, element: str, tolerance: float) -> None:
    x, w, y, attributes = CASES[case]
    module, inputs = parse_module(conv_text(x, w, y, attributes, element=element)), feeds(x, w, y, element)
    assert_same(lowered_as_one(module, KIND, inputs), compiled(module, inputs), tolerance)


@pytest.mark.parametrize("residual", [[20], [1, 1, 1, 20], ["?", "?", "?", 20], [1, 1, 1, "?"]], ids=str)
def test_sizes_that_are_not_known(residual: Sequence[int | str]) -> None:
    text = conv_text(
        ["?", "?", "?", 20], [20, 1, 3, 3], ["?", "?", "?", 20], f"{group(20)}, {SAME}", residual=residual
    )
    module = parse_module(text)
    for batch, rows, columns in ((2, 5, 7), (1, 1, 1), (1, 3, 23)):
        full = [batch, rows, columns, 20]
        r = [20 if len(residual) == 1 else full[i] if d == "?" else d for i, d in enumerate(residual)]
        inputs = feeds((batch, rows, columns, 20), (20, 1, 3, 3), [int(d) for d in r])
        assert_same(lowered_as_one(module, KIND, inputs), reference(module, inputs), 2e-5)


OPERANDS: list[Sequence[int]] = [
    [2, 9, 7, 34], [34], [2, 1, 1, 34], [2, 1, 1, 1], [9, 7, 1], [],
]  # fmt: skip


@pytest.mark.parametrize("operand", OPERANDS, ids=str)
def test_every_operand(operand: Sequence[int]) -> None:
    x, w, y = [2, 9, 7, 34], [34, 1, 3, 3], [2, 9, 7, 34]
    check(conv_text(x, w, y, f"{group(34)}, {SAME}", residual=operand), feeds(x, w, operand))


def test_nan_and_infinities_come_through() -> None:
    x, w, y, attributes = CASES["tiles inside and beside"]
    inputs = feeds(x, w, y)
    inputs[0][0, 0, 0, 0], inputs[0][0, 4, 6, 1], inputs[0][1, 9, 27, 15] = np.nan, np.inf, -np.inf
    inputs[3][0, 2, 2, 2] = -np.inf
    check(conv_text(x, w, y, attributes), inputs)


def test_groups_that_do_not_fit_the_input_are_an_error_not_a_crash() -> None:
    text = conv_text(["?", "?", "?", "?"], [16, 1, 3, 3], ["?", "?", "?", 16], group(16), has_epilogue=False)
    module = fused(parse_module(text), KIND)
    with pytest.raises(OnnxloomError):
        compiled(module, feeds((1, 5, 5, 8), (16, 1, 3, 3), (1, 3, 3, 16)))


def test_a_line_of_places_shares_columns_and_keeps_sums_in_registers() -> None:
    x, w, y, attributes = CASES["tiles inside and beside"]
    module = parse_module(conv_text(x, w, y, attributes, has_bias=False, has_epilogue=False))
    _make_constant(module, normal(w))
    (kernel,) = _depthwise_kernels(module)
    text = assembly([kernel], CpuTarget("x86_64-unknown-linux-gnu", "x86-64-v4", "-prefer-256-bit"))
    # Of 7 places and one row of 3 taps; once for tiles inside, once for tiles that are checked.
    assert len(re.findall(r"vfmadd\d+ps.*[yz]mm", text)) == 2 * 7 * 3
    assert not re.search(r"[yz]mm\d+, .*rsp", text)


@pytest.mark.parametrize("case", ["no columns", "no columns, one dim", "no rows"])
def test_nothing_is_read_of_an_empty_image(case: str) -> None:
    x, w, y, attributes = CASES[case]
    (kernel,) = _depthwise_kernels(
        parse_module(conv_text(x, w, y, attributes, has_bias=False, has_epilogue=False))
    )
    inputs, out = feeds(x, w, y), np.full(y, np.nan, np.float32)
    sizes = [*x[:1], *x[1:-1], x[-1], *y[1:-1], *[1] * (2 * len(x[1:-1]))]
    scope: dict[str, Any] = {}
    exec(emit_python([kernel]), scope)
    run = scope[kernel.sym_name.data].py_func
    run(np.empty(0, np.float32), inputs[1].ravel(), out.reshape(-1), *sizes)
    assert (out == 0).all()


def _tiles(places: int, kernel: int = 3, registers: int = 32) -> tuple[int, set[int] | None, bool]:
    window = Window((kernel, kernel), (1, 1), (1, 1), (kernel // 2,) * 4)
    known = None if places == DYNAMIC_INDEX else (places, places, kernel // 2)
    none: Any = None
    sizes = WindowSizes(none, [], none, [], [], [], known)
    element: Any = tensor_type_of(np.zeros(1, np.float32)).element_type
    shape = tile_shape(window, sizes, 64, 1, element, Target(64, registers))
    return shape.width, None if shape.beside is None else set(shape.beside), shape.full


def test_tiles_fit_the_line() -> None:
    assert _tiles(56) == (7, {0, 8}, True)
    assert _tiles(16) == (8, {0, 9}, True)
    assert _tiles(5) == (5, {0, 6}, True)
    assert _tiles(1) == (1, {0, 2}, True)
    assert _tiles(17)[0] * 3 == 18 and not _tiles(17)[2]
    assert _tiles(DYNAMIC_INDEX) == (4, None, False)


def test_many_taps_take_wide_tiles_where_registers_do() -> None:
    assert _tiles(28, 5)[0] == 14
    assert _tiles(28, 5, 16)[0] == 7
    assert _tiles(28, 3)[0] == 7
