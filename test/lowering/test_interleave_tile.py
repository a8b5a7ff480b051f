"""The tuned form of rows woven into one, its reference loop and numpy agree, also where a row ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerType, i32, i64

from onnxloom.conversion.onnx_to_loom.moving.interleaving import STRIP, interleave_kernel
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.emit_python import compile_python
from onnxloom.tools.testing.kernels import call


@pytest.mark.parametrize(
    ("word", "dtype", "lanes", "rows"), [(i32, np.int32, 16, 3), (i32, np.int32, 4, 2), (i64, np.int64, 8, 8)]
)
def test_tuned_form_and_reference(word: IntegerType, dtype: Any, lanes: int, rows: int) -> None:
    op = interleave_kernel(word, 1, rows, lanes).end()
    library = compile_kernels([op], cache=None)  # which owns the code
    compiled, interpreted = library.address(op.sym_name.data), compile_python(op)
    for columns in (0, 1, lanes - 1, lanes, lanes + 1, 4 * lanes):
        data = np.arange(2 * rows * (columns + 3), dtype=dtype).reshape(2, rows, columns + 3)
        sizes = [2, columns, rows * (columns + 3), columns + 3]
        want = np.full(2 * columns * rows + 5, -1, dtype)
        want[:-5] = data[:, :, :columns].transpose(0, 2, 1).reshape(-1)
        tuned, reference = np.full_like(want, -1), np.full_like(want, -1)
        call(compiled, data.reshape(-1), tuned, *sizes)
        interpreted(data.reshape(-1), reference, *sizes)
        np.testing.assert_array_equal(tuned, want)
        np.testing.assert_array_equal(reference, want)


def test_rows_longer_than_a_task():
    columns = STRIP + 21
    op = interleave_kernel(i32, 0, 3, 8).end()
    data = np.arange(3 * columns, dtype=np.int32)
    result = np.empty_like(data)
    library = compile_kernels([op], cache=None)
    call(library.address(op.sym_name.data), data, result, columns, columns)
    np.testing.assert_array_equal(result, data.reshape(3, columns).T.reshape(-1))
