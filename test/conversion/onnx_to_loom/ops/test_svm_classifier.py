"""Are the probabilities of a support vector classification those of onnxruntime, sweep for sweep?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from lowering_reasons import Case, check, reason_of
from numerics import compiled
from onnx import TensorProto
from onnx import helper as oh

from onnxloom.errors import InputError
from onnxloom.lowering.runtime.host_ops import evaluate

KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def machine(per_class: Sequence[int], kernel: str = "RBF", features: int = 3) -> dict[str, Any]:
    """Random attributes of a classification with probabilities."""
    rng = np.random.default_rng([*per_class, features])
    supports, classes = sum(per_class), len(per_class)
    pairs = classes * (classes - 1) // 2

    def floats(count: int, scale: float = 1.0) -> list[float]:
        return [float(v) for v in (rng.standard_normal(count) * scale).astype(np.float32)]

    return {
        "kernel_type": kernel, "kernel_params": [0.25, 0.5, 2.0], "vectors_per_class": list(per_class),
        "support_vectors": floats(supports * features), "coefficients": floats(supports * (classes - 1)),
        "rho": floats(pairs), "prob_a": [-abs(v) - 0.25 for v in floats(pairs)], "prob_b": floats(pairs),
        "classlabels_ints": [5 - 3 * i for i in range(classes)],
    }  # fmt: skip


def check_model(attributes: dict[str, Any], x: Any) -> None:
    """Compares the kernel with onnxruntime and with the host op."""
    node = oh.make_node("SVMClassifier", ["x"], ["y", "z"], domain="ai.onnx.ml", **attributes)
    model = model_of(node, x.shape[1])
    theirs = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    kernel = compiled(model)
    ours = list(kernel.run({"x": x}).values())
    assert not kernel.host_counts
    for labels, scores in (ours, evaluate(node, [x])):
        np.testing.assert_array_equal(labels, theirs[0])
        np.testing.assert_allclose(scores, theirs[1], rtol=2e-5, atol=2e-6)


def model_of(node: onnx.NodeProto, features: int | str = "f") -> onnx.ModelProto:
    outs = [oh.make_tensor_value_info("y", TensorProto.INT64, None),
            oh.make_tensor_value_info("z", TensorProto.FLOAT, None)]  # fmt: skip
    graph = oh.make_graph(
        [node], "g", [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", features])], outs
    )
    imports = [oh.make_opsetid("", 21), oh.make_opsetid("ai.onnx.ml", 1)]
    return oh.make_model(graph, opset_imports=imports, ir_version=10)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("per_class", [(1, 1), (2, 3, 1), (4, 1, 2, 9, 1, 3)])
def test_probabilities(kernel: str, per_class: tuple[int, ...]) -> None:
    x = np.random.default_rng(3).standard_normal((9, 3)).astype(np.float32) * 2
    check_model(machine(per_class, kernel), x)


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_that_are_no_numbers_keep_the_probabilities_they_begin_with(kernel: str) -> None:
    x = np.array([[np.nan, 0, 0], [0, np.inf, 1], [0, -np.inf, np.nan], [1e4, 1e4, -1e4]], np.float32)
    check_model(machine((2, 3, 1), kernel), x)


def test_no_rows_and_one() -> None:
    x = np.ones((1, 5), np.float32)
    check_model(machine((30, 2, 40), features=5), x)
    node = oh.make_node("SVMClassifier", ["x"], ["y", "z"], domain="ai.onnx.ml", **machine((2, 1, 1)))
    empty = list(compiled(model_of(node)).run({"x": np.zeros((0, 3), np.float32)}).values())
    assert [result.shape for result in empty] == [(0,), (0, 3)]


def test_other_features_are_refused() -> None:
    node = oh.make_node("SVMClassifier", ["x"], ["y", "z"], domain="ai.onnx.ml", **machine((2, 1, 1)))
    model = compiled(model_of(node))
    with pytest.raises(InputError, match="have 3 features, not as many as X"):
        model.run({"x": np.zeros((2, 4), np.float32)})


SVC = {
    "classlabels_ints": "[7 : si64, 3 : si64]", "coefficients": "[0.5 : f32, -1.0 : f32]",
    "vectors_per_class": "[1 : si64, 1 : si64]", "rho": "[0.25 : f32]", "prob_a": "[-1.0 : f32]",
    "prob_b": "[0.0 : f32]", "support_vectors": "[1.0 : f32, 2.0 : f32]", "kernel_type": '"RBF"',
    "kernel_params": "[0.5 : f32, 0.0 : f32, 3.0 : f32]",
}  # fmt: skip


def svc(x: str = "tensor<?x1xf32>", without: str = "", labels: str = "i64", **changes: str) -> Case:
    given = {name: value for name, value in {**SVC, **changes}.items() if name != without}
    attributes = ", ".join(f"{name} = {value}" for name, value in given.items())
    return ("SVMClassifier", [x], attributes, [f"tensor<?x{labels}>", "tensor<?x2xf32>"])


ROWS = "SVMClassifier of anything but rows of f32 has no kernel"
AROUND = "SVMClassifier with strings, or of scores that are transformed, has no kernel"
CLASSES = "SVMClassifier without support vectors of each class has no kernel"
PAIRS = "SVMClassifier without rho, A and B of each pair of classes has no kernel"
FIT = "SVMClassifier with coefficients that do not fit the support vectors has no kernel"
REASONS: dict[str, tuple[Case, str | None]] = {
    "fits": (svc(), None),
    "linear without parameters": (svc(without="kernel_params", kernel_type='"LINEAR"'), None),
    "rank": (svc("tensor<1xf32>"), ROWS),
    "element": (svc("tensor<?x1xf64>"), ROWS),
    "strings": (svc(without="classlabels_ints", classlabels_strings='["a", "b"]'), AROUND),
    "transform": (svc(post_transform='"SOFTMAX"'), AROUND),
    "scores": (svc(without="prob_a"), "SVMClassifier without probabilities has no kernel"),
    "one class": (
        svc(classlabels_ints="[7 : si64]", vectors_per_class="[1 : si64]"),
        CLASSES,
    ),
    "more labels": (svc(classlabels_ints="[7 : si64, 3 : si64, 1 : si64]"), CLASSES),
    "no vectors": (svc(vectors_per_class="[0 : si64, 0 : si64]"), CLASSES),
    "rho": (svc(rho="[0.0 : f32, 1.0 : f32]"), PAIRS),
    "B": (svc(without="prob_b"), PAIRS),
    "coefficients": (svc(coefficients="[0.5 : f32]"), FIT),
    "part of a vector": (svc(support_vectors="[1.0 : f32, 2.0 : f32, 3.0 : f32]"), FIT),
    "no features": (svc(without="support_vectors"), FIT),
    "kernel": (svc(kernel_type='"COSINE"'), "SVMClassifier with kernel COSINE of 3 parameters has no kernel"),
    "parameters": (
        svc(kernel_params="[0.5 : f32]"),
        "SVMClassifier with kernel RBF of 1 parameters has no kernel",
    ),
}


@check(REASONS)
def test_reasons(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason
