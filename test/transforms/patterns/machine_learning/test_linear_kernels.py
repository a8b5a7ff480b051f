"""Large coefficients of a linear support vector machine cancel: their sums are as exact as onnxruntime's."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto
from onnx import helper as oh

from onnxloom.lowering.compile import CompileOptions, compile_model

SUPPORTS, FEATURES = 400, 12


def attributes(kind: str) -> dict[str, Any]:
    """Of a classification of two classes, or a regression; the coefficients add up to 0."""
    rng = np.random.default_rng(11)
    coefficients = rng.standard_normal(SUPPORTS) * 1000
    coefficients -= coefficients.mean()
    given: dict[str, Any] = {
        "kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 3.0], "rho": [0.5],
        "coefficients": coefficients.astype(np.float32).tolist(),
        "support_vectors": (rng.standard_normal(SUPPORTS * FEATURES) + 3).astype(np.float32).tolist(),
    }  # fmt: skip
    if kind == "SVMRegressor":
        return given | {"n_supports": SUPPORTS}
    return given | {"classlabels_ints": [0, 1], "vectors_per_class": [SUPPORTS // 2] * 2}


@pytest.mark.parametrize("kind", ["SVMRegressor", "SVMClassifier"])
def test_sums_are_as_exact_as_those_of_onnxruntime(kind: str):
    given = attributes(kind)
    outs = [oh.make_tensor_value_info("z", TensorProto.FLOAT, None)]
    if kind == "SVMClassifier":
        outs.insert(0, oh.make_tensor_value_info("y", TensorProto.INT64, None))
    node = oh.make_node(kind, ["x"], [o.name for o in outs], domain="ai.onnx.ml", **given)
    x_info = oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", FEATURES])
    imports = [oh.make_opsetid("", 21), oh.make_opsetid("ai.onnx.ml", 1)]
    model = oh.make_model(oh.make_graph([node], "g", [x_info], outs), opset_imports=imports, ir_version=10)
    x = np.random.default_rng(12).standard_normal((50, FEATURES)).astype(np.float32)
    vectors = np.array(given["support_vectors"], np.float64).reshape(SUPPORTS, -1)
    exact = (x.astype(np.float64) @ vectors.T) @ np.array(given["coefficients"], np.float64) + 0.5

    def error(scores: Any) -> float:
        return float(np.abs(scores[:, -1] - exact).max())

    compiled = compile_model(model, CompileOptions(cache=False))
    ours = compiled.run({"x": x})["z"]
    theirs = ort.InferenceSession(model.SerializeToString()).run(["z"], {"x": x})[0]
    assert compiled.host_steps == 0
    assert error(ours) <= 2 * error(theirs)
