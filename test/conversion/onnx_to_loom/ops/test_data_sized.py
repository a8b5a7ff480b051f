"""Ops whose result has as many elements as data say: how many is read while the program runs."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from against_peers import check_peers
from lowering_reasons import Case, check, reason_of, tensors
from text_models import compiled

from onnxloom.errors import InputError
from onnxloom.lowering.plan.node import MAX_CHILDREN, ValueEnd

RNG = np.random.default_rng(5)
SHAPES = [(0,), (1,), (9,), (3, 0, 2), (2, 3, 4), (1, 1, 1, 70), (65, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_non_zero_of_any_rank(shape: tuple[int, ...]) -> None:
    for share in (0.0, 0.3, 1.0):
        check_peers("NonZero", [RNG.random(shape) < share])


@pytest.mark.parametrize("dtype", ["float32", "int64", "int32", "uint8", "float16", "float64"])
def test_non_zero_in_any_type(dtype: str) -> None:
    x = RNG.integers(0, 2, (5, 4)).astype(dtype)
    check_peers("NonZero", [x], dynamic=[True], runtime=dtype in ("float32", "int64", "int32", "uint8"))


def test_non_zero_of_special_numbers_and_scalars() -> None:
    check_peers("NonZero", [np.array([np.nan, -0.0, 0.0, np.inf, 1e-45], np.float32)])
    halves = np.array([np.nan, 0, 2, -0.0], ml_dtypes.bfloat16)
    check_peers("NonZero", [halves], want=[np.array([[0, 2]])], host=False, runtime=False)
    for value, count in ((0.0, 0), (3.0, 1)):
        x = np.array(value, np.float32)
        check_peers("NonZero", [x], want=[np.zeros((0, count), np.int64)], host=False, runtime=False)


def test_more_elements_than_a_block_counts() -> None:
    check_peers("NonZero", [RNG.random(10_000) < 0.5], dynamic=[True])


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("dtype", ["float32", "bool", "int64", "float16"])
def test_compress(axis: int | None, dtype: str) -> None:
    x = RNG.integers(0, 2, (3, 4, 2)).astype(dtype)
    attrs: dict[str, Any] = {} if axis is None else {"axis": axis}
    for length in (0, 1, 2):
        check_peers("Compress", [x, RNG.random(length) < 0.6], dynamic=[True], **attrs)
    check_peers("Compress", [x, np.array([True, False])], constants=[1], **attrs)


def test_a_condition_beyond_the_axis_is_ignored() -> None:
    x, flags = np.arange(3, dtype=np.float32), np.array([True, False, True, True, True])
    check_peers("Compress", [x, flags], want=[x[[0, 2]]], host=False, runtime=False, axis=0)


@pytest.mark.parametrize("is_sorted", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "float64", "uint64", "int32", "float16"])
def test_unique_elements(dtype: str, is_sorted: int) -> None:
    runtime = dtype in ("float32", "int64", "int8", "float64")
    for shape in ((0,), (1,), (40,), (3, 7)):
        x = RNG.integers(0, 9, shape).astype(dtype)
        check_peers("Unique", [x], outputs=4, dynamic=[True], runtime=runtime, sorted=is_sorted)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("is_sorted", [0, 1])
def test_unique_slices(axis: int, is_sorted: int) -> None:
    for shape in ((6, 6, 2), (1, 1, 3), (5, 3, 1)):
        x = RNG.integers(0, 2, shape).astype(np.float32)
        check_peers("Unique", [x], outputs=4, axis=axis, sorted=is_sorted)


def test_slices_without_elements_are_equal() -> None:
    x = np.zeros((3, 0), np.float32)
    check_peers("Unique", [x], outputs=4, runtime=False, axis=0)


def test_nan_is_one_element_and_zeros_are_one() -> None:
    x = np.array([np.nan, 0.0, -0.0, np.nan, 1.0], np.float32)
    check_peers("Unique", [x], outputs=4, runtime=False)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int32", "int64"])
@pytest.mark.parametrize("bounds", [(0, 9, 2), (5, -7, -3), (1, 1, 1), (3, 1, 1), (1, 3, -1), (0, 10, 1)])
def test_range(bounds: tuple[int, int, int], dtype: str) -> None:
    check_peers("Range", [np.array(b, dtype) for b in bounds])


def test_range_of_fractions() -> None:
    tenths = np.arange(10, dtype=np.float32) * np.float32(0.1)
    bounds = [np.array(b, np.float32) for b in (0, 1, 0.1)]
    # onnxruntime adds up, and is a little further off with each step.
    check_peers("Range", bounds, want=[tenths], dynamic=[True], host=False, runtime=False)
    bounds = [np.array(b, np.float32) for b in (1.5, -2, -0.25)]
    check_peers("Range", bounds, dynamic=[True], host=False)


@pytest.mark.parametrize("stash", [1, 11])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_range_of_halves_is_computed_in_the_stash_type(dtype: Any, stash: int) -> None:
    bounds = [np.array(b, dtype) for b in (1, 300, 0.7)]
    check_peers("Range", bounds, dynamic=[True], runtime=False, stash_type=stash)


def test_bounds_without_an_end_are_refused() -> None:
    reason = "Range: the delta is 0, or a bound is not finite"
    model = compiled("agraph (float a, float b, float c) => (float[N] y) { y = Range(a, b, c) }")
    for bounds in ((0, np.inf, 1), (0, np.inf, -1), (0, 1, np.nan), (-np.inf, 0, 1)):
        with pytest.raises(InputError, match=reason):
            model(*(np.array(v, np.float32) for v in bounds))
    for kind in ("float", "int64"):
        model = compiled(f"agraph ({kind} a, {kind} b, {kind} c) => ({kind}[N] y) {{ y = Range(a, b, c) }}")
        dtype = np.float32 if kind == "float" else np.int64
        assert len(model(*(np.array(v, dtype) for v in (0, 5, 2)))[0]) == 3
        with pytest.raises(InputError, match=reason):
            model(*(np.array(v, dtype) for v in (0, 5, 0)))


def test_range_over_all_integers() -> None:
    least, most = -(2**63), 2**63 - 1
    for bounds in (
        (least, most, 2**61),
        (most, least, -(2**61)),
        (most, least, least),
        (most - 1, most, most),
    ):
        want = np.array(list(range(*bounds)), np.int64)
        check_peers("Range", [np.array(b, np.int64) for b in bounds], want=[want], host=False, runtime=False)
    model = compiled("agraph (int64 a, int64 b, int64 c) => (int64[N] y) { y = Range(a, b, c) }")
    with pytest.raises(InputError, match="too far away"):
        model(*(np.array(v, np.int64) for v in (least, most, 1)))


def test_a_new_number_fills_the_rest_of_the_plan_and_plans_stay_bounded() -> None:
    model = compiled("""agraph (bool[N] c, float[N] x) => (float[M] y) {
        n = NonZero(c)
        i = Transpose <perm = [1, 0]> (n)
        g = GatherND(x, i)
        y = Mul(g, g)
    }""")
    x = np.arange(3000, dtype=np.float32)
    for count in (*range(0, 3000, 2), 7, 8, 9):
        flags = np.zeros(3000, bool)
        flags[RNG.permutation(3000)[:count]] = True
        np.testing.assert_array_equal(model(flags, x)[0], x[flags] ** 2)
    (root,) = model.plans
    assert isinstance(root.end, ValueEnd)
    assert len(root.children) == MAX_CHILDREN
    assert model.host_steps == 0


def test_numbers_upon_numbers() -> None:
    """The second count depends on the first one; one of them is read twice."""
    model = compiled("""agraph (bool[N] c, float[N] x) => (float[M] y, int64[K] u) {
        y = Compress <axis = 0> (x, c)
        z = Cast <to = 7> (y)
        u, a, b, d = Unique <sorted = 1> (z)
    }""")
    for _ in range(40):
        x = RNG.integers(0, 5, 30).astype(np.float32)
        flags = RNG.random(30) < 0.5
        y, u = model(flags, x)
        np.testing.assert_array_equal(y, x[flags])
        np.testing.assert_array_equal(u, np.unique(x[flags]))


def test_results_of_one_run_outlive_the_next() -> None:
    """Tables are cut to what was found: a result is no view of memory that is used again."""
    model = compiled(
        "agraph (float[N] x) => (float[M] y, int64[M] i) { y, i, a, b = Unique <sorted = 1> (x) }"
    )
    first = model(np.array([3, 3, 1], np.float32))
    kept = [a.copy() for a in first]
    model(np.array([9, 8, 7], np.float32))
    for a, b in zip(first, kept, strict=True):
        np.testing.assert_array_equal(a, b)


CONDITION = ["tensor<4x3xf32>", "tensor<2x2xi1>"]
REASONS: dict[str, tuple[Case, str | None]] = {
    "compress": (("Compress", ["tensor<4x3xf32>", "tensor<?xi1>"], "", tensors("?")), None),
    "condition": (("Compress", CONDITION, "", tensors("?")), "a condition that is no list has no kernel"),
}


@check(REASONS)
def test_reasons(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason
