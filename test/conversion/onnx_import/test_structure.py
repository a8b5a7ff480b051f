"""What graphs may look like: functions, captured values, old initializers, foreign ops, damage."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.parser import parse_model
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, StringAttr, TensorType, UnrankedTensorType
from xdsl.dialects.func import FuncOp

from onnxloom.conversion.onnx_export import export_model
from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects import onnx
from onnxloom.errors import ModelError, UnsupportedOpError

FLOAT = TensorProto.FLOAT
X = np.array([[1.5, -2.0], [0.25, 3.0]], dtype=np.float32)


def tensor(name: str, shape: Sequence[int | str] | None = (2, 2), element: int = FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def model_of(
    nodes: Sequence[NodeProto],
    *,
    outputs: Sequence[str] = ("y",),
    opset: int = 17,
    ir_version: int = 10,
    domains: Sequence[str] = (),
    functions: Sequence[FunctionProto] = (),
    **graph: Any,
) -> ModelProto:
    inputs = graph.pop("inputs", [tensor("x")])
    proto = helper.make_graph(nodes, "g", inputs, [tensor(name, None) for name in outputs], **graph)
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(proto, ir_version=ir_version, opset_imports=imports, functions=functions)


def results(model: ModelProto, **inputs: np.ndarray[Any, Any]) -> list[Any]:
    """What the imported model gives, on the standard's own evaluator."""
    exported = export_model(import_model(model), opset=25)
    return list(ReferenceEvaluator(exported).run(None, inputs or {"x": X}))


def refused(model: ModelProto, error: type[ModelError] = ModelError) -> str:
    with pytest.raises(error) as caught:
        import_model(model)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def ops(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if op.name.startswith("onnx.")]


def main_function(module: ModuleOp) -> FuncOp:
    return next(op for op in module.walk() if isinstance(op, FuncOp))


# Functions


def function(
    name: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    nodes: Sequence[NodeProto],
    *,
    opset: int = 17,
    attributes: Sequence[str] = (),
    defaults: Sequence[AttributeProto] = (),
) -> FunctionProto:
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
    return helper.make_function(
        "local", name, inputs, outputs, nodes, imports, attributes=attributes, attribute_protos=defaults
    )


def calling(name: str, body: FunctionProto) -> ModelProto:
    """y = name(x)."""
    call = helper.make_node(name, ["x"], ["y"], domain="local")
    return model_of([call], domains=["local"], functions=[body])


def reference(name: str, attribute: str, kind: int = AttributeProto.FLOAT) -> AttributeProto:
    return AttributeProto(name=name, ref_attr_name=attribute, type=kind)  # pyright: ignore


def test_function_is_inlined_at_its_own_opset() -> None:
    """Softmax of opset 11 flattens, that of the model's opset does not."""
    body = function("Old", ["a"], ["b"], [helper.make_node("Softmax", ["a"], ["b"], axis=0)], opset=11)
    model = model_of(
        [helper.make_node("Old", ["x"], ["y"], domain="local")], domains=["local"], functions=[body]
    )
    (y,) = results(model)
    np.testing.assert_allclose(y, np.exp(X) / np.exp(X).sum(), rtol=1e-6)


def test_attributes_of_a_call_reach_the_nodes_and_defaults_fill_in() -> None:
    node = helper.make_node("Elu", ["a"], ["b"])
    node.attribute.append(reference("alpha", "slope"))
    body = function("F", ["a"], ["b"], [node], defaults=[helper.make_attribute("slope", 2.0)])
    calls = [
        helper.make_node("F", ["x"], ["y"], domain="local", slope=0.5),
        helper.make_node("F", ["x"], ["z"], domain="local"),
    ]
    y, z = results(model_of(calls, outputs=["y", "z"], domains=["local"], functions=[body]))
    np.testing.assert_allclose(y, np.where(X > 0, X, 0.5 * (np.exp(X) - 1)), rtol=1e-6)
    np.testing.assert_allclose(z, np.where(X > 0, X, 2 * (np.exp(X) - 1)), rtol=1e-6)


def test_names_inside_a_function_do_not_meet_those_outside() -> None:
    inner = function(
        "Inner", ["x"], ["y"], [helper.make_node("Neg", ["x"], ["t"]), helper.make_node("Exp", ["t"], ["y"])]
    )
    outer = function(
        "Outer",
        ["y"],
        ["x"],
        [
            helper.make_node("Inner", ["y"], ["t"], domain="local"),
            helper.make_node("Add", ["t", "y"], ["x"]),
        ],
    )
    calls = [
        helper.make_node("Outer", ["x"], ["t"], domain="local"),
        helper.make_node("Outer", ["t"], ["y"], domain="local"),
    ]
    (y,) = results(model_of(calls, domains=["local"], functions=[inner, outer]))
    t = np.exp(-X) + X
    np.testing.assert_allclose(y, np.exp(-t) + t, rtol=1e-6)


def test_input_left_out_in_a_call_is_left_out_in_the_body() -> None:
    body = function("F", ["a", "low"], ["b"], [helper.make_node("Clip", ["a", "low"], ["b"])])
    calls = [helper.make_node("F", ["x"], ["y"], domain="local")]
    (y,) = results(model_of(calls, domains=["local"], functions=[body]))
    np.testing.assert_array_equal(y, X)


def test_function_that_gives_its_input_back_copies_it() -> None:
    body = function("F", ["a"], ["a"], [])
    model = model_of(
        [helper.make_node("F", ["x"], ["y"], domain="local")], domains=["local"], functions=[body]
    )
    np.testing.assert_array_equal(results(model)[0], X)


def test_function_inside_a_branch_is_inlined() -> None:
    body = function("F", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])])
    branch = helper.make_graph(
        [helper.make_node("F", ["x"], ["t"], domain="local")], "t", [], [tensor("t", None)]
    )
    other = helper.make_graph([helper.make_node("Identity", ["x"], ["e"])], "e", [], [tensor("e", None)])
    nodes = [helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=other)]
    inputs = [tensor("x"), tensor("c", [], TensorProto.BOOL)]
    model = model_of(nodes, inputs=inputs, domains=["local"], functions=[body])
    np.testing.assert_array_equal(results(model, x=X, c=np.array(True))[0], -X)


def test_function_that_calls_itself_is_named() -> None:
    body = function("F", ["a"], ["b"], [helper.make_node("F", ["a"], ["b"], domain="local", name="again")])
    model = model_of(
        [helper.make_node("F", ["x"], ["y"], domain="local")], domains=["local"], functions=[body]
    )
    assert "node 'F__0/again' (F): function local.F calls itself" in refused(model)


def test_missing_attribute_of_a_call_is_named() -> None:
    node = helper.make_node("Elu", ["a"], ["b"])
    node.attribute.append(reference("alpha", "slope"))
    body = function("F", ["a"], ["b"], [node], attributes=["slope"])
    model = model_of(
        [helper.make_node("F", ["x"], ["y"], domain="local")], domains=["local"], functions=[body]
    )
    assert "lacks the attribute 'slope'" in refused(model)


# Initializers and types


def test_initializers_that_are_inputs_are_constants() -> None:
    weight = numpy_helper.from_array(X, "w")
    model = model_of(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        inputs=[tensor("x"), tensor("w")], initializer=[weight], ir_version=3, opset=8,
    )  # fmt: skip
    module = import_model(model)
    assert len(main_function(module).body.block.args) == 1
    np.testing.assert_array_equal(results(model)[0], X + X)


def test_sparse_initializer_is_made_dense() -> None:
    values = numpy_helper.from_array(np.array([5.0, 7.0], np.float32), "w")
    indices = numpy_helper.from_array(np.array([[0, 1], [1, 0]], np.int64), "")
    sparse = helper.make_sparse_tensor(values, indices, [2, 2])
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], sparse_initializer=[sparse])
    np.testing.assert_array_equal(results(model)[0], X + np.array([[0, 5], [7, 0]], np.float32))


def test_sparse_index_outside_the_shape_is_refused() -> None:
    values = numpy_helper.from_array(np.array([5.0], np.float32), "w")
    sparse = helper.make_sparse_tensor(values, numpy_helper.from_array(np.array([4], np.int64), ""), [2, 2])
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], sparse_initializer=[sparse])
    assert "sparse initializer 'w' has an index outside" in refused(model)


def test_negative_and_symbolic_dims_are_dynamic() -> None:
    inputs = [tensor("x", ["batch", 2])]
    inputs[0].type.tensor_type.shape.dim[1].dim_value = -1
    function_op = main_function(
        import_model(model_of([helper.make_node("Relu", ["x"], ["y"])], inputs=inputs))
    )
    (arg,) = function_op.body.block.args
    assert isinstance(arg.type, TensorType) and arg.type.get_shape() == (DYNAMIC_INDEX, DYNAMIC_INDEX)
    assert function_op.arg_attrs is not None
    assert function_op.arg_attrs.data[0].data["onnx.dim_params"] == StringAttr("0:batch")


def test_declared_types_that_are_wrong_are_not_believed() -> None:
    model = model_of(
        [helper.make_node("Relu", ["x"], ["h"]), helper.make_node("Neg", ["h"], ["y"])],
        value_info=[tensor("h", [7, 7, 7])],
    )
    model.graph.output[0].CopyFrom(tensor("y", [1, 2, 3, 4]))
    module = import_model(model)
    shapes = [
        r.type.get_shape() for op in module.walk() for r in op.results if isinstance(r.type, TensorType)
    ]
    assert shapes == [(2, 2), (2, 2)]


def test_result_of_a_foreign_op_has_the_declared_type() -> None:
    nodes = [helper.make_node("Foo", ["x"], ["h"], domain="far"), helper.make_node("Neg", ["h"], ["y"])]
    declared = model_of(nodes, domains=["far"], value_info=[tensor("h", [3], TensorProto.INT32)])
    custom = next(op for op in import_model(declared).walk() if isinstance(op, onnx.CustomOp))
    assert str(custom.results[0].type) == "tensor<3xi32>"
    unknown = next(
        op for op in import_model(model_of(nodes, domains=["far"])).walk() if isinstance(op, onnx.CustomOp)
    )
    assert isinstance(unknown.results[0].type, UnrankedTensorType)


# Foreign ops


def test_foreign_op_keeps_attributes_of_every_kind() -> None:
    branch = helper.make_graph([helper.make_node("Neg", ["x"], ["t"])], "t", [], [tensor("t")])
    node = helper.make_node(
        "Foo", ["x", "", "x"], ["y", ""], domain="far", name="foo",
        i=3, f=0.5, s="text", ints=[1, 2], floats=[0.5], strings=["a", "b"],
        t=numpy_helper.from_array(X, "t"), raw=b"\xff\x00", body=branch, graphs=[branch, branch],
        typ=helper.make_tensor_type_proto(FLOAT, [2]), tensors=[numpy_helper.from_array(X, "t")],
    )  # fmt: skip
    exported = export_model(import_model(model_of([node], domains=["far"])))
    (again,) = exported.graph.node
    assert (again.op_type, again.domain, again.name) == ("Foo", "far", "foo")
    assert list(again.input) == ["x", "", "x"]
    have = {a.name: a for a in again.attribute}
    assert sorted(have) == sorted(a.name for a in node.attribute)
    for name in ("i", "f", "s", "ints", "floats", "strings", "raw", "typ"):
        assert helper.get_attribute_value(have[name]) == helper.get_attribute_value(
            next(a for a in node.attribute if a.name == name)
        )
    np.testing.assert_array_equal(numpy_helper.to_array(have["t"].t), X)
    assert [n.op_type for n in have["body"].g.node] == ["Neg"]
    assert len(have["graphs"].graphs) == 2 and len(have["tensors"].tensors) == 1


def test_unused_domains_need_not_be_known() -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], domains=["com.example", "ai.onnx.training"])
    assert "onnx.Relu" in ops(import_model(model))


# Damage


def relu(source: str, target: str, name: str = "") -> NodeProto:
    return helper.make_node("Relu", [source], [target], name=name)


def wrong_attribute() -> NodeProto:
    return helper.make_node("Softmax", ["x"], ["y"], name="bad", axis=0.5)


def odd_tensor() -> TensorProto:
    tensor = TensorProto(name="w", dims=[1], raw_data=b"a")
    tensor.data_type = 99
    return tensor


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (model_of([relu("z", "y", "bad")]), "node 'bad' (Relu) reads 'z', which nothing before it defines"),
        (model_of([relu("h", "y"), relu("y", "h")]), "node 0 (Relu) reads 'h', which nothing before"),
        (model_of([relu("y", "y", "loop")]), "node 'loop' (Relu) reads 'y'"),
        (model_of([relu("x", "y"), relu("x", "y", "twice")]), "'twice' (Relu) defines 'y', which is defined"),
        (model_of([relu("x", "h")]), "has output 'y', which nothing in it defines"),
        (model_of([wrong_attribute()]), "'bad' (Softmax) has attribute axis of kind FLOAT; expected INT"),
        (model_of([helper.make_node("Relu", ["x"], ["y"], nonsense=1)]), "attribute 'nonsense' that Relu"),
        (model_of([helper.make_node("Concat", ["x"], ["y"])]), "lacks the attribute 'axis'"),
        (model_of([helper.make_node("Relu", ["x", "x"], ["y"])]), "has 2 inputs; expected 1"),
        (model_of([helper.make_node("Add", ["x", ""], ["y"])]), "leaves out its input B"),
        (model_of([helper.make_node("Relu", ["x"], ["y", "z"])]), "has 2 outputs; expected at most 1"),
        (model_of([helper.make_node("Constant", [], ["y"])]), "has 0 values; expected one"),
        (model_of([relu("x", "y")], opset=99), "opset 99 of ai.onnx is not known; expected 1 to"),
        (model_of([helper.make_node("And", ["x", "x"], ["y"])]), "onnx.And: operand A has type"),
        (model_of([helper.make_node("Binarizer", ["x"], ["y"], domain="ai.onnx.ml")]), "imports no opset"),
        (
            model_of([relu("w", "y")], initializer=[TensorProto(name="w", data_type=FLOAT, dims=[3])]),
            "initializer 'w' has 0 stored numbers; expected 3",
        ),
        (
            model_of([relu("w", "y")], initializer=[TensorProto(name="w", data_type=FLOAT, dims=[-3])]),
            "initializer 'w' has shape [-3]",
        ),
        (
            model_of([relu("w", "y")], initializer=[odd_tensor()]),
            "tensor data type 99 is not one",
        ),
    ],
)  # fmt: skip
def test_damage_is_named(model: ModelProto, expected: str) -> None:
    assert expected in refused(model)


def test_unknown_op_and_op_of_a_later_opset_are_unsupported() -> None:
    unknown = model_of([helper.make_node("NoSuchOp", ["x"], ["y"], name="n")])
    assert "node 'n' (NoSuchOp): ai.onnx.NoSuchOp does not exist in opset 17" in refused(
        unknown, UnsupportedOpError
    )
    later = model_of([helper.make_node("Gelu", ["x"], ["y"])])
    assert "ai.onnx.Gelu does not exist in opset 17" in refused(later, UnsupportedOpError)


def test_deeply_nested_graphs_are_refused_or_imported_without_a_crash() -> None:
    graph = helper.make_graph([relu("x", "y0")], "g0", [], [tensor("y0")])
    for depth in range(1, 40):
        node = helper.make_node("If", ["c"], [f"y{depth}"], then_branch=graph, else_branch=graph)
        graph = helper.make_graph([node], f"g{depth}", [], [tensor(f"y{depth}")])
        if depth > 8:
            break
    inputs = [tensor("x"), tensor("c", [], TensorProto.BOOL)]
    model = model_of(list(graph.node), inputs=inputs, outputs=["y9"])
    assert ops(import_model(model)).count("onnx.If") == 2**9 - 1


def test_functions_that_multiply_are_refused_before_they_are_inlined() -> None:
    opsets = 'opset_import: ["" : 21, "f" : 1]'
    bodies = [f"{{ b = f.f{i + 1}(a) c = f.f{i + 1}(b) }}" for i in range(30)] + ["{ c = Relu(a) }"]
    model = parse_model(
        f"<ir_version: 10, {opsets}> g (float[1] x) => (float[1] y) {{ y = f.f0(x) }}"
        + "".join(f'<domain: "f", {opsets}> f{i} (a) => (c) {body}' for i, body in enumerate(bodies))
    )
    start = time.process_time()
    message = refused(model)
    assert time.process_time() - start < 5
    # f11 is the first, from the innermost on, that is too large by itself.
    assert "more than 1000000 nodes once its functions are inlined: f.f11 alone stands for" in message


def test_functions_that_multiply_data_are_refused_before_they_are_inlined() -> None:
    value = helper.make_tensor("v", TensorProto.FLOAT, [1 << 18], bytes(1 << 20), raw=True)
    large = [helper.make_node("Constant", [], ["b"], value=value), helper.make_node("Add", ["a", "b"], ["c"])]
    calls = [helper.make_node("large", [f"v{i}"], [f"v{i + 1}"], domain="f") for i in range(3000)]
    opset = helper.make_opsetid("", 21)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1 << 18]) for name in ("v0", "v3000"))
    model = helper.make_model(
        helper.make_graph(calls, "g", [x], [y]),
        functions=[helper.make_function("f", "large", ["a"], ["c"], large, [opset])],
        opset_imports=[opset, helper.make_opsetid("f", 1)],
    )
    start = time.process_time()
    message = refused(model)
    assert time.process_time() - start < 5
    assert "more than 2147483648 bytes once its functions are inlined: f.large alone stands for 3" in message
