"""Models whose nodes stand in another order than the standard wants run as those in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper as oh
import pytest
from numerics import compiled
from onnx import NodeProto, TensorProto

from onnxloom.conversion.onnx_import.node_order import order_nodes
from onnxloom.errors import ModelError

F32 = TensorProto.FLOAT
X = np.arange(4, dtype=np.float32)


def value(name: str, kind: int = F32) -> Any:
    return oh.make_tensor_value_info(name, kind, [4] if kind == F32 else [])


def node(op: str, inputs: list[str], output: str, **attributes: Any) -> NodeProto:
    return oh.make_node(op, inputs, [output], output, **attributes)


def model_of(nodes: list[NodeProto], **more: Any) -> Any:
    inputs = [value("x"), value("c", TensorProto.BOOL)]
    graph = oh.make_graph(nodes, "g", inputs, [value("y")])
    opsets = [oh.make_opsetid("", 21), oh.make_opsetid("own", 1)]
    return oh.make_model(graph, opset_imports=opsets, ir_version=10, **more)


def names(model: Any) -> list[str]:
    return [n.name for n in model.graph.node]


def run(model: Any, condition: bool = True) -> Any:
    return compiled(model)(X, np.array(condition))[0]


CHAIN = {"a": node("Neg", ["x"], "a"), "b": node("Exp", ["a"], "b"), "y": node("Add", ["a", "b"], "y")}


@pytest.mark.parametrize("order", ["aby", "bay", "yba", "yab", "bya"])
def test_chains(order: str) -> None:
    np.testing.assert_allclose(run(model_of([CHAIN[name] for name in order])), -X + np.exp(-X), rtol=1e-6)


def test_nodes_that_stand_right_keep_their_order() -> None:
    free = [node("Neg", ["x"], "n"), node("Abs", ["x"], "m")]
    model = model_of([CHAIN["y"], *free, CHAIN["b"], CHAIN["a"]])
    order_nodes(model)
    assert names(model) == ["n", "m", "a", "b", "y"]
    order_nodes(model)
    assert names(model) == ["n", "m", "a", "b", "y"]


def test_a_graph_inside_a_node_reads_what_is_made_around_it() -> None:
    """Both branches define `t`, and only one of them reads `a`, behind a graph of its own."""
    deep = oh.make_graph([node("Add", ["a", "t"], "r")], "deep", [], [value("r")])
    then = [node("If", ["c"], "s", then_branch=deep, else_branch=deep), node("Exp", ["x"], "t")]
    other = [node("Sqrt", ["x"], "t")]
    branches = {
        "then_branch": oh.make_graph(then, "then", [], [value("s")]),
        "else_branch": oh.make_graph(other, "else", [], [value("t")]),
    }
    model = model_of([node("If", ["c"], "y", **branches), CHAIN["a"]])
    np.testing.assert_allclose(run(model), -X + np.exp(X), rtol=1e-6)
    np.testing.assert_allclose(run(model, False), np.sqrt(X), rtol=1e-6)


def test_a_branch_that_gives_a_value_of_the_graph_around_it() -> None:
    empty = oh.make_graph([], "b", [], [value("a")])
    model = model_of([node("If", ["c"], "y", then_branch=empty, else_branch=empty), CHAIN["a"]])
    order_nodes(model)
    assert names(model) == ["a", "y"]


def test_functions() -> None:
    body = [oh.make_node("Exp", ["h"], ["q"]), oh.make_node("Neg", ["p"], ["h"])]
    function = oh.make_function("own", "F", ["p"], ["q"], body, [oh.make_opsetid("", 21)])
    model = model_of([oh.make_node("F", ["x"], ["y"], domain="own")], functions=[function])
    np.testing.assert_allclose(run(model), np.exp(-X), rtol=1e-6)


def test_a_cycle_stays_and_is_refused() -> None:
    model = model_of([CHAIN["y"], node("Neg", ["y"], "a"), CHAIN["b"]])
    order_nodes(model)
    assert names(model) == ["y", "a", "b"]
    with pytest.raises(ModelError, match=r"node 'y' \(Add\) reads 'a', which nothing before it defines"):
        run(model)
