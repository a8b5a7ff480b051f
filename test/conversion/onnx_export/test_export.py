"""What a module may hold when it is exported, and how the model is written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx as onnx_package
import pytest
from onnx import TensorProto, checker, numpy_helper
from onnx.reference import ReferenceEvaluator

from onnxloom.conversion.onnx_export import export_model, save_model
from onnxloom.conversion.onnx_export.attributes import tensor_proto
from onnxloom.conversion.onnx_export.node import op_to_node
from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.captures import captured_values
from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_DTYPE
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import PassError

X = np.array([[1.5, -2.0], [0.25, 3.0]], dtype=np.float32)
Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


def run(text: str, **inputs: Array) -> list[Array]:
    model = export_model(parse_module(text))
    checker.check_model(model)
    return list(ReferenceEvaluator(model).run(None, inputs))  # pyright: ignore


FUSED = """
func.func @main_graph(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %a, %b = "onnx.FusedOp"(%x) <{kind = "onnx.elementwise"}> ({
  ^bb0(%arg: tensor<2x2xf32>):
    %c = onnx.Constant dense<2.0> : tensor<f32>
    %m = "onnx.Mul"(%arg, %c) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %r = "onnx.Relu"(%m) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    "onnx.Yield"(%m, %r) : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
  }) : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  %s = "onnx.Add"(%a, %b) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  onnx.Return %s, %a : tensor<2x2xf32>, tensor<2x2xf32>
}
"""


def test_fused_op_is_written_as_the_ops_it_holds() -> None:
    s, a = run(FUSED, input0=X)
    np.testing.assert_array_equal(a, 2 * X)
    np.testing.assert_array_equal(s, 2 * X + np.maximum(2 * X, 0))


def test_input_that_is_an_output_under_its_own_name_needs_no_node() -> None:
    text = """
    func.func @main_graph(%x: tensor<2x2xf32> {onnx.name = "x"})
        -> (tensor<2x2xf32> {onnx.name = "x"}, tensor<2x2xf32>) {
      %n = "onnx.Neg"(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
      onnx.Return %x, %n : tensor<2x2xf32>, tensor<2x2xf32>
    }
    """
    same, negated = run(text, x=X)
    np.testing.assert_array_equal(same, X)
    np.testing.assert_array_equal(negated, -X)


def test_input_constant_and_repeated_value_may_be_outputs() -> None:
    text = """
    func.func @main_graph(%x: tensor<2x2xf32> {onnx.name = "in"})
        -> (tensor<2x2xf32> {onnx.name = "same"}, tensor<f32>, tensor<2x2xf32>, tensor<2x2xf32>) {
      %c = onnx.Constant dense<2.0> : tensor<f32>
      %n = "onnx.Neg"(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
      onnx.Return %x, %c, %n, %n : tensor<2x2xf32>, tensor<f32>, tensor<2x2xf32>, tensor<2x2xf32>
    }"""
    same, constant, first, second = run(text, **{"in": X})
    np.testing.assert_array_equal(same, X)
    assert constant == 2
    np.testing.assert_array_equal(first, -X)
    np.testing.assert_array_equal(second, -X)


def test_dim_of_a_tensor_is_a_part_of_its_shape() -> None:
    text = """
    func.func @main_graph(%x: tensor<?x2xf32>) -> tensor<1xi64> {
      %d = "onnx.Dim"(%x) <{axis = 1 : si64}> : (tensor<?x2xf32>) -> tensor<1xi64>
      onnx.Return %d : tensor<1xi64>
    }"""
    (dim,) = run(text, input0=X)
    assert dim.tolist() == [2]


def test_names_of_inputs_outputs_and_weights_are_never_taken_by_others() -> None:
    text = """
    func.func @main_graph(%x: tensor<2xf32> {onnx.name = "v0"}) -> (tensor<2xf32> {onnx.name = "v1"}) {
      %c = onnx.Constant {onnx_node_name = "v1"} dense<2.0> : tensor<f32>
      %a = "onnx.Mul"(%x, %c) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
      %b = "onnx.Neg"(%a) : (tensor<2xf32>) -> tensor<2xf32>
      onnx.Return %b : tensor<2xf32>
    }"""
    (result,) = run(text, v0=np.array([1, 2], np.float32))
    assert result.tolist() == [-2, -4]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%y = arith.addf %x, %x : tensor<2xf32>", "arith.addf is not an op of the ONNX standard"),
        ('%y = "onnx.NoValue"() {value} : () -> none', "none"),
    ],
)
def test_what_onnx_does_not_have_is_named(body: str, expected: str) -> None:
    result = "none" if "none" in body else "tensor<2xf32>"
    text = f"func.func @f(%x: tensor<2xf32>) -> {result} {{ {body}\n onnx.Return %y : {result} }}"
    with pytest.raises(PassError, match=expected):
        export_model(parse_module(text))


def test_module_without_a_function_is_refused() -> None:
    with pytest.raises(PassError, match="has 0 functions"):
        export_model(parse_module("builtin.module {}"))


@pytest.mark.parametrize("element", ELEMENT_TO_DTYPE, ids=str)
def test_tensors_of_every_element_type_survive(element: object) -> None:
    dtype = ELEMENT_TO_DTYPE[element]  # pyright: ignore[reportArgumentType]
    if dtype.kind == "O":
        array = np.array(["a", "", "é"], dtype=object)
    elif dtype.name.startswith(("int", "uint")):
        array = np.array([-1, 0, 1, 1, -1], np.int64).astype(dtype)
    elif dtype.kind == "b":
        array = np.array([True, False, True])
    else:
        array = np.array([1, 4, 2, 1.5, 4], np.float32).astype(dtype)
    graph = onnx_package.GraphProto(name="g")
    graph.initializer.append(tensor_proto(array, "w"))
    graph.output.add(name="w")
    model = onnx_package.helper.make_model(graph, opset_imports=[onnx_package.helper.make_opsetid("", 25)])
    module = import_model(model)
    constant = next(op for op in module.walk() if isinstance(op, onnx.ConstantOp))
    again = onnx.constant_value(constant.output)
    assert again is not None and again.dtype == dtype
    assert again.tolist() == array.tolist()
    if dtype.kind != "O":
        assert tensor_proto(again, "w").raw_data == numpy_helper.from_array(array).raw_data


# Files


def module_with_weight(array: Array):
    graph = onnx_package.helper.make_graph(
        [onnx_package.helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [onnx_package.helper.make_tensor_value_info("x", TensorProto.FLOAT, array.shape)],
        [onnx_package.helper.make_tensor_value_info("y", TensorProto.FLOAT, array.shape)],
        [numpy_helper.from_array(array, "w")],
    )
    imports = [onnx_package.helper.make_opsetid("", 17)]
    return import_model(onnx_package.helper.make_model(graph, ir_version=8, opset_imports=imports))


def test_weights_go_beside_the_model_and_are_found_again(tmp_path: Path) -> None:
    array = np.arange(2000, dtype=np.float32)
    path = tmp_path / "m.onnx"
    save_model(module_with_weight(array), path, external_data=True)
    assert sorted(os.listdir(tmp_path)) == ["m.onnx", "m.onnx.data"]
    assert path.stat().st_size < 1000
    checker.check_model(str(path))
    constant = next(op for op in import_model(path).walk() if isinstance(op, onnx.ConstantOp))
    np.testing.assert_array_equal(onnx.constant_value(constant.output), array)  # pyright: ignore
    loaded = onnx_package.load(path)
    np.testing.assert_array_equal(numpy_helper.to_array(loaded.graph.initializer[0]), array)


def test_small_model_is_one_file_and_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"old")
    save_model(module_with_weight(np.ones(3, np.float32)), path)
    assert os.listdir(tmp_path) == ["m.onnx"]
    assert onnx_package.load(path).graph.node[0].op_type == "Add"


def test_folder_that_is_not_there_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(PassError, match="No such file"):
        save_model(module_with_weight(np.ones(3, np.float32)), tmp_path / "no" / "m.onnx")
    assert os.listdir(tmp_path) == []


# One op

IF = """
func.func @main_graph(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %y = "onnx.If"(%c) ({
    %a = "onnx.Neg"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "onnx.Yield"(%a) : (tensor<2xf32>) -> ()
  }, {
    "onnx.Yield"(%x) : (tensor<2xf32>) -> ()
  }) : (tensor<i1>) -> tensor<2xf32>
  onnx.Return %y : tensor<2xf32>
}
"""


def test_one_op_with_graphs_names_what_it_captures() -> None:
    op = next(op for op in parse_module(IF).walk() if isinstance(op, onnx.IfOp))
    (captured,) = captured_values(op)
    node = op_to_node(op, ["c"], ["y"], captured={captured: "outer"})
    assert list(node.input) == ["c"] and list(node.output) == ["y"]
    graphs = {a.name: a.g for a in node.attribute}
    read = {name for graph in graphs.values() for inner in graph.node for name in inner.input}
    assert read == {"outer"}
    assert sorted(n.op_type for graph in graphs.values() for n in graph.node) == ["Identity", "Neg"]


def test_captured_value_without_a_name_is_refused() -> None:
    op = next(op for op in parse_module(IF).walk() if isinstance(op, onnx.IfOp))
    with pytest.raises(PassError, match="has no name"):
        op_to_node(op, ["c"], ["y"])


def test_a_model_without_ops_keeps_its_opset() -> None:
    text = """
    module attributes {onnx.opset_imports = [":17"]} {
      func.func @main_graph(%x: tensor<2x2xf32> {onnx.name = "x"}) -> (tensor<2x2xf32> {onnx.name = "x"}) {
        onnx.Return %x : tensor<2x2xf32>
      }
    }
    """
    model = export_model(parse_module(text))
    assert not model.graph.node
    checker.check_model(model)
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 17)]
