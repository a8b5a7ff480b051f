"""Is the remainder of floats the exact one, with the sign that is asked for?"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx.helper as oh
import pytest
from numerics import Array, compiled, graph_model

RNG = np.random.default_rng(12)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.1, -3.0, 5.5, 1e30, -1e-30, 1e-45, np.inf, -np.inf, np.nan]


def remainder(a: Array, b: Array, fmod: int) -> Array:
    model = compiled(
        graph_model([oh.make_node("Mod", ["a", "b"], ["y"], fmod=fmod)], {"a": a, "b": b}, {"y": a})
    )
    (got,) = model.run({"a": a, "b": b}).values()
    assert not model.host_counts
    return got


def check(a: Array, b: Array) -> None:
    for fmod, function in ((1, np.fmod), (0, np.mod)):
        with np.errstate(all="ignore"):
            want = function(*np.broadcast_arrays(a, b)).astype(a.dtype)
            narrow = np.fmod(*np.broadcast_arrays(a, b)) == 0
        got = remainder(a, b, fmod)
        np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64))
        wide_got, wide_want = got.astype(np.float64), want.astype(np.float64)
        told = ~np.isnan(wide_want) & (narrow | (fmod == 1))
        np.testing.assert_array_equal(np.signbit(wide_got)[told], np.signbit(wide_want)[told])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_values(dtype: str) -> None:
    values = np.array(SPECIAL, dtype)
    check(values[:, None], values[None])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ml_dtypes.bfloat16])
def test_random_values(dtype: Any) -> None:
    a = (RNG.normal(size=(4, 50)) * 2.0 ** RNG.integers(-12, 12, (4, 50))).astype(dtype)
    b = (RNG.normal(size=50) * 2.0 ** RNG.integers(-4, 4, 50)).astype(dtype)
    check(a, b)


def test_quotients_of_many_digits() -> None:
    check(np.array([1.7e308, -1.7e308, 1e300]), np.array([4.9e-324, 3.3, 7e-310]))


def test_no_elements() -> None:
    assert remainder(np.zeros((0, 3), np.float32), np.ones(3, np.float32), 1).shape == (0, 3)
