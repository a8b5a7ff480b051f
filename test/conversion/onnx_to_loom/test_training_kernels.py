"""Steps of optimizers as kernels, against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from lowering_reasons import Case, check, reason_of
from onnx.reference import ReferenceEvaluator

from onnxloom.lowering.compile import CompileOptions, compile_model

Array = np.ndarray[Any, Any]
DOMAIN = "ai.onnx.preview.training"
STATES = {"Adagrad": 1, "Adam": 2, "Momentum": 1}
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "adagrad": ("Adagrad", {"decay_factor": 0.1, "epsilon": 1e-4, "norm_coefficient": 0.01}),
    "adagrad with defaults": ("Adagrad", {"norm_coefficient": 0.0, "epsilon": 1e-6, "decay_factor": 0.0}),
    "adam": ("Adam", {"alpha": 0.9, "beta": 0.99, "epsilon": 1e-3, "norm_coefficient": 0.1,
                      "norm_coefficient_post": 0.2}),
    "momentum": ("Momentum", {"alpha": 0.95, "beta": 0.3, "mode": "standard", "norm_coefficient": 0.001}),
    "nesterov": ("Momentum", {"alpha": 0.95, "beta": 0.3, "mode": "nesterov", "norm_coefficient": 0.001}),
}  # fmt: skip


def model_of(
    op: str, attributes: dict[str, Any], shapes: list[tuple[int, ...]], dtype: Any
) -> onnx.ModelProto:
    element = oh.np_dtype_to_tensor_dtype(np.dtype(dtype))
    names = ["X", "G", *("V", "H")[: STATES[op]]]
    rows = [(f"{n}{i}", shape) for n in names for i, shape in enumerate(shapes)]
    outputs = [(f"{n}{i}_new", shape) for n in names if n != "G" for i, shape in enumerate(shapes)]
    node = oh.make_node(
        op, ["R", "T", *(n for n, _ in rows)], [n for n, _ in outputs], domain=DOMAIN, **attributes
    )
    inputs = [
        oh.make_tensor_value_info("R", element, []),
        oh.make_tensor_value_info("T", onnx.TensorProto.INT64, []),
        *(oh.make_tensor_value_info(n, element, shape) for n, shape in rows),
    ]
    results = [oh.make_tensor_value_info(n, element, shape) for n, shape in outputs]
    graph = oh.make_graph([node], "g", inputs, results)
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21), oh.make_opsetid(DOMAIN, 1)])


def feeds_of(model: onnx.ModelProto, count: int, dtype: Any) -> dict[str, Array]:
    rng = np.random.default_rng(count)
    feeds: dict[str, Array] = {}
    for value in model.graph.input:
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        feeds[value.name] = np.abs(rng.standard_normal(shape)).astype(dtype)
    return {**feeds, "T": np.array(count)}


def reference(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array]:
    results: Any = ReferenceEvaluator(model).run(None, feeds)
    return [np.asarray(result) for result in results]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", FORMS)
def test_steps_are_those_of_the_reference(form: str, dtype: Any) -> None:
    op, attributes = FORMS[form]
    model = model_of(op, attributes, [(2, 19), (), (0, 3)], dtype)
    compiled = compile_model(model, CompileOptions(cache=False))
    for count in (0, 1, 12):
        feeds = feeds_of(model, count, dtype)
        wide = {n: v.astype(np.float64) if v.dtype != np.int64 else v for n, v in feeds.items()}
        expected = reference(model, wide)
        got = compiled.run(feeds)
        for (name, value), wanted in zip(got.items(), expected, strict=True):
            assert value.dtype == dtype
            tolerance = 1e-5 if dtype == np.float32 or op == "Adam" else 1e-12
            np.testing.assert_allclose(
                value, wanted, rtol=tolerance, atol=tolerance, err_msg=f"{name}, {count}"
            )
    assert compiled.host_steps == 0


def test_a_rate_of_shape_1_does_not_widen_the_result() -> None:
    model = model_of(*FORMS["momentum"], [()], np.float32)
    for value in model.graph.input[:2]:
        value.type.tensor_type.shape.dim.add().dim_value = 1
    compiled = compile_model(model, CompileOptions(cache=False))
    feeds = feeds_of(model, 3, np.float32)
    feeds["T"] = np.array([3])
    expected = reference(model, feeds)
    for value, wanted in zip(compiled.run(feeds).values(), expected, strict=True):
        assert value.shape == ()
        np.testing.assert_allclose(value, np.asarray(wanted).reshape(()), rtol=1e-6)
    assert compiled.host_steps == 0


X = "tensor<2x3xf32>"
OPERANDS = ["tensor<f32>", "tensor<si64>"]
MOMENTUM = 'alpha = 0.9 : f32, beta = 0.9 : f32, norm_coefficient = 0.0 : f32, mode = "{}"'


def momentum(mode: str = "standard", rate: str = "tensor<f32>", count: int = 3) -> Case:
    return ("Momentum", [rate, "tensor<si64>", *[X] * count], MOMENTUM.format(mode), [X, X])


@check(
    {
        "all is well": (momentum(), None),
        "mode": (momentum("other"), "Momentum has no mode 'other'"),
        "rate": (momentum(rate="tensor<3xf32>"), "the rate and the count of steps have one element"),
        "states": (momentum(count=2), "each tensor needs its gradient and its states"),
        "tensors": (momentum(count=0), "each tensor needs its gradient and its states"),
        "omitted": (
            (
                "Momentum",
                ["tensor<f32>", "tensor<si64>", X, "none", X, X],
                MOMENTUM.format("standard"),
                [X, X],
            ),
            "each tensor needs its gradient and its states",
        ),
    }
)
def test_what_has_no_kernel_says_why(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason
