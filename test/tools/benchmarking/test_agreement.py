"""Errors are relative to the range of values; other forms and misplaced NaNs are infinitely wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from onnxloom.tools.benchmarking.agreement import outputs_error, value_error


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("want", "got", "error"),
    [
        (f32(0, 10), f32(1, 10), 0.1),
        (f32(4), f32(5), 0.25),
        (f32(0), f32(3), 3.0),
        (f32(), f32(), 0.0),
        (f32(1, np.nan, np.inf), f32(1, np.nan, np.inf), 0.0),
        (f32(1, np.nan), f32(1, 2), math.inf),
        (f32(np.inf), f32(-np.inf), math.inf),
        (f32(1, 2), f32(1), math.inf),
        (np.array([0, 4]), np.array([0, 5]), 0.25),
        (np.array(["a"], object), np.array(["a"]), 0.0),
        (np.array(["a"], object), np.array(["b"]), math.inf),
        ([f32(0, 1)], [f32(0, 2)], 1.0),
        ([f32(0, 1)], [], math.inf),
        ([{0: 0.5}], [{0: 0.5}], 0.0),
        ({0: 0.5}, {1: 0.5}, math.inf),
        ({0: 0.5}, {0: 1.0}, 1.0),
        (None, None, 0.0),
        (None, f32(1), math.inf),
    ],
)
def test_value_error(want: Any, got: Any, error: float):
    assert value_error(want, got) == pytest.approx(error)


def test_worst_output_counts_and_none_may_be_missing():
    want = {"a": f32(0, 1), "b": f32(0, 1)}
    assert outputs_error(want, {"a": f32(0, 1), "b": f32(0, 1.5), "c": f32(9)}) == 0.5
    assert outputs_error(want, {"a": f32(0, 1)}) == math.inf
