"""Ops that onnxruntime has in the default domain at any opset run here as they do there."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

import onnxloom
from onnxloom.errors import UnsupportedOpError


def model_of(op_type: str, inputs: int, outputs: int = 1, **attributes: Any) -> onnx.ModelProto:
    names, results = ["x", "scale", "bias"][:inputs], [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op_type, names, results, **attributes)
    infos = [helper.make_tensor_value_info(n, 1, [2, 3, 8] if n == "x" else [8]) for n in names]
    made = [helper.make_empty_tensor_value_info(name) for name in results]
    graph = helper.make_graph([node], "own", infos, made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)


@pytest.mark.parametrize(
    "op_type, inputs",
    [("LayerNormalization", 3), ("LayerNormalization", 2), ("SimplifiedLayerNormalization", 2)],
)
def test_results_are_onnxruntimes(op_type: str, inputs: int) -> None:
    model = model_of(op_type, inputs, axis=-1, epsilon=0.01)
    rng = np.random.default_rng(0)
    shapes = [[2, 3, 8], [8], [8]][:inputs]
    feeds = {
        n: rng.standard_normal(s).astype(np.float32)
        for n, s in zip(["x", "scale", "bias"], shapes, strict=False)
    }
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (got,) = onnxloom.compile(model, cache=False).run(feeds).values()
    np.testing.assert_allclose(got, np.asarray(session.run(None, feeds)[0]), rtol=1e-5, atol=1e-6)


def test_a_result_that_the_standard_does_not_have_is_refused() -> None:
    with pytest.raises(UnsupportedOpError, match="its inverse deviation is read"):
        onnxloom.compile(model_of("SimplifiedLayerNormalization", 2, outputs=2), cache=False)


def test_other_ops_of_later_opsets_are_refused() -> None:
    with pytest.raises(UnsupportedOpError, match="RMSNormalization does not exist in opset 12"):
        onnxloom.compile(model_of("RMSNormalization", 2), cache=False)
