"""Inputs of shapes that no legal run can have: one line that names op and node, and says what clashes."""

from __future__ import annotations

import pytest

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import ModelError
from onnxloom.transforms.shape_inference import infer_shapes

CASES = [
    (
        '"onnx.MatMul"(%a, %b) {onnx_node_name = "fc"} : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<*xf32>',
        'onnx.MatMul (node "fc"): inner dims of 2x3 and 4x5: 3 and 4 differ',
    ),
    (
        '"onnx.Gemm"(%a, %b, %none) <{transB = 1 : si64}> '
        ": (tensor<2x3xf32>, tensor<4x5xf32>, none) -> tensor<*xf32>",
        "onnx.Gemm: inner dims of 2x3 and 5x4: 3 and 5 differ",
    ),
    (
        '"onnx.Concat"(%a, %b) <{axis = 0 : si64}> : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<*xf32>',
        "onnx.Concat: dim 1 of inputs 2x3 and 4x5: 3 and 5 differ",
    ),
    (
        '"onnx.Reshape"(%a, %i) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>',
        "onnx.Reshape: an input of shape 2x3 does not reshape to [4, -1]",
    ),
    (
        '"onnx.Transpose"(%a) <{perm = [0, 2]}> : (tensor<2x3xf32>) -> tensor<*xf32>',
        "onnx.Transpose: perm [0, 2] is not a permutation of the axes of a tensor of rank 2",
    ),
    (
        '"onnx.Gather"(%a, %i) <{axis = 2 : si64}> : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>',
        "onnx.Gather: axis 2 is outside of a tensor of rank 2",
    ),
    (
        '"onnx.Squeeze"(%a, %one) : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<*xf32>',
        "onnx.Squeeze: dim 1 is 3; only a dim of 1 can be squeezed",
    ),
    (
        '"onnx.Slice"(%a, %i, %i, %one, %none) '
        ": (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<1xi64>, none) -> tensor<*xf32>",
        "onnx.Slice: 2 starts for 1 axes",
    ),
    (
        '"onnx.Conv"(%x, %w, %none) : (tensor<1x4x8x8xf32>, tensor<6x3x3x3xf32>, none) -> tensor<*xf32>',
        "onnx.Conv: input 1x4x8x8 has 4 channels; the weight expects 3",
    ),
    (
        '"onnx.MaxPool"(%x) <{kernel_shape = [9, 9]}> : (tensor<1x4x8x8xf32>) -> (tensor<*xf32>)',
        "onnx.MaxPool: a window of 9 does not fit into a padded dim of 8",
    ),
    (
        '"onnx.MaxPool"(%x) <{kernel_shape = [10, 8], strides = [2, 1], ceil_mode = 1 : si64}> : '
        "(tensor<1x4x8x8xf32>) -> (tensor<*xf32>)",
        "onnx.MaxPool: a window of 10 does not fit into a padded dim of 8",
    ),
    (
        '"onnx.MaxPool"(%x) <{kernel_shape = [10, 8], strides = [2, 1]}> : '
        "(tensor<1x4x8x8xf32>) -> (tensor<*xf32>)",
        "onnx.MaxPool: a window of 10 does not fit into a padded dim of 8",
    ),
    (
        '"onnx.AveragePool"(%x) <{kernel_shape = [8, 9]}> : (tensor<1x4x8x8xf32>) -> tensor<*xf32>',
        "onnx.AveragePool: a window of 9 does not fit into a padded dim of 8",
    ),
    (
        '"onnx.LpPool"(%nothing) <{kernel_shape = [3], strides = [4], pads = [1, 0]}> : '
        "(tensor<1x4x0xf32>) -> tensor<*xf32>",
        "onnx.LpPool: a window of 3 does not fit into a padded dim of 1",
    ),
    (
        '"onnx.DepthToSpace"(%x) <{blocksize = 0 : si64}> : (tensor<1x4x8x8xf32>) -> tensor<*xf32>',
        "onnx.DepthToSpace: ",
    ),
    (
        '"onnx.ConstantOfShape"(%i) : (tensor<2xi64>) -> tensor<*xf32>',
        "onnx.ConstantOfShape: shape ['4', '-1'] has a negative dim",
    ),
]


@pytest.mark.parametrize(("op", "message"), CASES, ids=[op.split('"')[1] for op, _ in CASES])
def test_impossible_inputs(op: str, message: str):
    results = "%r, %mask" if "-> (" in op else "%r"
    op = op.replace("-> (tensor<*xf32>)", "-> (tensor<*xf32>, none)")
    module = parse_module(
        "func.func @main_graph(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>, %x: tensor<1x4x8x8xf32>, "
        "%w: tensor<6x3x3x3xf32>, %nothing: tensor<1x4x0xf32>) {\n"
        '%none = "onnx.NoValue"() {value} : () -> none\n'
        "%i = onnx.Constant dense<[4, -1]> : tensor<2xi64>\n"
        "%one = onnx.Constant dense<1> : tensor<1xi64>\n"
        f"{results} = {op}\n"
        "onnx.Return\n}"
    )
    with pytest.raises(ModelError) as caught:
        infer_shapes(module)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_notes_tell_where_declared_and_inferred_types_differ():
    module = parse_module(
        "func.func @main_graph(%a: tensor<2x3xf32>) {\n"
        '%r = "onnx.Relu"(%a) {onnx_node_name = "act"} : (tensor<2x3xf32>) -> tensor<2x4xf32>\n'
        "onnx.Return\n}"
    )
    assert infer_shapes(module) == ['onnx.Relu (node "act"): result r: declared dim 1 is 4, inferred 3']


def test_a_second_run_changes_nothing():
    text = (
        'func.func @main_graph(%a: tensor<?x3xf32> {onnx.dim_params = "0:n"}) {\n'
        '%s = "onnx.Shape"(%a) : (tensor<?x3xf32>) -> tensor<*xi64>\n'
        '%r = "onnx.Expand"(%a, %s) : (tensor<?x3xf32>, tensor<*xi64>) -> tensor<*xf32>\n'
        "onnx.Return\n}"
    )
    module = parse_module(text)
    infer_shapes(module)
    first = str(module)
    assert "tensor<?x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>" in first
    assert infer_shapes(module) == []
    assert str(module) == first


def test_values_keep_their_identity():
    module = parse_module(
        "func.func @main_graph(%a: tensor<2x3xf32>) {\n"
        '%r = "onnx.Relu"(%a) : (tensor<2x3xf32>) -> tensor<*xf32>\n'
        "onnx.Return\n}"
    )
    results = [result for op in module.walk() for result in op.results]
    infer_shapes(module)
    assert [result for op in module.walk() for result in op.results] == results
