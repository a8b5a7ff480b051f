"""Compiled matrix products against numpy: every tail, transpose, batch broadcast, type and epilogue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from numerics import check_op
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType, f32
from xdsl.ir import Block, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.kernel_set import KernelSet
from onnxloom.conversion.onnx_to_loom.products.gemm import Product, build_gemm
from onnxloom.conversion.onnx_to_loom.products.product_loops import Epilogue, fitted
from onnxloom.dialects import loom
from onnxloom.dialects.loom.packing import pack
from onnxloom.dialects.loom.target import GemmTile, Target
from onnxloom.dialects.onnx.dtypes import dtype_of_element, tensor_type_of
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.kernel_library import KernelLibrary
from onnxloom.tools.testing.kernels import call

Array = npt.NDArray[Any]
AVX2 = Target(vector_bytes=32, vector_registers=16)
AVX512 = Target(vector_bytes=64, vector_registers=32)
LIBRARIES: dict[str, KernelLibrary] = {}
"""Kernels take sizes as arguments and are named by content: each is compiled once."""

ROWS, COLUMNS = 4, 24
"""Tile of AVX2 f32."""


def product(
    lhs: Array,
    rhs: Array,
    *,
    others: Sequence[Array] = (),
    epilogue: Epilogue | None = None,
    trans_lhs: bool = False,
    trans_rhs: bool = False,
    constant: bool = False,
    static: bool = True,
    target: Target = AVX2,
) -> Array:
    """Lowers, compiles and runs one product; `static` says whether the kernel's types know the dims."""
    left = np.swapaxes(lhs, -1, -2) if trans_lhs else lhs
    right = np.swapaxes(rhs, -1, -2) if trans_rhs else rhs
    shape = np.matmul(np.empty(left.shape, "b"), np.empty(right.shape, "b")).shape
    result = np.empty(shape, lhs.dtype)
    arrays = [lhs, rhs, *others]
    types = [_type(a, static) for a in arrays]
    block = Block(arg_types=types)
    builder = KernelBuilder(block, KernelSet(target))
    values: dict[SSAValue, Any] = dict(zip(block.args, arrays, strict=True))
    args: list[SSAValue] = list(block.args)
    if constant:
        args[1] = builder.constant(rhs)
    made = build_gemm(
        builder,
        "product",
        Product(args[0], args[1], _type(result, static), args[2:], epilogue, trans_lhs, trans_rhs),
    )
    _run(block, builder.kernels, values)
    got = values[made]
    assert got.shape == shape
    return got


def _type(array: Array, static: bool) -> TensorType[Any]:
    type_ = tensor_type_of(array)
    return type_ if static else TensorType(type_.element_type, [DYNAMIC_INDEX] * array.ndim)


def _run(block: Block, kernels: KernelSet, values: dict[SSAValue, Any]) -> None:
    """Walks the program: plan-time ops in Python, launches through the compiled kernels."""
    guards: list[tuple[Array, int]] = []
    for op in block.ops:
        if isinstance(op, loom.PlanTimeOp):
            known = [
                loom.PlanTensor(values[v].shape) if isinstance(v.type, TensorType) else values[v]
                for v in op.operands
            ]
            values.update(zip(op.results, op.evaluate(known), strict=True))
        elif isinstance(op, arith.ConstantOp):
            assert isinstance(op.value, IntegerAttr)
            values[op.result] = op.value.value.data
        elif isinstance(op, arith.MuliOp):
            values[op.result] = values[op.lhs] * values[op.rhs]
        elif isinstance(op, loom.ConstantOp):
            values[op.result] = values[block.args[1]]
        elif isinstance(op, loom.PackOp):
            params = {k: v.value.data for k, v in op.params.data.items() if isinstance(v, IntegerAttr)}
            values[op.result] = pack(op.layout.data, values[op.source], params)
        elif isinstance(op, tensor.EmptyOp):
            type_ = op.tensor.type
            sizes = iter(op.dynamic_sizes)
            shape = [values[next(sizes)] if d == DYNAMIC_INDEX else d for d in type_.get_shape()]
            dtype = dtype_of_element(type_.element_type)
            # Behind a tensor there is memory of others: kernels that write there are found out.
            memory = np.full(math.prod(shape) + 64, 77, dtype)
            values[op.tensor] = memory[: math.prod(shape)].reshape(shape)
            guards.append((memory, math.prod(shape)))
        elif isinstance(op, loom.LaunchOp):
            name = op.kernel.string_value()
            if name not in LIBRARIES:
                LIBRARIES[name] = compile_kernels(list(kernels.used({name})))
            library = LIBRARIES[name]
            buffers = [np.ascontiguousarray(values[v]) for v in op.ins] + [values[v] for v in op.outs]
            words = [*buffers, *(values[v] for v in op.sizes)]
            call(library.address(name), *words)
            values.update(zip(op.results, (values[v] for v in op.outs), strict=True))
    for memory, size in guards:
        np.testing.assert_array_equal(memory[size:], np.full(64, 77, memory.dtype))


def numbers(rng: np.random.Generator, shape: Sequence[int], dtype: Any = np.float32) -> Array:
    """Small integers: products and sums of them are exact in every type used here."""
    return rng.integers(-3, 4, tuple(shape)).astype(dtype)


@pytest.mark.parametrize("constant", [True, False], ids=["packed", "run-time"])
@pytest.mark.parametrize("trans_rhs", [False, True])
@pytest.mark.parametrize("n", [1, COLUMNS - 1, COLUMNS, 2 * COLUMNS + 5])
def test_column_tails(n: int, trans_rhs: bool, constant: bool) -> None:
    rng = np.random.default_rng(n)
    m, k = 2 * ROWS + 3, 7
    lhs, rhs = numbers(rng, (m, k)), numbers(rng, (n, k) if trans_rhs else (k, n))
    got = product(lhs, rhs, trans_rhs=trans_rhs, constant=constant)
    np.testing.assert_array_equal(got, lhs @ (rhs.T if trans_rhs else rhs))


@pytest.mark.parametrize("target", [AVX2, AVX512], ids=["4x24", "8x48"])
@pytest.mark.parametrize("m", [*range(1, ROWS + 2), 17])
def test_row_tails(m: int, target: Target) -> None:
    rng = np.random.default_rng(m)
    lhs, rhs = numbers(rng, (m, 5)), numbers(rng, (5, 50))
    np.testing.assert_array_equal(product(lhs, rhs, constant=True, target=target), lhs @ rhs)


@pytest.mark.parametrize("m", [1, 30])
@pytest.mark.parametrize("trans_lhs", [False, True])
def test_run_time_operand_is_read_in_place_or_packed(m: int, trans_lhs: bool) -> None:
    rng = np.random.default_rng(m)
    lhs, rhs = numbers(rng, (9, m) if trans_lhs else (m, 9)), numbers(rng, (9, 2 * COLUMNS))
    want = (lhs.T if trans_lhs else lhs) @ rhs
    np.testing.assert_array_equal(product(lhs, rhs, trans_lhs=trans_lhs), want)


BATCHES = [
    ((3, 2, 4, 5), (3, 2, 5, 6)),
    ((3, 1, 4, 5), (2, 5, 6)),
    ((2, 4, 5), (5, 6)),
    ((4, 5), (2, 5, 6)),
    ((2, 1, 5), (2, 5, 1)),
    ((5,), (5, 6)),
    ((2, 4, 5), (5,)),
    ((5,), (5,)),
]


@pytest.mark.parametrize("static", [True, False], ids=["static", "dynamic"])
@pytest.mark.parametrize(("lhs", "rhs"), BATCHES)
def test_batches_broadcast_as_numpy_does(lhs: tuple[int, ...], rhs: tuple[int, ...], static: bool) -> None:
    rng = np.random.default_rng(0)
    a, b = numbers(rng, lhs), numbers(rng, rhs)
    np.testing.assert_array_equal(product(a, b, static=static), a @ b)


@pytest.mark.parametrize(
    "dtype", [np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.int32, np.uint32, np.int64, np.uint64]
)
def test_element_types(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    lhs, rhs = numbers(rng, (5, 6), np.int8).astype(dtype), numbers(rng, (6, 70), np.int8).astype(dtype)
    got = product(lhs, rhs)
    assert got.dtype == lhs.dtype
    want = (
        (lhs.astype(np.float64) @ rhs.astype(np.float64)) if np.dtype(dtype).kind not in "iu" else lhs @ rhs
    )
    np.testing.assert_array_equal(got, want.astype(dtype))


@pytest.mark.parametrize("constant", [True, False], ids=["packed", "run-time"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_width_factors(dtype: Any, constant: bool) -> None:
    rng = np.random.default_rng(5)
    lhs, rhs, bias = (numbers(rng, shape, dtype) for shape in ((9, 6), (2 * COLUMNS + 5, 6), (53,)))
    want = lhs.astype(np.float32) @ rhs.astype(np.float32).T
    np.testing.assert_array_equal(product(lhs, rhs, trans_rhs=True, constant=constant), want.astype(dtype))

    def add_once(s: Scalars, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
        return s.float_to(s.add(value, s.widen(operands[0])), operands[0].type)

    got = product(lhs, rhs, trans_rhs=True, constant=constant, others=[bias], epilogue=add_once)
    np.testing.assert_array_equal(got, (want + bias.astype(np.float32)).astype(dtype))


def test_integers_wrap() -> None:
    lhs, rhs = np.full((1, 2), 2**31 - 1, np.int32), np.full((2, 1), 2, np.int32)
    np.testing.assert_array_equal(product(lhs, rhs), [[-4]])


def test_half_sums_are_kept_in_single_precision() -> None:
    lhs = np.array([[2048.0] + [1.0] * 2048], np.float16)
    got = product(lhs, np.ones((2049, 1), np.float16))
    assert got[0, 0] == 4096.0


@pytest.mark.parametrize("k", [0])
def test_empty_inner_dim_gives_zeros(k: int) -> None:
    got = product(np.empty((3, k), np.float32), np.empty((k, 30), np.float32))
    np.testing.assert_array_equal(got, np.zeros((3, 30)))


def test_empty_result_is_left_alone() -> None:
    assert product(np.empty((0, 3), np.float32), np.ones((3, 4), np.float32)).shape == (0, 4)


def test_nan_and_infinity_propagate() -> None:
    lhs = np.array([[np.nan, 0.0], [np.inf, 1.0], [np.inf, -np.inf]], np.float32)
    rhs = np.ones((2, 30), np.float32)
    got = product(lhs, rhs, constant=True)
    np.testing.assert_array_equal(got, lhs @ rhs)


def add_all(s: Scalars, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
    """The sum of the product and every operand."""
    for operand in operands:
        value = s.add(value, operand)
    return value


@pytest.mark.parametrize("static", [True, False], ids=["static", "dynamic"])
@pytest.mark.parametrize("n", [1, 23, 24, 50])
@pytest.mark.parametrize("other", ["bias", "residual", "column", "scalar", "batch"])
def test_epilogue_operands_broadcast(other: str, n: int, static: bool) -> None:
    rng = np.random.default_rng(n)
    shape = {"bias": (n,), "residual": (2, 5, n), "column": (5, 1), "scalar": (), "batch": (2, 1, 1)}[other]
    lhs, rhs, extra = numbers(rng, (2, 5, 3)), numbers(rng, (3, n)), numbers(rng, shape)
    got = product(lhs, rhs, others=[extra], epilogue=add_all, constant=True, static=static)
    np.testing.assert_array_equal(got, lhs @ rhs + extra)


def test_epilogue_of_batched_product_with_two_operands() -> None:
    rng = np.random.default_rng(3)
    lhs, rhs = numbers(rng, (3, 6, 4)), numbers(rng, (3, 4, 30))
    bias, residual = numbers(rng, (30,)), numbers(rng, (3, 6, 30))
    got = product(lhs, rhs, others=[bias, residual], epilogue=add_all)
    np.testing.assert_array_equal(got, lhs @ rhs + bias + residual)


@pytest.mark.parametrize(
    ("columns", "vectors"), [(48, 3), (49, 2), (64, 2), (65, 3), (16, 1), (17, 2), (7, 1), (0, 3), (-1, 3)]
)
def test_panels_of_a_narrow_result_are_of_like_width(columns: int, vectors: int) -> None:
    tile = fitted(GemmTile(rows=8, vectors=3, lanes=16), columns)
    assert tile is not None and (tile.rows, tile.vectors, tile.lanes) == (8, vectors, 16)


@pytest.mark.parametrize("columns", [1, 9, 24, 25, 33, 49, 63])
def test_products_of_any_width(columns: int) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((11, 13), (13, columns)))
    check_op("MatMul", [[a, b]], dynamic=False, rtol=1e-4)
    check_op("MatMul", [[a]], constants={1: b}, dynamic=False, rtol=1e-4)


@pytest.mark.parametrize(("constant", "operands"), [(True, 15), (False, 13)])
def test_only_packed_panels_are_fetched_early(constant: bool, operands: int) -> None:
    lhs, rhs = (TensorType(f32, shape) for shape in ((9, 5), (5, 60)))
    block = Block(arg_types=[lhs, rhs])
    builder = KernelBuilder(block, KernelSet(AVX2))
    right = builder.constant(np.ones((5, 60), np.float32)) if constant else block.args[1]
    build_gemm(builder, "product", Product(block.args[0], right, TensorType(f32, (9, 60))))
    (launch,) = (op for op in block.ops if isinstance(op, loom.LaunchOp))
    (kernel,) = builder.kernels.used({launch.kernel.string_value()})
    tiles = [op for op in kernel.walk() if isinstance(op, loom.MicrokernelOp)]
    assert {len(op.args) for op in tiles if op.kind.data == "gemm_tile"} == {operands}
