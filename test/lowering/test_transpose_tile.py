"""The tuned form of a transposed tile, its reference loop and numpy agree, also at the edges of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Attribute

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.moving.transpose_tiles import Matrix, write_transposed
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.emit_python import compile_python
from onnxloom.tools.testing.kernels import call


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (9, 21), (3, 40), (33, 2), (0, 5)])
@pytest.mark.parametrize(
    ("element", "dtype", "lanes"),
    [(f32, np.float32, 4), (f32, np.float32, 16), (f64, np.float64, 8), (i32, np.int32, 8)],
)
def test_tuned_form_and_reference(
    element: Attribute, dtype: Any, lanes: int, rows: int, columns: int
) -> None:
    kernel = KernelBody("transposed", [element], [element], 0)
    source = Matrix(kernel.ins[0], kernel.index(3), kernel.index(columns + 1))
    target = Matrix(kernel.outs[0], kernel.index(1), kernel.index(rows + 2))
    write_transposed(kernel, source, target, kernel.index(rows), kernel.index(columns), lanes)
    op = kernel.end()
    data = np.arange(3 + rows * (columns + 1), dtype=dtype)
    want = np.full(1 + columns * (rows + 2), -1, dtype)
    matrix = data[3:].reshape(rows, columns + 1)[:, :columns]
    want[1:].reshape(columns, rows + 2)[:, :rows] = matrix.T
    tuned, reference = np.full_like(want, -1), np.full_like(want, -1)
    library = compile_kernels([op], cache=None)
    call(library.address("transposed"), data, tuned)
    compile_python(op)(data, reference)
    np.testing.assert_array_equal(tuned, want)
    np.testing.assert_array_equal(reference, want)
