"""What each tolerance lets through, by element type."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from onnxloom.testing import Abs, Exact, Rel, Tolerance, Ulp, difference, differences, parse_tolerance

F32 = np.float32
BF16 = ml_dtypes.bfloat16
ONE = np.array(1, F32)
NEXT = np.nextafter(ONE, F32(2))


def equal(want: Any, got: Any, tolerance: Tolerance) -> bool:
    return difference("y", want, got, tolerance) is None


@pytest.mark.parametrize("tolerance", [Exact(), Ulp(1), Abs(1.0), Rel(1.0)])
def test_nan_is_nan_and_infinities_are_themselves(tolerance: Tolerance) -> None:
    special = np.array([np.nan, np.inf, -np.inf], F32)
    other_nan = np.array([0x7FC00001], np.uint32).view(F32)
    assert equal(special, special.copy(), tolerance)
    assert equal(special[:1], other_nan, tolerance)
    assert not equal(special, np.array([1, np.inf, -np.inf], F32), tolerance)
    assert not equal(special, np.array([np.nan, np.inf, np.inf], F32), tolerance)
    assert not equal(special, np.array([np.nan, 3e38, -np.inf], F32), tolerance)
    assert not equal(np.zeros(1, F32), special[:1], tolerance)


def test_exact_tells_zeros_and_neighbours_apart() -> None:
    assert equal(ONE, ONE.copy(), Exact())
    assert not equal(ONE, NEXT, Exact())
    assert not equal(F32(0.0), F32(-0.0), Exact())
    assert equal(F32(0.0), F32(-0.0), Ulp(0))


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn]
)
def test_ulp_counts_representable_values(dtype: Any) -> None:
    want = np.array([1.0, -1.0, 0.0], dtype)
    got = want.copy()
    bits = got.view(f"u{got.dtype.itemsize}")
    bits[:2] += 2
    bits[2] += 1  # the smallest denormal
    assert equal(want, got, Ulp(2))
    assert not equal(want, got, Ulp(1))
    below_zero = (-got[2:]).astype(dtype)
    assert equal(got[2:], below_zero, Ulp(2))
    assert not equal(got[2:], below_zero, Ulp(1))


def test_ulps_of_a_type_without_a_sign() -> None:
    want = np.array([1.0], ml_dtypes.float8_e8m0fnu)
    assert equal(want, np.array([2.0], want.dtype), Ulp(1))


def test_the_byte_order_does_not_matter() -> None:
    want = np.array([[1.0, 2.0], [3.0, 4.0]], ">f4")
    assert equal(want, want.astype("<f4"), Exact())
    assert equal(want, np.nextafter(want, F32(9)).astype("<f4"), Ulp(1))
    assert equal(want.T, np.ascontiguousarray(want.T).astype("<f4"), Exact())


def test_ulps_of_the_widest_distance_do_not_wrap_around() -> None:
    top = np.array([np.finfo(np.float64).max])
    assert not equal(top, -top, Ulp(1 << 62))


def test_abs_is_the_distance() -> None:
    assert equal(F32(1.0), F32(1.5), Abs(0.5))
    assert not equal(F32(1.0), F32(1.5), Abs(0.4))
    assert equal(np.array([127, -128], np.int8), np.array([126, -127], np.int8), Abs(1))
    assert not equal(np.array([127], np.int8), np.array([-128], np.int8), Abs(100))


def test_rel_is_relative_to_the_element_and_to_the_median_below_it() -> None:
    want = np.array([100.0, 1.0, 1.0, 0.0], F32)
    assert equal(want, want * F32(1.0009), Rel(1e-3))
    assert not equal(want, np.array([100.0, 1.01, 1.0, 0.0], F32), Rel(1e-3))
    assert not equal(want, np.array([100.2, 1.0, 1.0, 0.0], F32), Rel(1e-3))
    assert equal(want, np.array([100.0, 1.0, 1.0, 1e-4], F32), Rel(1e-3))
    assert not equal(want, np.array([100.0, 1.0, 1.0, 2e-3], F32), Rel(1e-3))


def test_an_extreme_value_does_not_widen_rel() -> None:
    want = np.array([3e38, 1.0, 1.0], F32)
    assert not equal(want, np.array([3e38, 1.1, 1.0], F32), Rel(1e-3))


def test_rel_allows_one_rounding_of_a_narrow_type_and_its_floor() -> None:
    want = np.array([1.0], np.float16)
    next_one = np.nextafter(want, np.float16(2))
    after_that = np.nextafter(next_one, np.float16(2))
    assert equal(want, next_one, Rel(1e-6))
    assert not equal(want, after_that, Rel(1e-6))
    assert equal(want, after_that, Rel(1e-6, steps=2))
    assert equal(np.zeros(2, F32), np.full(2, 1e-7, F32), Rel(1e-3, floor=1e-6))
    assert not equal(np.zeros(2, F32), np.full(2, 1e-5, F32), Rel(1e-3, floor=1e-6))


@pytest.mark.parametrize("tolerance", [Exact(), Ulp(5), Abs(0.5), Rel(1.0)])
def test_integers_bools_and_strings_must_be_equal(tolerance: Tolerance) -> None:
    for want, got in (
        (np.array([1, 2]), np.array([1, 3])),
        (np.array([True]), np.array([False])),
        (np.array(["a"], object), np.array(["b"], object)),
        (np.array([1], ml_dtypes.int4), np.array([2], ml_dtypes.int4)),
    ):
        assert equal(want, want.copy(), tolerance)
        assert not equal(want, got, tolerance)


def test_complex_numbers_are_compared_by_part() -> None:
    want = np.array([1 + 2j], np.complex64)
    assert equal(want, want + np.complex64(0.25j), Abs(0.25))
    assert not equal(want, want + np.complex64(0.5j), Abs(0.25))


def test_the_message_names_the_worst_element() -> None:
    found = difference("y", np.ones((2, 3), F32), np.array([[1, 1, 1], [1, NEXT, 2]], F32), Ulp(0))
    assert found is not None
    assert str(found) == (
        "y: element [1, 2]: expected 1.0, got 2.0, 8388608 ulp apart; "
        "2 of 6 elements out of tolerance (0 ulp)"
    )


@pytest.mark.parametrize(
    ("want", "got", "message"),
    [
        (np.array(1, F32), np.array(2, F32), "y: expected 1.0, got 2.0, 8388608 ulp apart; 1 of 1 elements"),
        (np.array(1, F32), np.array(np.nan, F32), "y: expected 1.0, got nan; 1 of 1 elements"),
        (np.array(["a"]), np.array(["b" * 50], object), f"y: element [0]: expected 'a', got '{'b' * 40}'; 1"),
        (
            np.array([1.5], ml_dtypes.bfloat16),
            np.array([2], ml_dtypes.bfloat16),
            "y: element [0]: expected 1.5",
        ),
        (np.array([7]), np.array([8]), "y: element [0]: expected 7, got 8; 1 of 1 elements"),
    ],
)
def test_the_message_shows_both_values(want: Any, got: Any, message: str) -> None:
    assert str(difference("y", want, got)).startswith(message)


def test_strings_of_every_dtype_are_equal() -> None:
    assert difference("y", np.array(["a", "bc"]), np.array(["a", "bc"], object)) is None


@pytest.mark.parametrize(
    ("want", "got", "reason"),
    [
        (np.zeros(2, F32), np.zeros(2), "expected dtype float32, got float64"),
        (np.zeros(2, F32), np.zeros((2, 1), F32), "expected shape [2], got [2, 1]"),
        ([ONE], [ONE, ONE], "expected a sequence of 1, got one of 2"),
        ({"a": ONE}, {"b": ONE}, "expected the keys a, got b"),
        (ONE, None, "expected a tensor, got nothing"),
        (ONE, [ONE], "expected a tensor, got a sequence"),
        ({"a": ONE}, ONE, "expected a map, got a tensor"),
    ],
)
def test_kinds_dtypes_and_shapes_must_agree(want: Any, got: Any, reason: str) -> None:
    found = difference("y", want, got, Abs(1e9))
    assert found is not None
    assert found.reason == reason


def test_nothing_equals_nothing() -> None:
    assert difference("y", None, None) is None


def test_elements_of_sequences_and_maps_are_named() -> None:
    found = difference("y", [ONE, {"k": ONE}], [ONE, {"k": NEXT}])
    assert found is not None
    assert found.name == "y[1]['k']"


def test_names_and_their_order_must_agree() -> None:
    assert not differences({"a": ONE, "b": ONE}, {"a": ONE, "b": ONE})
    assert "expected a, b, got b, a" in str(differences({"a": ONE, "b": ONE}, {"b": ONE, "a": ONE})[0])


def test_the_worst_value_comes_first() -> None:
    want = {"a": ONE, "b": ONE, "c": ONE}
    got = {"a": NEXT, "b": F32(2.0), "c": ONE}
    assert [found.name for found in differences(want, got)] == ["b", "a"]


def test_tolerances_are_read_from_text() -> None:
    texts = ("exact", "abs:0.5", "ulp:4")
    assert [parse_tolerance(text) for text in texts] == [Exact(), Abs(0.5), Ulp(4)]
    assert parse_tolerance("rel:1e-3").limit == 1e-3
    shown = [str(one) for one in (Exact(), Abs(0.5), Ulp(4), Rel(0.1), Rel(0.1, floor=0.01))]
    assert shown == ["exact", "abs 0.5", "4 ulp", "rel 0.1", "rel 0.1 (or 0.01)"]
    for text in ("", "rel", "rel:x", "exact:1", "ulp:-1", "near:1", "abs:nan"):
        with pytest.raises(ValueError, match="is no tolerance"):
            parse_tolerance(text)
