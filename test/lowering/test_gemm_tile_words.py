"""Register tiles of words of integers: the tuned form, its reference loops and exact numpy agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import i32

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.products.product_loops import gemm_tile_op
from onnxloom.dialects.loom.target import GemmTile
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.emit_python import compile_python
from onnxloom.tools.testing.kernels import call

ROWS, DEPTH, COLUMNS = 3, 5, 16


def parts_of(words: npt.NDArray[np.int32], parts: int, signed: bool) -> npt.NDArray[np.int64]:
    """`[..., words]` as `[..., words * parts]`."""
    kind: Any = {(2, True): np.int16, (4, True): np.int8, (4, False): np.uint8}[parts, signed]
    return np.ascontiguousarray(words).view(kind).astype(np.int64)


@pytest.mark.parametrize(("parts", "signed_left"), [(2, False), (4, False), (4, True)])
def test_tuned_form_and_reference(parts: int, signed_left: bool) -> None:
    kernel = KernelBody("tile", [i32, i32], [i32], 0)
    k = kernel
    sizes = [0, DEPTH, 1, 0, COLUMNS, 0, COLUMNS, DEPTH, ROWS, COLUMNS]
    args = [*k.ins, *k.outs, *(k.index(size) for size in sizes)]
    k.builder.insert(gemm_tile_op(GemmTile(4, 2, 8), i32, args, parts, signed_left))
    op = kernel.end()
    rng = np.random.default_rng(0)
    limits = np.iinfo(np.int32)
    a = rng.integers(limits.min, limits.max, (ROWS, DEPTH)).astype(np.int32)
    b = rng.integers(limits.min, limits.max, (DEPTH, COLUMNS)).astype(np.int32)
    left = parts_of(a, parts, signed_left or parts == 2)
    right = parts_of(b.T, parts, not signed_left or parts == 2).T
    want = (left @ right).astype(np.int32)
    tuned, reference = np.zeros((ROWS, COLUMNS), np.int32), np.zeros(ROWS * COLUMNS, np.int32)
    library = compile_kernels([op], cache=None)
    call(library.address("tile"), a, b, tuned)
    np.testing.assert_array_equal(tuned, want)
    compile_python(op)(a.reshape(-1), b.reshape(-1), reference)
    np.testing.assert_array_equal(reference.reshape(ROWS, COLUMNS), want)
