"""Which models are measured, and what bounds them? Each case is an ONNX graph with seeded inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    """One measured model."""

    name: str
    model: onnx.ModelProto
    feeds: Mapping[str, Array]
    flops: int
    """Floating-point operations of one run, an FMA counting two."""

    bytes: int
    """Bytes one run must at least move between memory and the core."""

    tolerance: float = 1e-5
    """Largest accepted difference to the peer, relative to the largest value."""


def _model(
    nodes: list[onnx.NodeProto], feeds: Mapping[str, Array], weights: Mapping[str, Array], result: str
) -> onnx.ModelProto:
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in feeds.items()
    ]
    output = helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
    initializers = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "case", inputs, [output], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def elementwise_chain(rows: int = 1024, columns: int = 1024) -> Case:
    """Mul, Add, Add, Mul, Relu, Min, Mul, Sub; operands broadcast along rows, columns and both."""
    rng = np.random.default_rng(0)
    feeds = {"x": rng.standard_normal((rows, columns), np.float32)}
    shapes = [(columns,), (rows, 1), (), (columns,), (1, 1), (columns,), (1,)]
    weights = {f"w{i}": rng.standard_normal(shape, np.float32) for i, shape in enumerate(shapes)}
    nodes: list[onnx.NodeProto] = []
    value = "x"
    operands = iter(weights)
    for i, op in enumerate(["Mul", "Add", "Add", "Mul", "Relu", "Min", "Mul", "Sub"]):
        inputs = [value] if op == "Relu" else [value, next(operands)]
        value = f"v{i}"
        nodes.append(helper.make_node(op, inputs, [value]))
    size = rows * columns
    return Case("elementwise chain of 8", _model(nodes, feeds, weights, value), feeds, 8 * size, 8 * size)


def matmul(m: int, k: int, n: int) -> Case:
    """A product with a constant right operand."""
    rng = np.random.default_rng(1)
    feeds = {"x": rng.standard_normal((m, k), np.float32)}
    weights = {"w": (rng.standard_normal((k, n)) / np.sqrt(k)).astype(np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    moved = 4 * (m * k + k * n + m * n)
    return Case(f"matmul {m}x{k}x{n}", _model(nodes, feeds, weights, "y"), feeds, 2 * m * n * k, moved)


def matmul_bias_gelu(m: int = 128, k: int = 768, n: int = 3072) -> Case:
    """MatMul, bias and Gelu as exporters spell it (Div, Erf, Add, Mul, Mul)."""
    rng = np.random.default_rng(2)
    feeds = {"x": rng.standard_normal((m, k), np.float32)}
    weights: dict[str, Array] = {
        "w": (rng.standard_normal((k, n)) / np.sqrt(k)).astype(np.float32),
        "b": rng.standard_normal(n, np.float32),
        "root2": np.full((), np.sqrt(2.0), np.float32),
        "one": np.ones((), np.float32),
        "half": np.full((), 0.5, np.float32),
    }
    spelled = [
        ("MatMul", ["x", "w"], "p"),
        ("Add", ["p", "b"], "h"),
        ("Div", ["h", "root2"], "d"),
        ("Erf", ["d"], "e"),
        ("Add", ["e", "one"], "f"),
        ("Mul", ["h", "f"], "g"),
        ("Mul", ["g", "half"], "y"),
    ]
    nodes = [helper.make_node(op, inputs, [output]) for op, inputs, output in spelled]
    moved = 4 * (m * k + k * n + m * n)
    model = _model(nodes, feeds, weights, "y")
    return Case(f"matmul + bias + gelu {m}x{k}x{n}", model, feeds, 2 * m * n * k, moved)


CASES: Mapping[str, Callable[[], Case]] = {
    "chain": elementwise_chain,
    "gelu": matmul_bias_gelu,
    "matmul-768": lambda: matmul(128, 768, 768),
    "matmul-3072": lambda: matmul(128, 768, 3072),
    "matmul-1152": lambda: matmul(384, 1024, 1152),
    "matmul-2112": lambda: matmul(49, 512, 2112),
    "gemv": lambda: matmul(1, 768, 3072),
}
