"""Packed layouts hold every element of the source at the place the kernels read it from."""

from __future__ import annotations

import numpy as np
import pytest

from onnxloom.dialects.loom.packing import pack


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
