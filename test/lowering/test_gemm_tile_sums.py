"""How much do long sums of products round? No more than sums of chunks do."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, numpy_helper

import onnxloom


@pytest.mark.parametrize("rows", [1, 3, 9])
@pytest.mark.parametrize("depth", [256, 257, 4000])
def test_long_sums_are_added_up_in_chunks(rows: int, depth: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, depth)).astype(np.float32)
    w = (rng.standard_normal((depth, 70)) / np.sqrt(depth)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "sums",
        [helper.make_tensor_value_info("x", 1, x.shape)],
        [helper.make_tensor_value_info("y", 1, [rows, 70])],
        [numpy_helper.from_array(w, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (y,) = onnxloom.compile(model).run({"x": x}).values()
    error = y - x.astype(np.float64) @ w.astype(np.float64)
    # A plain sum of 4000 products is off by 1.1e-6 in the mean, chunks of 256 by 0.3e-6.
    assert np.sqrt((error**2).mean()) < 5e-7
