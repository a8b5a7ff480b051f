"""Do the kernels of selecting ops, which branch and repeat a lot, give the same in both emitted forms?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from lowering_reasons import op_text, prepared

from onnxloom.conversion.onnx_to_loom.registry import lowering_of
from onnxloom.dialects import loom
from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.emit_python import compile_python
from onnxloom.lowering.expand_math import expand_math
from onnxloom.tools.testing.kernels import call

RNG = np.random.default_rng(23)


def kernel_of(
    prefix: str, name: str, operands: list[str], results: list[str], attributes: str = ""
) -> KernelOp:
    """The kernel of an op whose name begins so."""
    op, inputs, builder = prepared(op_text(name, operands, attributes, results))
    lower = lowering_of(op)
    assert lower is not None
    lower(op, inputs, builder)
    launches = [launch for launch in builder.block.walk() if isinstance(launch, loom.LaunchOp)]
    names = {launch.kernel.root_reference.data for launch in launches}
    (kernel,) = [k for k in builder.kernels.used(names) if k.sym_name.data.rpartition("_")[0] == prefix]
    return kernel


def check_both(kernel: KernelOp, inputs: Sequence[Any], outputs: Sequence[Any], *sizes: int) -> None:
    native, python = ([np.zeros_like(a) for a in outputs] for _ in range(2))
    library = compile_kernels([kernel])
    call(library.address(kernel.sym_name.data), *inputs, *native, *sizes)
    expanded = kernel.clone()
    expand_math(expanded)
    compile_python(expanded)(*inputs, *python, *sizes)
    for a, b in zip(native, python, strict=True):
        np.testing.assert_array_equal(a, b)
    assert any(a.any() for a in native)


@pytest.mark.parametrize(("prefix", "k", "dtype"), [("top_k", 9, "f32"), ("top_k_lists", 70, "f64")])
def test_top_k(prefix: str, k: int, dtype: str) -> None:
    operands = [f"tensor<3x400x{dtype}>", f"dense<{k}> : tensor<1xi64>"]
    kernel = kernel_of(prefix, "TopK", operands, [f"tensor<3x{k}x{dtype}>", f"tensor<3x{k}xi64>"])
    x = RNG.standard_normal(1200).astype(np.float32 if dtype == "f32" else np.float64)
    x[::50] = np.nan
    length = min(4 * k, 400) + 32
    private = [np.zeros(2 * length, np.int64)] * (2 if dtype == "f64" and k == 70 else 1)
    sizes = [3, 400, 1, k, *([length] if k == 70 else [])]
    check_both(kernel, [x], [np.zeros(3 * k, x.dtype), np.zeros(3 * k, np.int64), *private], *sizes)


@pytest.mark.parametrize(("attributes", "dtype"), [("axis = 0 : si64", "i64"), ("sorted = 0 : si64", "i32")])
def test_unique(attributes: str, dtype: str) -> None:
    values = "tensor<?x2x{}>" if "axis" in attributes else "tensor<?x{}>"
    results = [values.format(dtype), *["tensor<?xi64>"] * 3]
    kernel = kernel_of("unique", "Unique", [f"tensor<?x2x{dtype}>"], results, attributes)
    x = RNG.integers(-3, 3, 80).astype(np.int32 if dtype == "i32" else np.int64)
    is_flat = "axis" not in attributes
    count, inner = (80, 1) if is_flat else (40, 2)
    tables = [np.zeros(count, np.int64) for _ in range(3)]
    keys = [np.zeros(2 * count, np.int64)] if is_flat and dtype == "i64" else []
    outputs = [np.zeros(2 * count, np.int64), *tables, np.zeros(1, np.int64), *keys]
    check_both(kernel, [x], outputs, 1, count, inner)


def test_places() -> None:
    kernel = kernel_of("chosen_places", "NonZero", ["tensor<?x?xf32>"], ["tensor<2x?xi64>"])
    x = RNG.integers(0, 2, 60).astype(np.float32)
    count = int(np.count_nonzero(x))
    check_both(kernel, [x], [np.zeros(2 * count, np.int64)], 6, 10, count)


def test_boxes() -> None:
    floats = ["tensor<1xf32>", "tensor<1xf32>"]
    operands = ["tensor<1x?x4xf32>", "tensor<1x2x?xf32>", "tensor<1xi64>", *floats]
    kernel = kernel_of("non_max_suppression", "NonMaxSuppression", operands, ["tensor<?x3xi64>"])
    low = RNG.random((2, 50)).astype(np.float32) * 20
    high = low + RNG.random((2, 50)).astype(np.float32) * 10
    area = (high[0] - low[0]) * (high[1] - low[1])
    corners = np.concatenate([low[0], high[0], low[1], high[1], area])
    scores, thresholds = RNG.random(100).astype(np.float32), [np.array([t], np.float32) for t in (0.3, 0.1)]
    kept, counts = np.zeros(2 * 20, np.int64), np.zeros(2, np.int64)
    near = np.zeros((20 + 32) * 5, np.float32)
    check_both(
        kernel, [corners, scores, *thresholds], [kept, counts, np.zeros(50, np.int64), near], 1, 2, 50, 20
    )


def test_pooled_places() -> None:
    window = "kernel_shape = [2 : si64, 3 : si64], pads = [1 : si64, 0 : si64, 0 : si64, 1 : si64]"
    operands, results = ["tensor<1x2x5x6xf32>"], ["tensor<1x2x5x5xf32>", "tensor<1x2x5x5xi64>"]
    kernel = kernel_of("max_pool_places", "MaxPool", operands, results, window)
    x = RNG.standard_normal(60).astype(np.float32)
    check_both(kernel, [x], [np.zeros(50, np.float32), np.zeros(50, np.int64)], 2, 5, 6, 5, 5, 1, 0)
