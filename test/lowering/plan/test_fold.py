"""Constants stay as long as something reads their contents."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxloom


@pytest.mark.parametrize("parts", [4, 600])
def test_lengths_of_parts_are_kept_however_many_they_are(parts: int) -> None:
    names = [f"y{i}" for i in range(parts)]
    graph = helper.make_graph(
        [helper.make_node("Split", ["x", "lengths"], names, axis=0)],
        "split",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None]) for name in names],
        [numpy_helper.from_array(np.ones(parts, np.int64), "lengths")],
    )
    model = onnxloom.compile(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    )
    results = model(np.arange(parts, dtype=np.float32))
    assert [float(r[0]) for r in results] == list(range(parts))
