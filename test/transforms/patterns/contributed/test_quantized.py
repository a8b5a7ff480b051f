"""Do quantized ops of domain com.microsoft compute what onnxruntime computes? Within one quantum."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

import onnxloom
from onnxloom.testing.patterns import decline_reason
from onnxloom.transforms.patterns.contributed.qlinear_global_average_pool import (
    ContributedQLinearGlobalAveragePoolPattern,
)

Array = npt.NDArray[Any]
RNG = np.random.default_rng(3)


def bytes_of(*shape: int, dtype: Any = np.uint8) -> Array:
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


S, T = np.float32(0.03), np.float32(0.05)
Z, Y = np.uint8(100), np.uint8(9)
X = bytes_of(2, 3, 6, 5)
LAST = bytes_of(2, 6, 5, 3)
SIGNED = bytes_of(2, 3, 6, 5, dtype=np.int8)
COLUMNS = RNG.uniform(0.001, 0.02, 6).astype(np.float32)

CASES: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("QLinearAdd", [X, S, Z, bytes_of(3, 1, 5), T, Y, T, Z], {}),
    ("QLinearMul", [X, S, Z, bytes_of(2, 3, 6, 5), T, Y, T, Z], {}),
    ("QLinearSigmoid", [X, S, Z, np.float32(1 / 256), np.uint8(0)], {}),
    ("QLinearLeakyRelu", [X, S, Z, T, Z], {"alpha": 0.2}),
    ("QLinearGlobalAveragePool", [X, S, Z, T, Z], {"channels_last": 0}),
    ("QLinearGlobalAveragePool", [LAST, S, Z, T, Z], {"channels_last": 1}),
    ("QLinearAveragePool", [X, S, Z, T, Z], {"kernel_shape": [2, 2], "pads": [1, 0, 0, 1]}),
    (
        "QLinearAveragePool",
        [LAST, S, Z, T, Z],
        {"kernel_shape": [2, 2], "strides": [2, 1], "channels_last": 1},
    ),
    ("QLinearSoftmax", [X, S, Z, np.float32(1 / 256), np.uint8(0)], {"axis": -1, "opset": 13}),
    ("QLinearSoftmax", [X, S, Z, np.float32(1 / 256), np.uint8(0)], {"axis": 3, "opset": 11}),
    (
        "QGemm",
        [bytes_of(4, 8), S, Z, bytes_of(6, 8, dtype=np.int8), COLUMNS, np.zeros(6, np.int8),
         RNG.integers(-900, 900, 6).astype(np.int32), T, Y],
        {"transB": 1},
    ),
    ("QGemm", [bytes_of(4, 8), S, Z, bytes_of(8, 6, dtype=np.int8), S, np.int8(0)], {}),
    ("QLinearMul", [SIGNED, S, np.int8(3), SIGNED, T, np.int8(-7), T], {}),
    ("QLinearSigmoid", [SIGNED, S, None, np.float32(1 / 128), None], {}),
    ("QLinearLeakyRelu", [SIGNED, S, None, T, None], {"alpha": 0.2}),
    ("QuantizeLinear", [RNG.normal(size=(3, 4)).astype(np.float32), S, Z], {}),
    ("DequantizeLinear", [bytes_of(3, 4), S, Z], {}),
]  # fmt: skip


def model_of(
    op: str, inputs: list[Any], attributes: dict[str, Any]
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """The tensors of at most 8 bits and the floats are inputs, parameters are constants."""
    names = [f"x{i}" if value is not None else "" for i, value in enumerate(inputs)]
    fed = {n: v for n, v in zip(names, inputs, strict=True) if isinstance(v, np.ndarray) and v.ndim > 1}
    held = [
        numpy_helper.from_array(np.asarray(v), n)
        for n, v in zip(names, inputs, strict=True)
        if n and n not in fed
    ]
    node = helper.make_node(op, names, ["y"], domain="com.microsoft", **attributes)
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for n, v in fed.items()
    ]
    graph = helper.make_graph([node], "one", infos, [helper.make_empty_tensor_value_info("y")], held)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), fed


@pytest.mark.parametrize(("op", "inputs", "attributes"), CASES)
def test_values(op: str, inputs: list[Any], attributes: dict[str, Any]) -> None:
    model, feeds = model_of(op, inputs, attributes)
    wanted = np.asarray(ort.InferenceSession(model.SerializeToString()).run(None, feeds)[0])
    compiled = onnxloom.compile(model, cache=False)
    (actual,) = compiled.run(feeds).values()
    assert compiled.host_steps == 0, compiled.host_counts
    assert actual.dtype == wanted.dtype and actual.shape == wanted.shape
    is_quantized = actual.dtype.kind != "f"
    limit = 1 if is_quantized else 2e-5 * np.abs(wanted).max()
    assert np.abs(actual.astype(np.float64) - wanted).max() <= limit
    if is_quantized:
        assert np.count_nonzero(actual != wanted) <= max(0.05 * actual.size, 1)


DECLINES = [
    (
        ContributedQLinearGlobalAveragePoolPattern,
        ("QLinearGlobalAveragePool", [bytes_of(3, 4), S, Z, T, Z], {"channels_last": 1}),
        "the rank of the input is not known, or has no spatial dims",
    ),
]


@pytest.mark.parametrize(("pattern", "case", "reason"), DECLINES)
def test_declines(pattern: Any, case: Any, reason: str) -> None:
    assert reason in decline_reason(model_of(*case)[0], pattern)


@pytest.mark.parametrize(("axes", "keepdims"), [([1], 0), ([-1, 2], 1), (None, 1)])
def test_mean(axes: list[int] | None, keepdims: int) -> None:
    """onnxruntime has the schema only."""
    given = {"keepdims": keepdims} if axes is None else {"axes": axes, "keepdims": keepdims}
    model, feeds = model_of("QLinearReduceMean", [X, S, Z, T, Y], given)
    compiled = onnxloom.compile(model, cache=False)
    (actual,) = compiled.run(feeds).values()
    assert compiled.host_steps == 0, compiled.host_counts
    mean = ((X.astype(np.float64) - Z) * S).mean(
        None if axes is None else tuple(axes), keepdims=bool(keepdims)
    )
    wanted = np.clip(np.rint(mean / T) + Y, 0, 255)
    assert actual.dtype == np.uint8 and actual.shape == wanted.shape
    assert np.abs(actual - wanted).max() <= 1
