"""Tiles that ask early for what is read after them: which do, and that results do not depend on it."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import f32

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.products.product_loops import gemm_tile_op
from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.dialects.loom.target import GemmTile
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.emit_llvm import kernel_module
from onnxloom.lowering.emit_python import compile_python
from onnxloom.tools.testing.kernels import call

DEPTH, COLUMNS = 5, 16


def tile_kernel(rows: int, later: tuple[int, ...]) -> KernelOp:
    """One tile of a `rows` x 5 by 5 x 16 product."""
    k = KernelBody("tile", [f32, f32], [f32], 0)
    sizes = [0, DEPTH, 1, 0, COLUMNS, 0, COLUMNS, DEPTH, rows, COLUMNS, *later]
    args = [*k.ins, *k.outs, *(k.index(size) for size in sizes)]
    k.builder.insert(gemm_tile_op(GemmTile(4, 2, 8), f32, args))
    return k.end()


@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("later", [(), (40, 8), (1 << 30, 1)])
def test_result_and_reference(rows: int, later: tuple[int, ...]) -> None:
    # What is asked for need not be there: the last case points far behind the operand.
    op = tile_kernel(rows, later)
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (rows, DEPTH)).astype(np.float32)
    b = rng.integers(-4, 5, (DEPTH, COLUMNS)).astype(np.float32)
    tuned, reference = np.zeros((rows, COLUMNS), np.float32), np.zeros(rows * COLUMNS, np.float32)
    library = compile_kernels([op], cache=None)
    call(library.address("tile"), a, b, tuned)
    np.testing.assert_array_equal(tuned, a @ b)
    compile_python(op)(a.reshape(-1), b.reshape(-1), reference)
    np.testing.assert_array_equal(reference.reshape(rows, COLUMNS), a @ b)


@pytest.mark.parametrize(("later", "count"), [((), 0), ((40, 8), 1)])
def test_only_the_largest_tile_fetches(later: tuple[int, ...], count: int) -> None:
    text = str(kernel_module([tile_kernel(4, later)], CpuTarget.host()))
    assert text.count('call void @"llvm.prefetch.p0"') == count
