"""Every reason for which what lowerings share declines, met through an op or asked directly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
from fusion_reasons import function_of
from ir_graphs import graph
from lowering_reasons import Case, check, new_builder, op_text, reason_of, rnn, tensors, trees
from xdsl.dialects.builtin import TensorType, UnrankedTensorType, f32
from xdsl.ir import Attribute, Block, Operation

from onnxloom.conversion.onnx_to_loom import block_converter
from onnxloom.conversion.onnx_to_loom.block_converter import BlockConverter
from onnxloom.conversion.onnx_to_loom.builder import buffer_element, ranked
from onnxloom.conversion.onnx_to_loom.convolutions.convolution import Convolution, column_strides
from onnxloom.conversion.onnx_to_loom.decline import Decline, Declined
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import body_operands
from onnxloom.conversion.onnx_to_loom.registry import op_lowerings
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.types import StringType


def test_the_forms_that_are_varied_here_have_kernels() -> None:
    for case in (rnn(), trees(), qlinear(), QLINEAR_CONV, INTEGERS):
        assert reason_of(case) is None


def qlinear(a_scale: str = "tensor<f32>", y_scale: str = "tensor<f32>", y: str = "i8", a: str = "i8") -> Case:
    operands = [f"tensor<4x8x{a}>", a_scale, f"tensor<{a}>", "tensor<8x5xi8>", "tensor<f32>", "tensor<i8>"]
    return ("QLinearMatMul", [*operands, y_scale, f"tensor<{y}>"], "", [f"tensor<4x5x{y}>"])


def qlinear_conv(y_scale: str) -> Case:
    image = ["tensor<1x3x8xi8>", "tensor<f32>", "tensor<i8>"]
    weights = ["tensor<4x3x3xi8>", "tensor<f32>", "tensor<i8>"]
    return ("QLinearConv", [*image, *weights, y_scale, "tensor<i8>"], "", ["tensor<1x4x6xi8>"])


QLINEAR_CONV = qlinear_conv("tensor<f32>")


def integers(lhs: str = "none", rhs: str = "none", element: str = "i8") -> Case:
    operands = [f"tensor<2x4x8x{element}>", "tensor<2x8x5xi8>", lhs, rhs]
    return ("MatMulInteger", operands, "", ["tensor<2x4x5xi32>"])


INTEGERS = integers()

PRODUCTS: dict[str, tuple[Case, str | None]] = {
    "types": (
        ("MatMul", ["tensor<2x4xf32>", "tensor<4x3xf64>"], "", tensors("2x3")),
        "the operands have different element types",
    ),
    "numbers": (
        ("MatMul", tensors("", "4x3"), "", tensors("3")),
        "an operand of a matrix product has rank 0",
    ),
    "alpha": (
        ("Gemm", [*tensors("2x4", "4x3", element="i32"), "none"], "alpha = 0.5 : f32", ["tensor<2x3xi32>"]),
        "alpha 0.5 or beta 1.0 of an integer Gemm is no whole number",
    ),
    "wide integers": (
        integers(element="i16"),
        "a factor of type tensor<2x4x8xi16> holds no integers of 8 bits",
    ),
    "zero points of rows": (
        integers(lhs="tensor<2x4x1xi8>"),
        "zero points of rows that differ between matrices have no kernel",
    ),
    "zero points of columns": (
        integers(rhs="tensor<2x1x5xi8>"),
        "zero points of columns that differ between matrices have no kernel",
    ),
    "zero points of an image": (
        (
            "ConvInteger",
            ["tensor<1x3x8xi8>", "tensor<4x3x3xi8>", "tensor<3xi8>", "none"],
            "",
            ["tensor<1x4x6xi32>"],
        ),
        "the image of a convolution has several zero points",
    ),
    "scales of a result": (
        qlinear_conv("tensor<4xf32>"),
        "the scale of the result has several elements, or an unknown number of them",
    ),
    "unknown scales": (qlinear(a_scale="tensor<?xf32>"), "a scale has an unknown number of elements"),
    "double scales": (qlinear(y_scale="tensor<f64>"), "scales of type f64 have no kernel"),
    "requantization": (qlinear(y="i32"), "there is no requantization to i32"),
    "width": (
        (
            "Attention",
            [*tensors("1x3x?", "1x3x16", "1x3x16"), *["none"] * 4],
            "q_num_heads = 2 : si64, kv_num_heads = 2 : si64",
            [*tensors("1x3x16"), "none", "none", "none"],
        ),
        "the width of the heads is not known at compile time",
    ),
}


@check(PRODUCTS)
def test_products(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


CONVOLUTIONS: dict[str, tuple[Case, str | None]] = {
    "window": (
        ("Conv", [*tensors("1x3x8x8", "4x3x?x3"), "none"], "", tensors("1x4x?x6")),
        "the dims of the convolution window are not known",
    ),
    "pads": (
        (
            "Conv",
            [*tensors("1x3x8", "4x3x3"), "none"],
            "pads = [-1 : si64, 0 : si64]",
            tensors("1x4x5"),
        ),
        "negative pads of a convolution have no kernel",
    ),
    "ranks": (
        ("Conv", [*tensors("1x3x8x8", "4x3x3"), "none"], "", tensors("1x4x6x6")),
        "input and weights of a convolution differ in rank",
    ),
    "four dims": (
        ("Conv", [*tensors("1x3x4x4x4x4", "4x3x1x1x1x1"), "none"], "", tensors("1x4x4x4x4x4")),
        "a convolution over 4 spatial dims has no kernel",
    ),
    "types": (
        ("Conv", ["tensor<1x3x8xf32>", "tensor<4x3x3xf64>", "none"], "", tensors("1x4x6")),
        "input and weights have different element types",
    ),
}


@check(CONVOLUTIONS)
def test_convolutions(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


def test_an_operand_beside_some_points_of_a_convolution() -> None:
    block = Block(arg_types=[TensorType(f32, shape) for shape in ([2, 3, 6, 6], [4, 3, 1, 1], [6], [36])])
    source, weights, row, _ = block.args
    window = Window((1, 1), (1, 1), (1, 1), (0, 0, 0, 0), "NOTSET")
    conv = Convolution(source, weights, window, 1, TensorType(f32, [2, 4, 6, 6]), [row])
    with pytest.raises(Declined, match="^an operand broadcasts along some spatial dims only$"):
        column_strides(conv)


OTHERS: dict[str, tuple[Case, str | None]] = {
    "strings": (
        (
            "Transpose",
            ["tensor<2x4x!onnx.String>"],
            "perm = [1 : si64, 0 : si64]",
            ["tensor<4x2x!onnx.String>"],
        ),
        "kernels do not copy elements of type !onnx.String",
    ),
    "direction": (rnn('direction = "sideways"'), "there is no direction 'sideways'"),
    "activation": (rnn('activations = ["Cube"]'), "there is no kernel for the activation 'Cube'"),
    "activations": (
        ("RNN", rnn()[1], 'activations = ["Tanh"], direction = "bidirectional"', rnn()[3]),
        "there are 1 activations; expected 2",
    ),
    "integers": (rnn(element="i32"), "recurrent kernels do not compute with i32"),
    "logarithm": (
        ("ReduceLogSumExp", ["tensor<2x4xi32>", "none"], "", ["tensor<1x1xi32>"]),
        "ReduceLogSumExp of integers has no kernel",
    ),
}


@check(OTHERS)
def test_other_ops(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


NOT_THERE = "trees name features, nodes or targets that do not exist"
NO_NODES = "trees name nodes or leaves that do not exist"
MODES = "nodes compare in a way that has no kernel"
SETS = "membership_values is no list of numbers, or too long"


def lacks(name: str) -> str:
    return f"{name} is missing, or has another length than the nodes or leaves"


TREES: dict[str, tuple[Case, str | None]] = {
    "sets": (trees(nodes_modes="dense<6> : tensor<2xui8>"), SETS),
    "modes": (trees(nodes_modes="dense<0> : tensor<1xui8>"), MODES),
    "mode": (trees(nodes_modes="dense<7> : tensor<2xui8>"), MODES),
    "long set": (
        trees(nodes_modes="dense<6> : tensor<2xui8>", membership_values="dense<1.0> : tensor<5000xf32>"),
        SETS,
    ),
    "double set": (
        trees(nodes_modes="dense<6> : tensor<2xui8>", membership_values="dense<1.0> : tensor<2xf64>"),
        SETS,
    ),
    "one set": (
        trees(
            nodes_modes="dense<6> : tensor<2xui8>",
            membership_values="dense<[1.0, 0x7FC00000]> : tensor<2xf32>",
        ),
        "a set has no membership_values",
    ),
    "missing": (
        trees(nodes_missing_value_tracks_true="[1 : si64]"),
        "nodes_missing_value_tracks_true has another length than the nodes",
    ),
    "features": (trees(nodes_featureids="[0 : si64, -1 : si64]"), NOT_THERE),
    "roots": (trees(tree_roots="[2 : si64]"), NOT_THERE),
    "target": (trees(leaf_targetids="[0 : si64, 1 : si64, 0 : si64]"), NOT_THERE),
    "targets": (trees(n_targets="5000 : si64"), "trees with 5000 targets have no kernel"),
    "node": (trees(nodes_truenodeids="[2 : si64, 1 : si64]"), NO_NODES),
    "leaf": (trees(nodes_falsenodeids="[0 : si64, 3 : si64]"), NO_NODES),
    "cycle": (
        trees(nodes_truenodeids="[0 : si64, 1 : si64]"),
        "the nodes of a tree form a cycle",
    ),
    "splits": (trees(without="nodes_splits"), "nodes_splits is no list of numbers"),
    "matrix": (
        trees(leaf_weights="dense<1.0> : tensor<1x3xf32>"),
        "leaf_weights is no list of numbers",
    ),
    "no features": (trees(without="nodes_featureids"), lacks("nodes_featureids")),
    "leaves": (trees(leaf_targetids="[0 : si64]"), lacks("leaf_targetids")),
}


@check(TREES)
def test_trees(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


def refused_by(action: Any) -> str:
    with pytest.raises(Declined) as raised:
        action()
    return raised.value.reason


def ops_of(text: str) -> list[Operation]:
    return [op for op in function_of(text).body.block.ops if not isinstance(op, onnx.ReturnOp)]


IMAGE = "tensor<2x4x4x4xf32>"
SOFTMAX = graph("%y = Softmax %x")
VECTOR = (f"%x : {IMAGE}", "%s : tensor<4xf32>")


@pytest.mark.parametrize(
    "text, reason",
    [
        (
            SOFTMAX,
            "onnx.Softmax has no kernel for this form (tensor<2x4xf32>, tensor<2x4xf32>)",
        ),
        (
            graph(
                "%n = Neg %s : tensor<4xf32>",
                f"%y = BatchNormalization %x %n %n %n %n : {IMAGE}",
                inputs=VECTOR,
                results=IMAGE,
            ),
            "operand 1 of onnx.BatchNormalization lies along one axis and is made in the chain",
        ),
        (
            graph(
                f"%n = BatchNormalization %x %s %s %s %s : {IMAGE}",
                f"%y = Mul %n %s : {IMAGE}",
                inputs=VECTOR,
                results=IMAGE,
            ),
            "operand 1 of onnx.Mul is read along two different axes",
        ),
    ],
    ids=["no scalars", "made in the chain", "two axes"],
)
def test_bodies_whose_operands_cannot_be_read(text: str, reason: str) -> None:
    assert refused_by(lambda: body_operands(ops_of(text), {}, new_builder(Block()))) == reason


@pytest.mark.parametrize(
    "text, reason",
    [
        (SOFTMAX, "onnx.Softmax has no scalar semantics"),
        (graph("%y = Neg %x"), "operand 0 of onnx.Neg is not computed in the body"),
    ],
    ids=["no scalars", "no value"],
)
def test_bodies_that_cannot_be_applied_to_scalars(text: str, reason: str) -> None:
    builder = new_builder(Block())
    assert refused_by(lambda: builder.apply(cast(Any, None), ops_of(text), {})) == reason


def test_types_that_kernels_do_not_have() -> None:
    assert (
        refused_by(lambda: ranked(UnrankedTensorType(f32), "the data")) == "the rank of the data is not known"
    )
    strings: Attribute = TensorType(StringType(), [2])
    assert refused_by(lambda: buffer_element(strings)) == "kernels hold no elements of type !onnx.String"


def test_loops_over_nothing_or_of_another_rank() -> None:
    block = Block(arg_types=[TensorType(f32, [2, 4])])
    builder = new_builder(block)

    def mapped(inputs: Sequence[Any], shape: Sequence[int]) -> str:
        return refused_by(lambda: builder.map("same", inputs, [TensorType(f32, shape)], lambda s, x: x))

    assert mapped([], [2, 4]) == "an elementwise kernel needs an input"
    assert mapped(block.args, [2, 2, 4]) == "a result does not have the rank of its broadcast inputs"


# What becomes of an op that is declined.


def reasons_of_host_steps(text: str) -> list[str]:
    source = function_of(text).body.block
    block = Block(arg_types=source.arg_types)
    converter = BlockConverter(new_builder(block))
    for old, new in zip(source.args, block.args, strict=True):
        converter.bind(old, new)
    converter.block(source)
    return [op.reason.data for op in block.walk() if isinstance(op, loom.HostOp)]


def test_a_decline_that_is_returned_is_the_reason_of_the_host_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def lower(op: Operation, inputs: Any, builder: Any) -> Decline:
        return Decline("not this one")

    def lowering_of(op: Operation) -> Any:
        return lower

    monkeypatch.setattr(block_converter, "lowering_of", lowering_of)
    text = op_text("MatMul", tensors("2x4", "4x3"), "", tensors("2x3"))
    assert reasons_of_host_steps(text) == ["not this one"]


def test_an_op_without_kernel_and_body_is_a_host_step() -> None:
    text = op_text("RandomUniformLike", tensors("4x4"), "", tensors("4x4"))
    assert reasons_of_host_steps(text) == ["there is no kernel for onnx.RandomUniformLike"]


def test_a_body_with_a_loop_has_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(op_lowerings(), onnx.RangeOp)
    text = op_text("Range", ["tensor<i64>"] * 3, "", ["tensor<?xi64>"])
    assert reasons_of_host_steps(text) == []


def test_a_body_of_which_a_part_has_no_kernel_is_a_host_step_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(op_lowerings(), onnx.RangeOp)
    monkeypatch.setattr(block_converter, "is_elementwise", lambda op: False)  # pyright: ignore[reportUnknownLambdaType]
    text = op_text("Range", ["tensor<i64>"] * 3, "", ["tensor<?xi64>"])
    assert reasons_of_host_steps(text) == ["there is no kernel for onnx.Range"]
