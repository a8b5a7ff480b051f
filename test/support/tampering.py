"""What may happen to a fused op between its creation and its lowering; each has one Relu in its body."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import make
from onnxloom.dialects.onnx.element_types import si64

Tamper = Callable[[onnx.FusedOp], None]


def relu_of(fused_op: onnx.FusedOp) -> onnx.ReluOp:
    (relu,) = (op for op in fused_op.body.block.ops if isinstance(op, onnx.ReluOp))
    return relu


def delete_an_op(fused_op: onnx.FusedOp) -> None:
    relu = relu_of(fused_op)
    PatternRewriter(relu).replace(relu, [], [relu.operands[0]])


def insert_an_op(fused_op: onnx.FusedOp) -> None:
    relu = relu_of(fused_op)
    neg = make(onnx.NegOp, [relu.operands[0]], [relu.results[0].type])
    PatternRewriter(relu).insert(neg, InsertPoint.before(relu))
    relu.operands[0] = neg.results[0]


def put_in_a_foreign_op(fused_op: onnx.FusedOp) -> None:
    relu = relu_of(fused_op)
    soft = make(onnx.SoftmaxOp, [relu.operands[0]], [relu.results[0].type])
    PatternRewriter(relu).replace(relu, soft)


def change_an_attribute(fused_op: onnx.FusedOp) -> None:
    fused_op.attributes["op_count"] = IntegerAttr(7, si64)


def change_the_type_of_an_attribute(fused_op: onnx.FusedOp) -> None:
    fused_op.attributes["op_count"] = StringAttr("3")


def remove_an_attribute(fused_op: onnx.FusedOp) -> None:
    del fused_op.attributes["op_count"]


def name_a_foreign_kind(fused_op: onnx.FusedOp) -> None:
    fused_op.properties["kind"] = StringAttr("nobody.knows")


def name_the_other_kind(fused_op: onnx.FusedOp) -> None:
    own = fused_op.kind.data
    other = "onnx.matmul_epilogue" if own == "onnx.elementwise" else "onnx.elementwise"
    fused_op.properties["kind"] = StringAttr(other)


FALL_BACK: list[Tamper] = [
    delete_an_op, insert_an_op, put_in_a_foreign_op, change_an_attribute, change_the_type_of_an_attribute,
    remove_an_attribute, name_a_foreign_kind, name_the_other_kind,
]  # fmt: skip
