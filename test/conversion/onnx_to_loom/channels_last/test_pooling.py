"""Pools of channels-last tensors against the reference and the channels-first kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from channels_last_text import ints
from fused_values import Array, assert_same, compiled, lowered_as_one, reference, values
from pool_text import pool_text

from onnxloom.dialects.onnx.text import parse_module

KIND = "onnx.pool_channels_last"


def window(*kernel: int, **lists: Sequence[int]) -> str:
    return ", ".join(
        [ints("kernel_shape", kernel), *(ints(name, entries) for name, entries in lists.items())]
    )


CEIL = "ceil_mode = 1 : si64"
COUNT = "count_include_pad = 1 : si64"
CASES: dict[str, tuple[Sequence[int], Sequence[int], str]] = {
    "stem": ([1, 16, 16, 64], [1, 8, 8, 64], window(3, 3, strides=[2, 2], pads=[1, 1, 1, 1])),
    "vectors that overlap": ([2, 7, 9, 37], [2, 5, 7, 37], window(3, 3)),
    "uneven": ([1, 9, 17, 5], [1, 6, 6, 5], window(3, 2, strides=[2, 3], pads=[2, 0, 2, 1])),
    "gaps": ([1, 9, 8, 16], [1, 7, 5, 16], window(2, 2, dilations=[2, 3])),
    "ceil": ([1, 8, 8, 16], [1, 4, 4, 16], f"{window(3, 3, strides=[2, 2])}, {CEIL}"),
    "larger than the image": ([1, 2, 1, 16], [1, 1, 1, 16], f"{window(3, 2, strides=[2, 3])}, {CEIL}"),
    "same upper": ([1, 8, 7, 16], [1, 4, 4, 16], f'{window(3, 3, strides=[2, 2])}, auto_pad = "SAME_UPPER"'),
    "one dim": ([2, 30, 20], [2, 15, 20], window(5, strides=[2], pads=[2, 2])),
    "three dims": ([1, 4, 5, 6, 9], [1, 3, 2, 3, 9], window(2, 3, 2, strides=[1, 2, 2])),
    "one place": ([1, 7, 7, 40], [1, 1, 1, 40], window(7, 7)),
    "no images": ([0, 8, 8, 16], [0, 6, 6, 16], window(3, 3)),
}


@pytest.mark.parametrize("name", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("case", CASES)
def test_every_window(case: str, name: str) -> None:
    x, y, attributes = CASES[case]
    module, inputs = parse_module(pool_text(x, y, attributes, name=name)), [_numbers(x)]
    assert_same(lowered_as_one(module, KIND, inputs), reference(module, inputs), 2e-6)


def _numbers(shape: Sequence[int]) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("case", ["stem", "uneven", "ceil", "same upper"])
def test_averages_that_count_the_border(case: str) -> None:
    x, y, attributes = CASES[case]
    module = parse_module(pool_text(x, y, f"{attributes}, {COUNT}", name="AveragePool"))
    assert_same(lowered_as_one(module, KIND, [_numbers(x)]), compiled(module, [_numbers(x)]), 2e-6)


@pytest.mark.parametrize("element", ["f32", "f64", "f16", "bf16", "i8", "ui8"])
@pytest.mark.parametrize("name", ["MaxPool", "AveragePool"])
def test_types_and_special_values_are_those_of_the_other_layout(name: str, element: str) -> None:
    if name == "AveragePool" and element in ("i8", "ui8"):
        return
    x, y, attributes = CASES["stem"]
    module = parse_module(pool_text(x, y, attributes, name=name, element=element))
    inputs = [values(x, element)]
    assert_same(
        lowered_as_one(module, KIND, inputs), compiled(module, inputs), 1e-2 if "16" in element else 2e-6
    )


def test_maxima_of_infinities_and_nan_are_exact() -> None:
    x, y, attributes = CASES["stem"]
    data = np.full(x, -np.inf, np.float32)
    data[0, 0, 0, 0], data[0, 5, 5, 1], data[0, 15, 15, 63] = np.nan, 3.0, -0.0
    module = parse_module(pool_text(x, y, attributes))
    assert_same(lowered_as_one(module, KIND, [data]), compiled(module, [data]))


def test_sizes_that_are_not_known() -> None:
    attributes = window(3, 3, strides=[2, 2], pads=[1, 1, 1, 1])
    for name in ("MaxPool", "AveragePool"):
        module = parse_module(pool_text(["?", "?", "?", 20], ["?", "?", "?", 20], attributes, name=name))
        for shape in ([2, 5, 7, 20], [1, 1, 1, 20], [1, 3, 23, 20]):
            inputs = [_numbers(shape)]
            assert_same(lowered_as_one(module, KIND, inputs), reference(module, inputs), 2e-6)
