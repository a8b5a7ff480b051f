"""Packed layouts hold every element of the source at the place the kernels read it from."""

from __future__ import annotations

import numpy as np
import pytest

from onnxloom.dialects.loom.packing import pack
from onnxloom.errors import OnnxloomError


@pytest.mark.parametrize("n", [1, 7, 8, 9, 24])
@pytest.mark.parametrize("transposed", [0, 1])
def test_gemm_panels_place_and_padding(n: int, transposed: int) -> None:
    k, columns = 5, 8
    matrix = np.arange(1, k * n + 1, dtype=np.float32).reshape(k, n)
    source = matrix.T.copy() if transposed else matrix
    packed = pack("gemm_panels", source, {"columns": columns, "transposed": transposed})
    assert packed.shape == (-(-n // columns), k, columns)
    for row in range(k):
        for column in range(n):
            assert packed[column // columns, row, column % columns] == matrix[row, column]
    assert np.count_nonzero(packed) == matrix.size


def test_gemm_panels_keep_batch_dims() -> None:
    source = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    packed = pack("gemm_panels", source, {"columns": 4})
    np.testing.assert_array_equal(packed[:, 0], source)


def test_leading_dims_can_be_merged() -> None:
    source = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    flat = pack("gemm_panels", source, {"columns": 8, "transposed": 1, "flat": 1})
    np.testing.assert_array_equal(flat[0, :, :6], source.reshape(6, 4).T)


def test_recurrence_weights_are_panels_per_gate() -> None:
    source = np.arange(2 * 12 * 3, dtype=np.float32).reshape(2, 12, 3)
    packed = pack("recurrent_gates", source, {"gates": 4, "columns": 2})
    assert packed.shape == (2, 4, 2, 3, 2)
    gate = source[1, 6:9]  # the third of the second direction
    np.testing.assert_array_equal(packed[1, 2, 0], gate.T[:, :2])
    np.testing.assert_array_equal(packed[1, 2, 1], [[gate[2, k], 0] for k in range(3)])


def test_integer_weights_lose_their_zero_point() -> None:
    source = np.array([[[0, 255], [3, 128]]], np.uint8)
    numbers = pack("integers_as_floats", source, {"zero": 128})
    assert numbers.dtype == np.float32
    np.testing.assert_array_equal(numbers, [[[-128, -125], [127, 0]]])


def test_a_layout_that_does_not_exist_is_named() -> None:
    with pytest.raises(OnnxloomError, match="'nothing'"):
        pack("nothing", np.zeros(3, np.float32), {})


def test_weights_of_a_convolution_go_channel_by_channel() -> None:
    source = np.arange(1, 6 * 2 * 3 * 2 + 1, dtype=np.float32).reshape(6, 2, 3, 2)
    packed = pack("conv_panels", source, {"columns": 2, "group": 2, "zeros": 5})
    panels = packed[:-5].reshape(2, 2, 3, 2, 2, 2)
    np.testing.assert_array_equal(packed[-5:], 0)
    for group in range(2):
        for column in range(4):
            want = source[group * 3 + column] if column < 3 else np.zeros((2, 3, 2), np.float32)
            np.testing.assert_array_equal(
                panels[group, column // 2, ..., column % 2], np.moveaxis(want, 0, -1)
            )
