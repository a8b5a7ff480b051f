"""3x3 convolutions by tiles of results: every size, border and operand; error, switch and choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from channels_last_text import conv_text, ints
from fused_values import Array, assert_same, compiled, fused, lowered_as_one, normal, reference
from xdsl.dialects.builtin import ModuleOp

from onnxloom.conversion.onnx_to_loom.convert import ConvertOnnxToLoomPass
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.loom.packing import pack
from onnxloom.dialects.loom.winograd_filter import FILTER
from onnxloom.dialects.loom.winograd_space import winograd_space
from onnxloom.dialects.onnx.constant import constant_attr
from onnxloom.dialects.onnx.dtypes import tensor_type_of
from onnxloom.dialects.onnx.text import make_context, parse_module

KIND = "onnx.conv_channels_last"
SAME = ints("pads", [1, 1, 1, 1])


def feeds(x: Sequence[int], rows: int, r: Sequence[int]) -> list[Array]:
    weights = normal([rows, x[-1], 3, 3], seed=1) / np.float32(3 * np.sqrt(x[-1]))
    return [normal(x), weights, normal([rows], seed=2), normal(r, seed=3)]


def with_weights(text: str, inputs: Sequence[Array]) -> ModuleOp:
    """The module with its weights as a constant."""
    module = parse_module(text)
    block: Any = next(iter(module.ops)).regions[0].block
    constant = onnx.ConstantOp.create(
        properties={"value": constant_attr(inputs[1])}, result_types=[tensor_type_of(inputs[1])]
    )
    block.insert_op_before(constant, block.first_op)
    block.args[1].replace_all_uses_with(constant.results[0])
    return module


def kernels(module: ModuleOp, winograd: bool = True) -> set[str]:
    """Names of the kernels without their digests."""
    module = fused(module.clone(), KIND)
    ConvertOnnxToLoomPass(winograd=winograd).apply(make_context(), module)
    names = (op.sym_name.data for op in module.walk() if isinstance(op, loom.KernelOp))
    return {name.rpartition("_")[0] for name in names}


def check(x: Sequence[int], rows: int, pads: Sequence[int], operand: Sequence[int] | None = None) -> None:
    y = [x[0], x[1] + pads[0] + pads[2] - 2, x[2] + pads[1] + pads[3] - 2, rows]
    inputs = feeds(x, rows, y if operand is None else operand)
    module = with_weights(conv_text(x, [rows, x[-1], 3, 3], y, ints("pads", pads), residual=operand), inputs)
    assert "winograd_points" in kernels(module)
    expected = reference(module, inputs)
    scale = np.float32(np.abs(expected[0]).max(initial=1))
    ours = lowered_as_one(module, KIND, inputs)
    assert_same([ours[0] / scale], [expected[0] / scale], 1e-5)


SIZES: dict[str, tuple[Sequence[int], int, Sequence[int]]] = {
    "whole tiles": ([1, 16, 16, 16], 16, [1, 1, 1, 1]),
    "no border": ([2, 14, 18, 32], 48, [0, 0, 0, 0]),
    "tiles over the edge": ([1, 15, 13, 17], 33, [1, 1, 1, 1]),
    "more channels than a patch holds": ([1, 13, 16, 130], 20, [1, 1, 1, 1]),
    "uneven border": ([1, 14, 30, 16], 70, [2, 0, 1, 3]),
    "several images": ([5, 9, 5, 16], 16, [1, 1, 1, 1]),
    "more tiles than a block holds": ([1, 40, 41, 24], 100, [1, 1, 1, 1]),
    "image smaller than a patch": ([12, 2, 3, 16], 16, [1, 1, 1, 1]),
}


@pytest.mark.parametrize("case", SIZES)
def test_every_size(case: str) -> None:
    check(*SIZES[case])


@pytest.mark.parametrize("operand", [[34], [2, 1, 1, 34], [2, 16, 15, 1], [16, 1, 34], [1], []], ids=str)
def test_every_operand(operand: Sequence[int]) -> None:
    check([2, 16, 15, 16], 34, [1, 1, 1, 1], operand)


@pytest.mark.parametrize("threads", [1, 3])
def test_sizes_that_are_not_known(threads: int) -> None:
    import onnxloom

    text = conv_text(["?", "?", "?", 16], [20, 16, 3, 3], ["?", "?", "?", 20], SAME, residual=[20])
    inputs = feeds([1, 1, 1, 16], 20, [20])
    module = with_weights(text, inputs)
    model = onnxloom.compile(fused(module.clone(), KIND), opt_level=0, threads=threads)
    for batch, height, width in [(2, 9, 11), (0, 9, 9), (1, 1, 1), (3, 33, 40)]:
        inputs[0] = normal([batch, height, width, 16])
        (ours,) = model.run(dict(zip([i.name for i in model.inputs], inputs, strict=True))).values()
        assert_same([ours], reference(module, inputs), 2e-5)


@pytest.mark.parametrize("channels", [20, 1])
def test_an_operand_whose_channels_are_not_known(channels: int) -> None:
    import onnxloom

    text = conv_text([1, 16, 16, 16], [20, 16, 3, 3], [1, 16, 16, 20], SAME, residual=["?"])
    inputs = feeds([1, 16, 16, 16], 20, [channels])
    module = with_weights(text, inputs)
    assert "winograd_points" in kernels(module)
    model = onnxloom.compile(fused(module.clone(), KIND), opt_level=0)
    (ours,) = model.run(dict(zip([i.name for i in model.inputs], inputs, strict=True))).values()
    assert_same([ours], reference(module, inputs), 2e-5)


def test_error_is_within_one_in_a_hundred_thousand_of_the_range() -> None:
    x = [1, 28, 28, 128]
    text = conv_text(x, [96, 128, 3, 3], [1, 28, 28, 96], SAME, has_epilogue=False)
    inputs = feeds(x, 96, [1, 28, 28, 96])
    wide = [array.astype(np.float64) for array in inputs]
    exact = compiled(fused(parse_module(text.replace("f32", "f64")), KIND), wide)[0]
    ours = lowered_as_one(with_weights(text, inputs), KIND, inputs)[0]
    assert np.abs(ours - exact).max() < 5e-6 * np.abs(exact).max()


def test_the_switch_turns_it_off() -> None:
    x, rows, pads = SIZES["whole tiles"]
    inputs = feeds(x, rows, [1, 16, 16, 16])
    module = with_weights(conv_text(x, [16, 16, 3, 3], [1, 16, 16, 16], ints("pads", pads)), inputs)
    assert "winograd_points" in kernels(module)
    assert "winograd_points" not in kernels(module, winograd=False)


WINDOWS: dict[str, tuple[Sequence[int], Sequence[int], Sequence[int], str]] = {
    "stride": ([1, 32, 32, 16], [16, 16, 3, 3], [1, 16, 16, 16], f"{SAME}, {ints('strides', [2, 2])}"),
    "dilations": ([1, 32, 32, 16], [16, 16, 3, 3], [1, 28, 28, 16], ints("dilations", [2, 2])),
    "5x5": ([1, 32, 32, 16], [16, 16, 5, 5], [1, 28, 28, 16], ""),
    "groups": ([1, 32, 32, 32], [32, 16, 3, 3], [1, 32, 32, 32], f"{SAME}, group = 2 : si64"),
    "few input channels": ([1, 32, 32, 15], [16, 15, 3, 3], [1, 32, 32, 16], SAME),
    "few result channels": ([1, 32, 32, 16], [15, 16, 3, 3], [1, 32, 32, 15], SAME),
    "few tiles": ([1, 8, 20, 16], [16, 16, 3, 3], [1, 8, 20, 16], SAME),
}


@pytest.mark.parametrize("case", WINDOWS)
def test_other_convolutions_are_computed_directly(case: str) -> None:
    x, w, y, attributes = WINDOWS[case]
    inputs = [normal(x), normal(w, seed=1), normal(w[:1], seed=2), normal(y, seed=3)]
    assert "winograd_points" not in kernels(with_weights(conv_text(x, w, y, attributes), inputs))


@pytest.mark.parametrize(("size", "chosen"), [((8, 20), False), ((16, 16), True), (("?", 8), True)])
def test_a_number_of_images_that_is_not_known_counts_as_one(
    size: tuple[int | str, int | str], chosen: bool
) -> None:
    dims = ["?", *size, 16]
    inputs = feeds([1, 1, 1, 16], 16, [1])
    module = with_weights(conv_text(dims, [16, 16, 3, 3], dims, SAME), inputs)
    assert ("winograd_points" in kernels(module)) == chosen


def test_weights_that_are_computed_are_multiplied_directly() -> None:
    text = conv_text([1, 16, 16, 16], [16, 16, 3, 3], [1, 16, 16, 16], SAME)
    assert "winograd_points" not in kernels(parse_module(text))


def test_other_element_types_are_computed_directly() -> None:
    inputs = [normal([16, 16, 3, 3], "f64", seed) for seed in range(2)]
    text = conv_text([1, 16, 16, 16], [16, 16, 3, 3], [1, 16, 16, 16], SAME, element="f64")
    assert "winograd_points" not in kernels(with_weights(text, inputs))


def test_filter_gives_the_sums_of_its_definition() -> None:
    """A row of 4 results from 6 inputs, computed by hand for three weights."""
    points = np.array([0, 0.75, -0.75, 1.5, -1.5])
    weights, row = np.array([0.5, -2.0, 3.0]), np.array([1.0, 4.0, -2.0, 0.5, 7.0, -3.0])
    back = np.array([points**power for power in range(4)])
    back = np.concatenate([back, [[0], [0], [0], [1]]], axis=1)
    polynomials = [np.poly(np.delete(points, i))[::-1] for i in range(5)]
    forward = np.array([*(np.append(p, 0) for p in polynomials), np.poly(points)[::-1]])
    ours = back @ ((FILTER @ weights) * (forward @ row))
    np.testing.assert_allclose(ours, [weights @ row[i : i + 3] for i in range(4)], rtol=1e-12)


def test_panels_hold_the_points_of_each_channel() -> None:
    weights = normal([5, 3, 3, 3])
    packed = pack("winograd_panels", weights, {"columns": 4})
    assert packed.shape == (2, 36, 3, 4) and packed.dtype == np.float32
    expected = FILTER @ weights[4, 2].astype(np.float64) @ FILTER.T
    np.testing.assert_allclose(packed[1, :, 2, 0].reshape(6, 6), expected, rtol=1e-6)
    assert not packed[1, :, :, 1:].any()


def test_space_of_operands_that_do_not_fit() -> None:
    window = Window((3, 3), (1, 1), (1, 1), (1, 1, 1, 1))
    with pytest.raises(ValueError, match="4 channels do not fit weights"):
        winograd_space((1, 8, 8, 4), (6, 5, 3, 3), [], window)
    with pytest.raises(ValueError, match="does not fit the result"):
        winograd_space((1, 8, 8, 4), (6, 4, 3, 3), [(2, 8, 8, 6)], window)
