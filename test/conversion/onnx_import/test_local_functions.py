"""Functions that a model brings along: attributes, nesting, control flow, opsets and overloads of theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnx.parser
import onnxruntime
import pytest
from onnx import TensorProto

from onnxloom.errors import UnsupportedOpError
from onnxloom.lowering.compile import CompileOptions, compile_model

Array = np.ndarray[Any, Any]

HEAD = '<ir_version: 10, opset_import: ["" : 21, "f" : 1]> '
FUNCTION = '<domain: "f", opset_import: ["" : 21, "f" : 1]> '

MODELS = {
    "attributes go on": (
        "g (float[N] x) => (float[M] y) { y = f.outer <alpha = 0.3> (x) }",
        "outer <alpha> (a) => (b) { c = f.inner <beta: float = @alpha> (a) b = Neg(c) }",
        "inner <beta: float = 0.5> (a) => (b) { b = LeakyRelu <alpha: float = @beta> (a) }",
    ),
    "attributes have defaults": (
        "g (float[N] x) => (float[M] y) { y = f.inner(x) }",
        "inner <beta: float = 0.5> (a) => (b) { b = LeakyRelu <alpha: float = @beta> (a) }",
    ),
    "attributes reach into branches": (
        "g (float[N] x, bool c) => (float[M] y) { y = f.branch <k = 0.25> (c, x) }",
        """branch <k> (c, a) => (b) {
            b = If(c) <then_branch = t () => (float[N] o) { o = LeakyRelu <alpha: float = @k> (a) },
                       else_branch = e () => (float[N] o) { o = Neg(a) }>
        }""",
    ),
    "branches read values of the function": (
        "g (float[N] x, bool c) => (float[M] y) { y = f.branch(c, x) }",
        """branch (c, a) => (b) {
            t = Neg(a)
            b = If(c) <then_branch = t () => (float[N] o) { o = Add(t, a) },
                       else_branch = e () => (float[N] o) { o = Mul(t, t) }>
        }""",
    ),
    "loops call them": (
        """g (float[N] x, int64 m) => (float[M] y) {
            y = Loop(m, , x) <body = b (int64 i, bool c, float[N] v) => (bool c2, float[N] o) {
                c2 = Identity(c)
                o = f.inner <beta = 0.1> (v)
            }>
        }""",
        "inner <beta> (a) => (b) { q = LeakyRelu <alpha: float = @beta> (a) b = Add(q, a) }",
    ),
    "operands are left out": (
        "g (float[N] x, float h) => (float[M] y) { y = f.clipped(x, , h) }",
        "clipped (a, low, high) => (b) { b = Clip(a, low, high) }",
    ),
    "names mean something else inside": (
        "g (float[N] x) => (float[M] y) { t = Abs(x) u = f.two(t) v = f.two(u) y = Add(v, t) }",
        "two (x) => (t) { u = Neg(x) t = Exp(u) }",
    ),
}


def run(model: onnx.ModelProto, feeds: dict[str, Array], opt_level: int = 3) -> Array:
    compiled = compile_model(model, CompileOptions(cache=False, opt_level=opt_level))
    return compiled.run(feeds)[model.graph.output[0].name]


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize("name", MODELS)
def test_functions_compute_what_they_do_in_onnxruntime(name: str, opt_level: int) -> None:
    graph, *functions = MODELS[name]
    model = onnx.parser.parse_model(" ".join([HEAD + graph, *(FUNCTION + text for text in functions)]))
    given: dict[str, Array] = {
        "x": np.array([-1.5, 0.25, 2.0], np.float32),
        "h": np.array(0.5, np.float32),
        "m": np.array(3),
    }
    for condition in (True, False):
        feeds = {i.name: {**given, "c": np.array(condition)}[i.name] for i in model.graph.input}
        expected: list[Any] = list(onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds))
        np.testing.assert_allclose(run(model, feeds, opt_level), expected[0], rtol=1e-6)


@pytest.mark.parametrize(("version", "axes"), [(11, (1, 2)), (13, (2,))])
def test_a_function_is_of_the_opset_it_names(version: int, axes: tuple[int, ...]) -> None:
    # Softmax of opset 11 flattens what is behind its axis, which is 1; later it has one axis, the last.
    model = onnx.parser.parse_model(
        f"{HEAD} g (float[A, B, C] x) => (float[D, E, F] y) {{ y = f.soft(x) }}"
        f' <domain: "f", opset_import: ["" : {version}]> soft (a) => (b) {{ b = Softmax(a) }}'
    )
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    np.testing.assert_allclose(run(model, {"x": x}).sum(axis=axes), 1, rtol=1e-5)


def overloaded(*calls: str) -> onnx.ModelProto:
    """The function `act` with overloads `negative` and `power`, called one after the other."""
    functions: list[onnx.FunctionProto] = []
    for overload, op in (("negative", "Neg"), ("power", "Exp")):
        node = oh.make_node(op, ["a"], ["b"])
        function = oh.make_function("f", "act", ["a"], ["b"], [node], [oh.make_opsetid("", 21)])
        function.overload = overload
        functions.append(function)
    nodes: list[onnx.NodeProto] = []
    for i, overload in enumerate(calls):
        node = oh.make_node("act", [f"x{i}"], [f"x{i + 1}"], domain="f")
        node.overload = overload
        nodes.append(node)
    ends = [oh.make_tensor_value_info(n, TensorProto.FLOAT, ["N"]) for n in ("x0", f"x{len(calls)}")]
    graph = oh.make_graph(nodes, "g", ends[:1], ends[1:])
    opsets = [oh.make_opsetid("", 21), oh.make_opsetid("f", 1)]
    return oh.make_model(graph, functions=functions, opset_imports=opsets, ir_version=10)


def test_overloads_are_functions_of_their_own() -> None:
    x = np.array([0.5, 2.0], np.float32)
    got = run(overloaded("negative", "power", "negative"), {"x0": x})
    np.testing.assert_allclose(got, -np.exp(-x), rtol=1e-6)


def test_an_overload_that_is_not_there() -> None:
    with pytest.raises(UnsupportedOpError, match="op act of domain f"):
        compile_model(overloaded("power", "other"), CompileOptions(cache=False))
