"""Ops that put elements at places that attributes, lengths or write indices say."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from against_peers import check_peers
from lowering_reasons import Case, check, reason_of, tensors
from numerics import Array
from text_models import compiled

from onnxloom.errors import InputError

RNG = np.random.default_rng(13)


def numbers(*shape: int, dtype: Any = np.float32) -> Array:
    return RNG.integers(0, 100, shape).astype(dtype)


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


@pytest.mark.parametrize("dtype", ["uint8", "uint64", "float32", "float64", "float16", "int16"])
def test_one_hot_indices_of_any_type(dtype: str) -> None:
    indices = np.array([[0, 3, 2], [1, 7, 2]], dtype)
    runtime = dtype == "float32"
    for depth in (np.array(4, np.int64), np.array([4.0], np.float32), np.array(4, np.uint8)):
        values = np.array([2, 5], np.int64) if dtype != "float32" else np.array([2, 5], np.float32)
        runtime = runtime and depth.dtype == np.float32
        check_peers("OneHot", [indices, depth, values], dynamic=[True], runtime=runtime)


def test_one_hot_indices_below_zero_count_from_the_end_but_not_those_that_are_unsigned() -> None:
    values = np.array([0, 1], np.int32)
    signed = np.array([-1.5, -4.0, -5.0, 3.9], np.float32)
    check_peers("OneHot", [signed, ints(4), values], dynamic=[True], runtime=False)
    huge = np.array([2**64 - 1, 3], np.uint64)
    want = np.array([[0, 0, 0, 0], [0, 0, 0, 1]], np.int32)
    check_peers("OneHot", [huge, ints(4), values], want=[want], dynamic=[True], host=False, runtime=False)


@pytest.mark.parametrize("k", [0, 1, -2, 9])
@pytest.mark.parametrize("dtype", [1, 6, 9, 10, 11, 16, 2])
def test_eye_like(k: int, dtype: int) -> None:
    runtime = dtype in (1, 6, 11)
    for shape in ((3, 5), (4, 1), (0, 3)):
        check_peers("EyeLike", [numbers(*shape)], dynamic=[True], runtime=runtime, k=k, dtype=dtype)


def test_eye_of_its_own_type() -> None:
    check_peers("EyeLike", [numbers(3, 3, dtype=np.int64)])


@pytest.mark.parametrize("axes", [(0, 1), (1, 0)])
@pytest.mark.parametrize("dtype", ["float32", "bool", "int64", "float16"])
def test_reverse_sequence(axes: tuple[int, int], dtype: str) -> None:
    batch, time = axes
    for inner in ((), (3,), (2, 0)):
        x = numbers(4, 4, *inner, dtype=dtype)
        check_peers(
            "ReverseSequence", [x, ints(4, 0, 1, 3)], dynamic=[True], batch_axis=batch, time_axis=time,
            runtime=0 not in inner,
        )  # fmt: skip


def test_a_length_out_of_range_is_refused() -> None:
    model = compiled(
        "agraph (float[T, B] x, int64[K] n) => (float[T, B] y) {"
        "y = ReverseSequence <batch_axis = 1, time_axis = 0> (x, n) }"
    )
    x = numbers(3, 2)
    np.testing.assert_array_equal(model(x, ints(3, 1))[0][:, 0], x[::-1, 0])
    for bad in (4, -1):
        with pytest.raises(
            InputError, match=f"the length of a sequence {bad} is out of range: expected 0 to 3"
        ):
            model(x, ints(1, bad))
    with pytest.raises(InputError, match="there is not one length for each batch entry"):
        model(x, ints(1))


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("axis", [1, 2, -2, -1])
def test_tensor_scatter(mode: str, axis: int) -> None:
    cache = numbers(2, 5, 5, 3)
    update = np.take(cache, range(2), axis) + 100
    begins = ints(1, 0) if mode == "linear" else ints(4, 7)
    check_peers("TensorScatter", [cache, update, begins], runtime=False, mode=mode, axis=axis)
    check_peers("TensorScatter", [cache, update], runtime=False, mode=mode, axis=axis)


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float64, ml_dtypes.bfloat16])
def test_caches_of_any_type(dtype: Any) -> None:
    cache, update = numbers(2, 4, 3, dtype=dtype), numbers(2, 2, 3, dtype=dtype)
    check_peers("TensorScatter", [cache, update, ints(2, 0)], dynamic=[True], runtime=False)


def test_updates_that_do_not_fit_a_cache_are_refused() -> None:
    text = "agraph (float[A, N, M] c, float[B, K, L] u, int64[W] i) => (float[A, N, M] y) { y = TensorScatter"
    linear, circular = (
        compiled(text + "(c, u, i) }", 24),
        compiled(text + '<mode = "circular"> (c, u, i) }', 24),
    )
    cache, update = numbers(2, 4, 3), numbers(2, 2, 3)
    for bad in (3, -1):
        with pytest.raises(InputError, match=f"a write index {bad} is out of range: expected 0 to 2"):
            linear(cache, update, ints(0, bad))
    with pytest.raises(InputError, match="a write index -1 is out of range"):
        circular(cache, update, ints(0, -1))
    with pytest.raises(InputError, match="the update is longer than the cache"):
        linear(cache, numbers(2, 5, 3), ints(0, 0))
    with pytest.raises(InputError, match="dim 2 of the update is not that of the cache"):
        linear(cache, numbers(2, 2, 2), ints(0, 0))
    with pytest.raises(InputError, match="there is not one index for each batch entry"):
        linear(cache, update, ints(0))


REVERSED = "ReverseSequence over other axes than the first two has no kernel"
CACHE = "TensorScatter of this form has no kernel"
TIMES = "batch_axis = 0 : si64, time_axis = 1 : si64"


def reverse(data: str, attributes: str, lengths: str = "4x") -> Case:
    return ("ReverseSequence", [*tensors(data), f"tensor<{lengths}i64>"], attributes, tensors(data))


def scatter(cache: str, update: str, attributes: str = "") -> Case:
    return ("TensorScatter", [*tensors(cache, update), "tensor<2xi64>"], attributes, tensors(cache))


REASONS: dict[str, tuple[Case, str | None]] = {
    "eye": (("EyeLike", tensors("2x3"), "", tensors("2x3")), None),
    "eye of a list": (
        ("EyeLike", tensors("3"), "", tensors("3x3")),
        "EyeLike of anything but a matrix has no kernel",
    ),
    "reverse": (reverse("4x3", TIMES), None),
    "reverse the same axis": (reverse("4x3", "batch_axis = 0 : si64, time_axis = 0 : si64"), REVERSED),
    "reverse a list": (reverse("4", TIMES), REVERSED),
    "reverse by a matrix": (reverse("4x3", TIMES, "4x1x"), REVERSED),
    "scatter": (scatter("2x4x3", "2x1x3"), None),
    "scatter otherwise": (scatter("2x4x3", "2x1x3", 'mode = "spiral"'), CACHE),
    "scatter into a list": (scatter("4", "1"), CACHE),
    "scatter along the batch": (scatter("2x4x3", "1x4x3", "axis = 0 : si64"), CACHE),
    "scatter another rank": (scatter("2x4x3", "2x3"), CACHE),
    "scatter at a scalar": (
        ("TensorScatter", [*tensors("2x4x3", "2x1x3"), "tensor<i64>"], "", tensors("2x4x3")),
        CACHE,
    ),
}


@check(REASONS)
def test_reasons(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_elements_are_moved(dtype: str) -> None:
    def parts(*shape: int) -> Array:
        return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)

    data, places = parts(4, 3), ints(3, 0)
    moved = data.copy()
    moved[places] = data[:2]
    ways: dict[str, tuple[list[Array], Array, dict[str, Any]]] = {
        "ScatterND": ([data, places[:, None], data[:2]], moved, {}),
        "Compress": ([data, np.array([True, False, True])], data[[0, 2]], {"axis": 0}),
        "ReverseSequence": ([data, ints(4, 0, 1)], np.hstack([data[::-1, :1], data[:, 1:]]), {}),
        "OneHot": ([ints(1), ints(2), data[0, :2]], data[:1, :2], {}),
    }
    for name, (arrays, want, attrs) in ways.items():
        check_peers(name, arrays, want=[want], host=False, runtime=False, dynamic=[True], **attrs)


COMPLEX = "tensor<4xcomplex<f32>>"
NUMBERS = "kernels do not compute with elements of type complex<f32>"
COMPLEX_REASONS: dict[str, tuple[Case, str | None]] = {
    "places": (("NonZero", [COMPLEX], "", ["tensor<1x?xi64>"]), NUMBERS),
    "unique": (("Unique", [COMPLEX], "", ["tensor<?xcomplex<f32>>", "none", "none", "none"]), NUMBERS),
    "sums": (
        ("ScatterElements", [COMPLEX, "tensor<4xi64>", COMPLEX], 'reduction = "add"', [COMPLEX]),
        NUMBERS,
    ),
}


@check(COMPLEX_REASONS)
def test_complex_elements_are_not_computed_with(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason
