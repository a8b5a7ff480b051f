"""Are determinants those that numpy gives?"""

from __future__ import annotations

import numpy as np
import onnx.helper as oh
import pytest
from numerics import Array, assert_close, compiled, graph_model

from onnxloom.errors import OnnxloomError

RNG = np.random.default_rng(14)


def run(x: Array, want: Array) -> Array:
    model = compiled(graph_model([oh.make_node("Det", ["x"], ["y"])], {"x": x}, {"y": want}))
    (got,) = model.run({"x": x}).values()
    assert not model.host_counts
    return got


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 5, 1, 1), (4, 6, 6), (0, 2, 2), (2, 0, 0)])
def test_as_numpy(shape: tuple[int, ...], dtype: str) -> None:
    x = RNG.normal(size=shape).astype(dtype)
    want = np.asarray(np.linalg.det(x.astype(np.float64))).astype(dtype)
    assert_close([run(x, want)], [want], rtol=1e-3 if dtype == "float16" else 1e-6)


def test_pivots_of_zero_singular_matrices_and_nan() -> None:
    x = np.array([[[0, 1], [1, 0]], [[1, 2], [2, 4]], [[0, 0], [0, 5]], [[np.nan, 1], [1, 1]]], np.float32)
    got = run(x, np.zeros(4, np.float32))
    assert got[:3].tolist() == [-1.0, 0.0, 0.0]
    assert np.isnan(got[3])


def test_matrices_that_are_not_square_are_refused() -> None:
    with pytest.raises(OnnxloomError, match="a matrix is not square"):
        run(np.ones((2, 3), np.float32), np.zeros((), np.float32))
