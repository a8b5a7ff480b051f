"""Rows of a softmax: the tuned form, its reference loops and numpy in double precision agree."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import f32, i1

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.reductions.softmax_rows import SoftmaxRow, softmax_row_op
from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.emit_llvm import assembly
from onnxloom.lowering.emit_python import compile_python
from onnxloom.lowering.expand_math import expand_math
from onnxloom.lowering.kernel_library import KernelLibrary
from onnxloom.tools.testing.kernels import call

Array = npt.NDArray[Any]
ROWS = 3
LENGTHS = (0, 1, 5, 16, 17, 64, 70, 131)
"""Below a vector, whole vectors, a block of them, and tails of each."""


def kernel(row: SoftmaxRow) -> KernelOp:
    """`ROWS` rows with a gap of one element between them in each buffer; the size is the row's length."""
    masks: list[Any] = {"none": [], "added": [f32], "truth": [i1]}[row.mask]
    outs = [f32] if row.normalized else [f32, f32]
    k = KernelBody("softmax", [f32, *masks], outs, 1)
    buffers = [*k.ins, *k.outs]
    zero, one, gap = k.index(0), k.index(1), k.add(k.sizes[0], k.index(1))
    strides = [gap] * len(buffers) if row.normalized else [*[gap] * (len(buffers) - 1), one]
    args = [*buffers, *[zero] * len(buffers), *strides, k.index(ROWS), k.sizes[0]]
    k.builder.insert(softmax_row_op(row, args))
    return k.end()


@cache
def forms(row: SoftmaxRow) -> tuple[KernelLibrary, Callable[..., None]]:
    """The tuned form and the reference."""
    op = kernel(row)
    return compile_kernels([op], cache=None), compile_python(op)


def run(row: SoftmaxRow, x: Array, mask: Array | None) -> tuple[list[Array], list[Array]]:
    """Results of the tuned form and of the reference: rows, and inverses of sums where they are not used."""
    count = x.shape[1] - 1
    ins = [np.ascontiguousarray(a).reshape(-1) for a in (x, mask) if a is not None]
    made: list[list[Array]] = []
    library, reference = forms(row)
    for is_tuned in (True, False):
        outs = [np.full(x.size, 7, np.float32)]
        if not row.normalized:
            outs.append(np.full(ROWS, 7, np.float32))
        if is_tuned:
            call(library.address("softmax"), *ins, *outs, count)
        else:
            with np.errstate(all="ignore"):
                reference(*ins, *outs, count)
        rows = outs[0].reshape(x.shape)
        assert (rows[:, count] == 7).all(), "what lies between the rows was written"
        made.append([rows[:, :count], *outs[1:]])
    return made[0], made[1]


def expected(row: SoftmaxRow, x: Array, mask: Array | None) -> list[Array]:
    z = x.astype(np.float64) * row.scale
    if row.mask == "added":
        assert mask is not None
        z = z + mask
    elif row.mask == "truth":
        assert mask is not None
        z = np.where(mask, z, -np.inf)
    with np.errstate(all="ignore"):
        top = z.max(axis=1, keepdims=True, initial=-np.inf)
        if row.hidden:
            top = np.where(np.isneginf(top), 0, top)
        e = np.exp(z - top)
        total = e.sum(axis=1, keepdims=True)
        share = 1 / total
        if row.hidden:
            share = np.where(total == 0, 1, share)
    return [e * share] if row.normalized else [e, share[:, 0]]


def check(row: SoftmaxRow, x: Array, mask: Array | None) -> None:
    """`x` and `mask` have one column more than the rows are long."""
    inner = None if mask is None else mask[:, :-1]
    want = expected(row, x[:, :-1], inner)
    for got in run(row, x, mask):
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=3e-6, atol=2e-45)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("kind", ["none", "added", "truth"])
def test_lengths(kind: Literal["none", "added", "truth"], lanes: int, normalized: bool) -> None:
    rng = np.random.default_rng(1)
    for length in LENGTHS:
        x = (4 * rng.standard_normal((ROWS, length + 1))).astype(np.float32)
        x[:, -1] = 100  # behind the row: must not count
        mask: Array | None = None
        if kind == "added":
            mask = rng.standard_normal(x.shape).astype(np.float32)
        elif kind == "truth":
            mask = rng.random(x.shape) < 0.7
            mask[:, 0] = True
        check(SoftmaxRow(lanes, 0.25, kind, normalized), x, mask)


@pytest.mark.parametrize("scale", [1.0, 0.5, -2.0, 0.0])
@pytest.mark.parametrize("hidden", [True, False])
def test_special_values(scale: float, hidden: bool) -> None:
    inf, nan = np.inf, np.nan
    rows: list[list[float]] = [
        [0, -200, 88, -0.0], [-inf, 1, -inf, 2], [-inf] * 4, [1, nan, 2, 3], [nan] * 4, [1, inf, 2, 3],
        [-1e30, 1e38, 1, 0], [1e38, 1e38, 1e38, 1e38], [nan, inf, -inf, 0], [-1e38, -1e38, 0, 87],
    ]  # fmt: skip
    for index in range(len(rows) - ROWS + 1):
        x = np.zeros((ROWS, 18), np.float32)
        x[:, :17] = np.tile(np.array(rows[index : index + ROWS], np.float32), (1, 5))[:, :17]
        check(SoftmaxRow(16, scale, hidden=hidden), x, None)
        check(SoftmaxRow(8, scale, hidden=hidden), x, None)
        check(SoftmaxRow(16, scale, "added", hidden=hidden), x, np.zeros_like(x))


def test_rows_that_see_nothing() -> None:
    x = np.ones((ROWS, 6), np.float32)
    mask = np.array([[0] * 6, [1, 0, 0, 1, 0, 0], [0] * 6], bool)
    row = SoftmaxRow(4, mask="truth", normalized=False, hidden=True)
    tuned, _ = run(row, x, mask)
    np.testing.assert_array_equal(tuned[0], mask[:, :5].astype(np.float32))
    np.testing.assert_array_equal(tuned[1], np.array([1, 0.5, 1], np.float32))
    check(row, x, mask)


def test_empty_rows_and_no_rows_write_nothing() -> None:
    row = SoftmaxRow(4)
    tuned, _ = run(row, np.ones((ROWS, 1), np.float32), None)
    assert tuned[0].size == 0


@pytest.mark.parametrize(
    ("triple", "cpu", "lanes"),
    [
        ("x86_64-unknown-linux-gnu", "x86-64-v2", 4),
        ("x86_64-unknown-linux-gnu", "x86-64-v3", 8),
        ("x86_64-unknown-linux-gnu", "x86-64-v4", 16),
        ("aarch64-unknown-linux-gnu", "generic", 4),
    ],
)
def test_is_assembled_for_other_processors(triple: str, cpu: str, lanes: int) -> None:
    op = kernel(SoftmaxRow(lanes, 0.5, "added")).clone()
    expand_math(op)
    try:
        text = assembly([op], CpuTarget(triple, cpu, ""))
    except RuntimeError as error:
        pytest.skip(f"this LLVM lacks the target: {error}")
    assert "fmaf" not in text, "a product and a sum where there is no fused one"
    assert ("vscalefps" in text) == (lanes == 16)
