"""Labels and transforms around the probabilities of a support vector classification are ops of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto
from onnx import helper as oh

from onnxloom.conversion.onnx_import import import_model
from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.testing.patterns import decline_reason
from onnxloom.transforms.patterns.machine_learning.svm_probabilities import SVMProbabilitiesPattern

SVC: dict[str, Any] = {
    "classlabels_ints": [7, 3, 5], "vectors_per_class": [1, 1, 1], "kernel_type": "RBF",
    "coefficients": [0.5, -1.0, 0.75, 1.0, 0.25, -0.5], "kernel_params": [0.25, 0.0, 3.0],
    "support_vectors": [0.1, -0.2, 0.3, 0.4, 0.5, -0.6], "rho": [0.25, -0.5, 0.125],
    "prob_a": [-1.0, -2.0, -1.5], "prob_b": [0.0, 0.25, -0.25],
}  # fmt: skip
FLOAT, STRING = TensorProto.FLOAT, TensorProto.STRING


def model_of(shape: Sequence[int | str] = ("n", 2), element: int = FLOAT, **changes: Any) -> onnx.ModelProto:
    given = {name: value for name, value in {**SVC, **changes}.items() if value is not None}
    node = oh.make_node("SVMClassifier", ["x"], ["y", "z"], domain="ai.onnx.ml", **given)
    label = STRING if "classlabels_strings" in given else TensorProto.INT64
    outs = [oh.make_tensor_value_info(n, t, None) for n, t in (("y", label), ("z", FLOAT))]
    graph = oh.make_graph([node], "g", [oh.make_tensor_value_info("x", element, shape)], outs)
    imports = [oh.make_opsetid("", 21), oh.make_opsetid("ai.onnx.ml", 1)]
    return oh.make_model(graph, opset_imports=imports, ir_version=10)


TEXTS = {"classlabels_ints": None, "classlabels_strings": ["b", "c", "a"]}


@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize(
    "changes",
    [
        *({"post_transform": t} for t in ("SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")),
        {"element": TensorProto.DOUBLE},
        {"element": TensorProto.INT32},
        TEXTS,
        {**TEXTS, "post_transform": "SOFTMAX"},
    ],
)
def test_results_are_those_of_onnxruntime(changes: dict[str, Any], level: int):
    model = model_of(**changes)
    dtype = oh.tensor_dtype_to_np_dtype(changes.get("element", FLOAT))
    x = (np.random.default_rng(5).standard_normal((7, 2)) * 2).astype(dtype)
    theirs = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    ours = compile_model(model, CompileOptions(cache=False, opt_level=level))
    labels, scores = ours.run({"x": x}).values()
    np.testing.assert_array_equal(labels, theirs[0])
    np.testing.assert_allclose(scores, theirs[1], rtol=2e-5, atol=5e-6)
    assert not [title for title in ours.host_counts if "SVM" in title]


NEGATIVE: list[tuple[dict[str, Any], str]] = [
    ({"shape": (2,)}, "not known to be rows"),
    ({"prob_a": None}, "no probabilities of pairs"),
    ({"vectors_per_class": None, "post_transform": "SOFTMAX"}, "no probabilities of pairs"),
    ({"classlabels_ints": None}, "there are no labels"),
    ({"post_transform": "SOFT"}, "what follows is SOFT"),
    ({}, "nothing around"),
]


@pytest.mark.parametrize(("changes", "reason"), NEGATIVE)
def test_op_stays(changes: dict[str, Any], reason: str):
    assert reason in decline_reason(import_model(model_of(**changes)), SVMProbabilitiesPattern)
