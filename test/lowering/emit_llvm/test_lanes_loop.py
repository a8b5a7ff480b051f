"""Loops over lanes compute what the loop says, in vectors: the Python emitter runs them lane by lane."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i32
from xdsl.ir import Attribute

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.dialects.onnx.semantics.scalars import Scalar
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.emit_llvm import assembly, kernel_module
from onnxloom.lowering.emit_python import compile_python
from onnxloom.lowering.expand_math import expand_math
from onnxloom.tools.testing.kernels import call

V4 = CpuTarget("x86_64-unknown-linux-gnu", "x86-64-v4", "-prefer-256-bit")
WIDE = np.arange(64, dtype=np.float32) * 0.75 - 11
DTYPES: dict[Attribute, Any] = {f32: np.float32, f64: np.float64, i32: np.int32, i8: np.int8, i1: np.bool_}

Body = Callable[[KernelBody, Scalar], None]


def kernel(body: Body, ins: list[Attribute], outs: list[Attribute], count: int = 8) -> KernelOp:
    """A kernel of one loop over lanes, launched with the size 3."""
    k = KernelBody("k", ins, outs, 1)
    with k.lanes(count) as lane:
        body(k, lane)
    return k.end()


def both(op: KernelOp, inputs: list[np.ndarray[Any, Any]], out: Any = np.float32, size: int = 64) -> Any:
    """What the compiled kernel writes, after comparing it with the Python emitter's."""
    results = [np.zeros(size, out) for _ in range(2)]
    expand_math(op)
    library = compile_kernels([op])
    call(library.address("k"), *inputs, results[0], 3)
    compile_python(op)(*inputs, results[1], 3)
    np.testing.assert_array_equal(results[0], results[1])
    return results[0]


def is_vector(op: KernelOp) -> bool:
    """Whether the kernel has vector stores before LLVM optimises it."""
    return re.search(r"store <8 x", str(kernel_module([op], CpuTarget.host()))) is not None


def test_sums_over_an_inner_loop_stay_in_registers() -> None:
    def body(k: KernelBody, lane: Scalar) -> None:
        s = k.scalars
        (total,) = k.reduce(
            k.sizes[0],
            [s.const(0.5, f32)],
            lambda i, acc: [s.add(acc[0], k.load(k.ins[0], k.add(k.mul(i, k.index(8)), lane)))],
        )
        k.store(total, k.outs[0], lane)

    op = kernel(body, [f32], [f32])
    got = both(op, [WIDE])
    np.testing.assert_array_equal(got[:8], 0.5 + WIDE[:24].reshape(3, 8).sum(0))
    assert is_vector(op)
    text = assembly([kernel(body, [f32], [f32], 16)], V4)
    assert re.search(r"vaddps.*zmm", text)
    assert not re.search(r"zmm.*rsp", text)


@pytest.mark.parametrize("stride", [2, 3, 17])
def test_elements_that_lie_apart(stride: int) -> None:
    def body(k: KernelBody, lane: Scalar) -> None:
        at = k.add(k.mul(k.sub(lane, k.index(0)), k.index(stride)), k.sizes[0])
        k.store(k.load(k.ins[0], at), k.outs[0], k.mul(lane, k.index(stride)))

    source = np.arange(256, dtype=np.float32)
    got = both(kernel(body, [f32], [f32]), [source], size=256)
    np.testing.assert_array_equal(got[: 8 * stride : stride], source[3 : 3 + 8 * stride : stride])


def test_several_lanes_read_one_element() -> None:
    def body(k: KernelBody, lane: Scalar) -> None:
        s = k.scalars
        half = s.emit(arith.DivUIOp(lane, k.index(2)))
        within = k.remainder(lane, k.index(3))
        value = s.add(k.load(k.ins[0], k.add(k.sizes[0], half)), k.load(k.ins[0], within))
        k.store(value, k.outs[0], k.add(lane, k.sizes[0]))

    op = kernel(body, [f32], [f32])
    got = both(op, [WIDE])
    lanes = np.arange(8)
    np.testing.assert_array_equal(got[3:11], WIDE[3 + lanes // 2] + WIDE[lanes % 3])
    assert is_vector(op)


def test_an_index_known_only_at_run_time() -> None:
    def body(k: KernelBody, lane: Scalar) -> None:
        at = k.mul(lane, k.sizes[0])
        k.store(k.load(k.ins[0], at), k.outs[0], lane)

    np.testing.assert_array_equal(both(kernel(body, [f32], [f32]), [WIDE])[:8], WIDE[:24:3])


def test_values_that_are_the_same_in_all_lanes() -> None:
    def body(k: KernelBody, lane: Scalar) -> None:
        one = k.load(k.ins[0], k.sizes[0])
        k.store(k.scalars.mul(one, one), k.outs[0], k.sub(lane, k.index(0)))

    np.testing.assert_array_equal(both(kernel(body, [f32], [f32]), [WIDE])[:8], WIDE[3] * WIDE[3])


def test_branches_whose_condition_all_lanes_share() -> None:
    def body(k: KernelBody, lane: Scalar) -> None:
        s = k.scalars
        with k.branch(s.cmp("lt", k.sizes[0], k.index(2))) as (then, other):
            with k.inside(then):
                k.store(s.const(1.0, f32), k.outs[0], lane)
            with k.inside(other):
                k.store(k.load(k.ins[0], lane), k.outs[0], lane)

    np.testing.assert_array_equal(both(kernel(body, [f32], [f32]), [WIDE])[:8], WIDE[:8])


def test_a_bound_that_differs_between_lanes_makes_it_an_ordinary_loop() -> None:
    def body(k: KernelBody, lane: Scalar) -> None:
        s = k.scalars
        (total,) = k.reduce(lane, [s.const(0, f32)], lambda i, acc: [s.add(acc[0], k.load(k.ins[0], i))])
        k.store(total, k.outs[0], lane)

    op = kernel(body, [f32], [f32])
    want = [WIDE[:n].sum(dtype=np.float32) for n in range(8)]
    np.testing.assert_allclose(both(op, [WIDE])[:8], want)
    assert not is_vector(op)


def test_a_condition_that_differs_between_lanes_makes_it_an_ordinary_loop() -> None:
    def body(k: KernelBody, lane: Scalar) -> None:
        with k.branch(k.scalars.cmp("lt", lane, k.index(4))) as (then, other):
            with k.inside(then):
                k.store(k.load(k.ins[0], lane), k.outs[0], lane)
            with k.inside(other):
                k.store(k.scalars.const(2.0, f32), k.outs[0], lane)

    op = kernel(body, [f32], [f32])
    np.testing.assert_array_equal(both(op, [WIDE])[:8], [*WIDE[:4], 2, 2, 2, 2])
    assert not is_vector(op)


def test_a_place_all_lanes_write_keeps_the_last() -> None:
    def body(k: KernelBody, lane: Scalar) -> None:
        k.store(k.load(k.ins[0], lane), k.outs[0], k.index(0))

    assert both(kernel(body, [f32], [f32]), [WIDE])[0] == WIDE[7]


SPECIAL = np.array([np.nan, 1.5, -0.0, np.inf, -2.5, 3e-45, -np.inf, 0.0] * 8)


def _pairwise(emit: Callable[[KernelBody, Scalar, Scalar], Scalar]) -> Body:
    def body(k: KernelBody, lane: Scalar) -> None:
        a, b = k.load(k.ins[0], lane), k.load(k.ins[0], k.sub(k.index(9), lane))
        k.store(emit(k, a, b), k.outs[0], lane)

    return body


FLOAT_OPS: dict[str, Callable[[KernelBody, Scalar, Scalar], Scalar]] = {
    "sub": lambda k, a, b: k.scalars.sub(a, b),
    "divf": lambda k, a, b: k.scalars.divf(a, b),
    "neg": lambda k, a, b: k.scalars.neg(a),
    "maximum": lambda k, a, b: k.scalars.maximum(a, b),
    "minimum": lambda k, a, b: k.scalars.minimum(a, b),
    "maxnum": lambda k, a, b: k.scalars.emit(arith.MaxnumfOp(a, b)),
    "minnum": lambda k, a, b: k.scalars.emit(arith.MinnumfOp(a, b)),
    "select": lambda k, a, b: k.scalars.select(k.scalars.cmp("lt", a, b), b, a),
    "select_all": lambda k, a, b: k.scalars.select(
        k.scalars.cmp("lt", k.sizes[0], k.index(5)), k.scalars.const(2.0, a.type), a
    ),
    "abs": lambda k, a, b: k.scalars.abs(a),
    "sqrt": lambda k, a, b: k.scalars.unary(math.SqrtOp, a),
    "floor": lambda k, a, b: k.scalars.unary(math.FloorOp, a),
    "roundeven": lambda k, a, b: k.scalars.unary(math.RoundEvenOp, a),
    "copysign": lambda k, a, b: k.scalars.emit(math.CopySignOp(b, a)),
    "isnan": lambda k, a, b: k.scalars.select(k.scalars.isnan(a), b, a),
    "fma": lambda k, a, b: k.scalars.emit(math.FmaOp(a, b, a)),
    "half": lambda k, a, b: k.scalars.float_to(k.scalars.widen(k.scalars.float_to(a, f16)), a.type),
    "brain": lambda k, a, b: k.scalars.float_to(k.scalars.widen(k.scalars.float_to(a, bf16)), a.type),
    "erf": lambda k, a, b: k.scalars.unary(math.ErfOp, a),
}  # fmt: skip


@pytest.mark.parametrize("element", [f32, f64], ids=str)
@pytest.mark.parametrize("name", FLOAT_OPS)
def test_float_ops(name: str, element: Attribute) -> None:
    op = kernel(_pairwise(FLOAT_OPS[name]), [element], [element])
    dtype = DTYPES[element]
    with np.errstate(all="ignore"):
        both(op, [SPECIAL.astype(dtype)], dtype)


INT_OPS: dict[str, Callable[[KernelBody, Scalar, Scalar], Scalar]] = {
    "add": lambda k, a, b: k.scalars.add(a, b),
    "maximum": lambda k, a, b: k.scalars.maximum(a, b),
    "maximum_unsigned": lambda k, a, b: k.scalars.maximum(a, b, True),
    "minimum": lambda k, a, b: k.scalars.minimum(a, b),
    "shift": lambda k, a, b: k.scalars.emit(arith.ShRSIOp(a, k.scalars.const(2, a.type))),
    "divide": lambda k, a, b: k.scalars.emit(arith.DivSIOp(a, b)),
    "through_index": lambda k, a, b: k.from_index(k.add(k.to_index(a), k.to_index(b)), a.type),
    "compared": lambda k, a, b: k.scalars.select(k.scalars.cmp("lt", a, b, True), a, b),
    "narrowed": lambda k, a, b: k.scalars.int_to_int(k.scalars.int_to_int(a, i8, False), i32, False),
    "as_float": lambda k, a, b: k.scalars.emit(
        arith.FPToSIOp(k.scalars.mul_const(k.scalars.int_to_float(a, f32, False), 0.5), i32)
    ),
    "bits": lambda k, a, b: k.scalars.emit(
        arith.BitcastOp(k.scalars.neg(k.scalars.emit(arith.BitcastOp(a, f32))), i32)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INT_OPS)
def test_integer_ops(name: str) -> None:
    values = np.arange(-3, 61, dtype=np.int32) * 1009
    both(kernel(_pairwise(INT_OPS[name]), [i32], [i32]), [values], np.int32)


def test_booleans_in_memory() -> None:
    def body(k: KernelBody, lane: Scalar) -> None:
        flag = k.load(k.ins[1], lane)
        less = k.scalars.cmp("lt", k.load(k.ins[0], lane), k.scalars.const(-8.0, f32))
        k.store(k.scalars.and_(flag, less), k.outs[0], lane)

    flags = np.array([1, 0, 1, 1, 0, 1, 1, 1], np.bool_)
    got = both(kernel(body, [f32, i1], [i1]), [WIDE, flags], np.bool_)
    np.testing.assert_array_equal(got[:8], flags & (WIDE[:8] < -8))


def test_extremes_carried_by_an_inner_loop_keep_nan() -> None:
    def body(k: KernelBody, lane: Scalar) -> None:
        s = k.scalars
        at = k.add(k.index(8), lane)
        (high,) = k.reduce(
            k.sizes[0],
            [s.const(-np.inf, f32)],
            lambda i, acc: [s.maximum(acc[0], k.load(k.ins[0], k.add(k.mul(i, k.index(8)), at)))],
        )
        k.store(high, k.outs[0], lane)

    values = WIDE.copy()
    values[11] = values[29] = np.nan
    got = both(kernel(body, [f32], [f32]), [values])
    np.testing.assert_array_equal(got[:8], values[8:32].reshape(3, 8).max(0))


def test_a_branch_with_results() -> None:
    k = KernelBody("k", [f32], [f32], 1)
    with k.lanes(8) as lane:
        first, second = k.load(k.ins[0], lane), k.load(k.ins[0], k.index(5))
        with k.branch(k.scalars.cmp("eq", k.sizes[0], k.index(3))) as _:
            pass
        branch = k.builder.insertion_point.block.last_op
        assert isinstance(branch, scf.IfOp)
        chosen = scf.IfOp(branch.cond, [f32], [scf.YieldOp(first)], [scf.YieldOp(second)])
        k.builder.insert(chosen)
        k.store(chosen.results[0], k.outs[0], lane)
    np.testing.assert_array_equal(both(k.end(), [WIDE])[:8], WIDE[:8])
