"""Transposed convolutions of halves sum in f32: many taps on one place are rounded once."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper

import onnxloom


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("bias", [False, True])
def test_taps_that_overlap_are_rounded_once(dtype: Any, bias: bool) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(1, 8, 20)).astype(dtype), rng.normal(size=(8, 3, 9)).astype(dtype)
    arrays = {"x": x, "w": w, **({"b": np.array([100, -50, 7]).astype(dtype)} if bias else {})}
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(
        [helper.make_node("ConvTranspose", list(arrays), ["y"])],
        "transposed",
        [helper.make_tensor_value_info(n, kind, a.shape) for n, a in arrays.items()],
        [helper.make_tensor_value_info("y", kind, [1, 3, 28])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    want = np.zeros((1, 3, 28))
    for place in range(20):
        want[0, :, place : place + 9] += np.einsum(
            "c,cmt->mt", x[0, :, place].astype(np.float64), w.astype(np.float64)
        )
    if bias:
        want += arrays["b"].astype(np.float64)[:, None]
    got = onnxloom.compile(model).run(arrays)["y"]
    exact = want.astype(np.float32).astype(dtype)
    assert np.mean(got == exact) > 0.97  # but for sums that lie next to a tie
