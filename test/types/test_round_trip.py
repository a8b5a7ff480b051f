"""Tensors of every element type through import, IR text, export: the same types and the same bits."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import onnx
import pytest
from element_values import NUMBERS, TYPES, Array, bits_of, code_of, corners, dtype_of, same_bits
from onnx import helper, numpy_helper

import onnxloom
from onnxloom.conversion.onnx_export import export_model
from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects.onnx.text import parse_module, print_module

PACKED = [t for t in NUMBERS if bits_of(t) < 8 and t != "bool"]


def _sample(name: str, count: int) -> Array:
    if name == "string":
        return np.array(["", "a", "\N{GREEK SMALL LETTER MU}", 'quo"te', "NaN"] * count, object)[:count]
    if name.startswith("complex"):
        part = _sample("float" if name == "complex64" else "double", 2 * count)
        return np.ascontiguousarray(part).view(dtype_of(name))
    return np.resize(corners(name), count)


def _model(name: str, array: Array) -> onnx.ModelProto:
    """A constant, and an input beside it: both are results."""
    kind = code_of(name)
    # Identity takes no floats of 6 bits.
    op = "Cast" if name.startswith("float6") else "Identity"
    to: dict[str, Any] = {"to": kind} if op == "Cast" else {}
    graph = helper.make_graph(
        [helper.make_node(op, ["w"], ["y"], **to), helper.make_node(op, ["x"], ["z"], **to)],
        "types",
        [helper.make_tensor_value_info("x", kind, ["n"])],
        [
            helper.make_tensor_value_info("y", kind, array.shape),
            helper.make_tensor_value_info("z", kind, ["n"]),
        ],
        [numpy_helper.from_array(array, "w")],
    )
    opset = onnx.defs.onnx_opset_version()
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=13)


def _weight(model: onnx.ModelProto) -> Array:
    """The constant of a model, whichever way it is held."""
    if model.graph.initializer:
        return numpy_helper.to_array(model.graph.initializer[0])
    constant = next(node for node in model.graph.node if node.op_type == "Constant")
    return numpy_helper.to_array(next(a for a in constant.attribute if a.name == "value").t)


@pytest.mark.parametrize("count", [1, 3, 5, 300])
@pytest.mark.parametrize("name", TYPES)
def test_import_text_and_export_keep_type_and_bits(name: str, count: int):
    array = _sample(name, count)
    module = import_model(_model(name, array))
    text = io.StringIO()
    print_module(module, text)
    again = parse_module(text.getvalue())
    back = export_model(again)
    onnx.checker.check_model(back)
    kinds = [v.type.tensor_type.elem_type for v in (*back.graph.input, *back.graph.output)]
    assert kinds == [code_of(name)] * 3
    weight = _weight(back)
    if name == "string":
        assert weight.astype(str).tolist() == array.tolist()
    else:
        assert same_bits(weight, array, name).all()


@pytest.mark.parametrize("name", TYPES)
def test_sessions_exchange_arrays_of_the_type(name: str):
    array = _sample(name, 7)
    results = onnxloom.InferenceSession(_model(name, array).SerializeToString()).run(None, {"x": array})
    for result in results:
        assert isinstance(result, np.ndarray)
        if name == "string":
            assert result.tolist() == array.tolist()
        else:
            assert same_bits(result, array, name).all()


@pytest.mark.parametrize("name", PACKED)
def test_bits_beyond_those_of_a_type_do_not_count(name: str):
    """Arrays that were made of bytes may have some set."""
    clean = np.resize(corners(name), 64)
    filled = (clean.view(np.uint8) | np.uint8(0xFF << bits_of(name) & 0xFF)).view(dtype_of(name))
    kind = code_of(name)
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["y"], to=code_of("float"))],
        "cast",
        [helper.make_tensor_value_info("x", kind, ["n"])],
        [helper.make_tensor_value_info("y", code_of("float"), ["n"])],
    )
    opset = onnx.defs.onnx_opset_version()
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=13)
    results = onnxloom.compile(model).run({"x": filled})["y"]
    np.testing.assert_array_equal(results, clean.astype(np.float32))
