"""Ops that the standard defines by others, with graphs as attributes and with loops, have no host step."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from onnx import TensorProto

from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.lowering.runtime.model import CompiledModel

Array = np.ndarray[Any, Any]


def compiled(node: onnx.NodeProto, types: dict[str, list[int | str]], element: int) -> CompiledModel:
    inputs = [oh.make_tensor_value_info(n, element, shape) for n, shape in types.items()]
    outputs = [oh.make_tensor_value_info(n, element, None) for n in node.output]
    graph = oh.make_graph([node], "g", inputs, outputs)
    opsets = [oh.make_opsetid("", 27), oh.make_opsetid("ai.onnx.preview", 1)]
    return compile_model(oh.make_model(graph, opset_imports=opsets), CompileOptions(cache=False))


def modifier(*nodes: onnx.NodeProto) -> onnx.GraphProto:
    ends = [oh.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("s", "o")]
    return oh.make_graph(list(nodes), "modifier", ends[:1], ends[1:])


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(("length", "past"), [(1, 1), (3, 5)])
def test_attention_whose_scores_and_weights_are_modified(length: int, past: int) -> None:
    node = oh.make_node(
        "FlexAttention", ["q", "k", "v"], ["y"], domain="ai.onnx.preview", scale=0.5,
        score_mod=modifier(oh.make_node("Tanh", ["s"], ["o"])),
        prob_mod=modifier(oh.make_node("Mul", ["s", "s"], ["o"])),
    )  # fmt: skip
    shapes: dict[str, list[int | str]] = {"q": ["B", 4, "L", 8], "k": ["B", 2, "S", 8], "v": ["B", 2, "S", 6]}
    model = compiled(node, shapes, TensorProto.FLOAT)
    rng = np.random.default_rng(length)
    q, k, v = (
        rng.standard_normal(s).astype(np.float32)
        for s in ((2, 4, length, 8), (2, 2, past, 8), (2, 2, past, 6))
    )
    wide = (np.repeat(a.astype(np.float64), 2, axis=1) for a in (k, v))
    keys, values = wide
    scores = np.tanh(q @ keys.swapaxes(2, 3) * 0.5)
    weights = softmax(scores) ** 2
    np.testing.assert_allclose(model(q, k, v)[0], weights @ values, rtol=1e-4, atol=1e-5)
    assert model.host_steps == 0


RULES = ("linear", "gated", "delta", "gated_delta")


def linear_attention(
    rule: str, scale: float, q: Array, k: Array, v: Array, state: Array, decay: Array, beta: Array
) -> tuple[Array, Array]:
    """Step by step, `[B, T, heads, width]`; `state` is `[B, heads, dk, dv]`."""
    group = q.shape[2] // k.shape[2]
    rows: list[Array] = []
    for t in range(q.shape[1]):
        if "gated" in rule:
            state = state * np.exp(decay[:, t])[..., None]
        written = v[:, t]
        if "delta" in rule:
            written = beta[:, t, :, None] * (written - np.einsum("bhkv,bhk->bhv", state, k[:, t]))
        state = state + k[:, t][..., None] * written[..., None, :]
        rows.append(scale * np.einsum("bhk,bhkv->bhv", q[:, t], np.repeat(state, group, axis=1)))
    return np.stack(rows, axis=1), state


@pytest.mark.parametrize("length", [1, 7])
@pytest.mark.parametrize("rule", RULES)
def test_linear_attention(rule: str, length: int) -> None:
    names = ["q", "k", "v", "state", "decay" if "gated" in rule else "", "beta" if "delta" in rule else ""]
    node = oh.make_node(
        "LinearAttention", names, ["y", "last"], update_rule=rule, q_num_heads=4, kv_num_heads=2, scale=0.25
    )
    rng = np.random.default_rng(length)
    shapes = {"q": (2, length, 4, 5), "k": (2, length, 2, 5), "v": (2, length, 2, 3), "state": (2, 2, 5, 3),
              "decay": (2, length, 2, 5), "beta": (2, length, 2)}  # fmt: skip
    given = {n: rng.standard_normal(s).astype(np.float32) * 0.5 for n, s in shapes.items()}
    packed = {n: a if a.ndim == 3 or n == "state" else a.reshape(2, length, -1) for n, a in given.items()}
    types: dict[str, list[int | str]] = {
        n: ["B", "T", a.shape[2]] if a.ndim == 3 else ["B", *a.shape[1:]]
        for n, a in packed.items()
        if n in names
    }
    model = compiled(node, types, TensorProto.FLOAT)
    y, last = model.run({n: packed[n] for n in types}).values()
    wide = {n: a.astype(np.float64) for n, a in given.items()}
    rows, state = linear_attention(rule, 0.25, **wide)
    np.testing.assert_allclose(y, rows.reshape(2, length, -1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(last, state, rtol=1e-4, atol=1e-5)
    assert model.host_steps == 0


def test_a_graph_that_reads_values_from_outside_stays_on_the_host() -> None:
    scale = modifier(oh.make_node("Mul", ["s", "w"], ["o"]))
    node = oh.make_node("FlexAttention", ["q", "k", "v"], ["y"], domain="ai.onnx.preview", score_mod=scale)
    shape: list[int | str] = [1, 1, 2, 4]
    inputs = {"q": shape, "k": shape, "v": shape, "w": []}
    model = compiled(node, dict(inputs), TensorProto.FLOAT)
    assert [reason for _, reason in model.artifact.notes] == ["there is no kernel for onnx.FlexAttention"]
