"""Does TopK give the best elements, in order, of equal ones the first?"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from against_peers import check_peers
from lowering_reasons import Case, check, reason_of
from numerics import Array
from text_models import compiled

from onnxloom.errors import InputError

RNG = np.random.default_rng(7)


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int64", "int32", "uint8", "float16", "int8", "uint64", "uint32"]
)
def test_any_element_type_with_many_equal_elements(dtype: str, largest: int) -> None:
    low = 0 if dtype.startswith("u") else -9
    x = RNG.integers(low, 9, (3, 150)).astype(dtype)
    runtime = dtype in ("float32", "float64", "int64", "int32")
    for k in (1, 7, 150):
        check_peers(
            "TopK", [x, ints(k)], outputs=2, constants=[1], dynamic=[True], runtime=runtime, largest=largest
        )


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_any_axis(axis: int) -> None:
    x = RNG.standard_normal((4, 70, 5)).astype(np.float32)
    check_peers("TopK", [x, ints(3)], outputs=2, axis=axis)


@pytest.mark.parametrize(
    ("size", "k"), [(31, 5), (32, 5), (33, 32), (64, 1), (200, 100), (1, 1), (5, 0), (0, 0)]
)
def test_rows_of_whole_blocks_and_less(size: int, k: int) -> None:
    x = RNG.standard_normal((2, size)).astype(np.float32)
    for row in (x, np.sort(x), -np.sort(-x)):
        check_peers("TopK", [row, ints(k)], outputs=2, constants=[1], runtime=k > 0)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8", "uint64", "float16"])
def test_most_of_a_long_row(dtype: str, largest: int) -> None:
    low, high = (0, 2**62) if dtype in ("int64", "uint64") else (-100, 100)
    x = RNG.integers(low, high, (2, 1500)).astype(dtype)
    x[:, 700:900] = 3  # many equal ones
    for k in (1500, 200):
        check_peers(
            "TopK", [x, ints(k)], outputs=2, constants=[1], runtime=dtype in ("float32", "float64", "int64"),
            largest=largest,
        )  # fmt: skip
    check_peers("TopK", [x, ints(400)], outputs=2, dynamic=[True], runtime=False, largest=largest)


def test_a_long_axis_in_the_middle_and_a_row_that_is_the_same_everywhere() -> None:
    x = RNG.standard_normal((2, 1100, 3)).astype(np.float32)
    check_peers("TopK", [x, ints(1000)], outputs=2, axis=1)
    check_peers("TopK", [np.full(2000, 5, np.float32), ints(2000)], outputs=2, constants=[1], host=False)


def test_one_plan_has_a_heap_and_another_one_lists() -> None:
    model = compiled("agraph (float[N] x, int64[1] k) => (float[M] y, int64[M] i) { y, i = TopK(x, k) }")
    x = RNG.standard_normal(3000).astype(np.float32)
    for k in (5, 3000, 0):
        places = np.argsort(-x, kind="stable")[:k]
        y, i = model(x, ints(k))
        np.testing.assert_array_equal(i, places)
        np.testing.assert_array_equal(y, x[places])
    kernels = {kernel for root in model.plans for child in root.children.values() for kernel in child.kernels}
    assert {kernel.rpartition("_")[0] for kernel in kernels} == {"top_k", "top_k_lists"}


def test_no_rows_and_one_dim() -> None:
    check_peers("TopK", [np.zeros((0, 4), np.float32), ints(2)], outputs=2)
    check_peers("TopK", [RNG.standard_normal(100).astype(np.float32), ints(9)], outputs=2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("largest", [0, 1])
def test_nan_is_above_all_numbers_and_zeros_are_equal(dtype: Any, largest: int) -> None:
    x = np.tile([0.0, -0.0, np.nan, -np.inf, np.inf, 1.0, -1.0, np.nan], 9).astype(dtype)
    order = np.lexsort((np.arange(x.size), -x.astype(float) if largest else x.astype(float)))
    nan = np.isnan(x[order].astype(float))
    order = np.concatenate([order[nan], order[~nan]]) if largest else order
    places = order[:20].astype(np.int64)
    check_peers(
        "TopK", [x, ints(20)], outputs=2, want=[x[places], places], host=False, runtime=False, largest=largest
    )


def test_k_out_of_range_is_refused() -> None:
    model = compiled("agraph (float[N] x, int64[1] k) => (float[M] y, int64[M] i) { y, i = TopK(x, k) }")
    x = np.arange(4, dtype=np.float32)
    assert model(x, ints(2))[1].tolist() == [3, 2]
    with pytest.raises(InputError, match="k is larger than the dim of the axis"):
        model(x, ints(5))
    with pytest.raises(InputError, match="k is negative"):
        model(x, ints(-1))


RESULTS = ["tensor<?xf32>", "tensor<?xi64>"]
REASONS: dict[str, tuple[Case, str | None]] = {
    "fits": (("TopK", ["tensor<?xf32>", "tensor<1xi64>"], "", RESULTS), None),
    "scalar": (
        ("TopK", ["tensor<f32>", "tensor<1xi64>"], "", ["tensor<f32>", "tensor<i64>"]),
        "TopK of a scalar has no kernel",
    ),
}


@check(REASONS)
def test_reasons(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason
