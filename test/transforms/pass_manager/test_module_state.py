"""A module becomes again exactly what it was, whatever was done to it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, f32
from xdsl.ir import Block, Operation, Region

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.attributes import int_value
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.dialects.verify_module import verify_module
from onnxloom.transforms.pass_manager.module_state import ModuleState
from onnxloom.transforms.shape_inference import set_type

TEXT = """
func.func @f(%x: tensor<4xf32>, %c: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %k = onnx.Constant dense<2.0> : tensor<f32>
  %a = "onnx.Mul"(%x, %k) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = "onnx.If"(%c) ({
    %t = "onnx.Relu"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %t : tensor<4xf32>
  }, {
    %s = "onnx.Softmax"(%a) <{axis = 0 : si64}> : (tensor<4xf32>) -> tensor<4xf32>
    %e = "onnx.Exp"(%s) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %e : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %d = "onnx.Add"(%b, %b) {onnx_node_name = "d"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %d, %a : tensor<4xf32>, tensor<4xf32>
}
"""


def find(module: ModuleOp, op_class: type[Operation]) -> Operation:
    return next(op for op in module.walk() if isinstance(op, op_class))


def erase_a_chain(module: ModuleOp) -> None:
    add, branch = find(module, onnx.AddOp), find(module, onnx.IfOp)
    add.results[0].replace_all_uses_with(find(module, onnx.MulOp).results[0])
    add.detach()
    add.erase()
    branch.detach()
    branch.erase()


def inline_a_branch(module: ModuleOp) -> None:
    branch = find(module, onnx.IfOp)
    block = branch.regions[0].block
    *ops, end = block.ops
    assert branch.parent is not None
    for op in ops:
        op.detach()
        branch.parent.insert_op_before(op, branch)
    branch.results[0].replace_all_uses_with(end.operands[0])
    branch.detach()
    branch.erase()


def swap_branches(module: ModuleOp) -> None:
    branch = find(module, onnx.IfOp)
    first, second = branch.regions
    branch.detach_region(first)
    branch.add_region(first)
    second.block.insert_arg(f32, 0)


def replace_the_body(module: ModuleOp) -> None:
    function = module.body.block.first_op
    assert function is not None
    block = function.regions[0].detach_block(0)
    fresh = Block(arg_types=block.arg_types)
    function.regions[0].add_block(fresh)
    block.drop_all_references()


def change_attributes(module: ModuleOp) -> None:
    softmax = find(module, onnx.SoftmaxOp)
    softmax.properties["axis"] = int_value(-1)
    del find(module, onnx.AddOp).attributes["onnx_node_name"]
    module.attributes["onnx.note"] = int_value(1)


def change_types(module: ModuleOp) -> None:
    relu = find(module, onnx.ReluOp)
    set_type(relu.results[0], TensorType(f32, [DYNAMIC_INDEX]))
    relu.results[0].name_hint = "other"
    set_type(find(module, onnx.MulOp).operands[0], TensorType(f32, [DYNAMIC_INDEX]))


def leave_a_reader_behind(module: ModuleOp) -> None:
    value = find(module, onnx.MulOp).results[0]
    onnx.ReluOp.create(operands=[value], result_types=[value.type])
    find(module, onnx.ReluOp).operands = (find(module, onnx.MulOp).operands[0],)


def move_an_op(module: ModuleOp) -> None:
    constant, end = find(module, onnx.ConstantOp), find(module, onnx.ReturnOp)
    assert end.parent is not None
    constant.detach()
    end.parent.insert_op_before(constant, end)


def put_in_a_region(module: ModuleOp) -> None:
    relu = find(module, onnx.ReluOp)
    block = relu.parent
    assert block is not None and block.parent is not None
    block.parent.move_blocks(Region())
    relu.detach()


CHANGES = [
    erase_a_chain, inline_a_branch, swap_branches, replace_the_body, change_attributes, change_types,
    leave_a_reader_behind, move_an_op, put_in_a_region,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_done_is_noticed_and_undone(change: Callable[[ModuleOp], None]):
    module = parse_module(TEXT)
    text, ops = str(module), list(module.walk())
    state = ModuleState(module)
    assert ModuleState(module) == state
    change(module)
    assert ModuleState(module) != state
    state.restore()
    assert ModuleState(module) == state
    assert str(module) == text
    assert list(module.walk()) == ops
    verify_module(module)
    uses = {(use.operation, use.index) for op in ops for result in op.results for use in result.uses}
    reads = {(op, i) for op in ops for i, v in enumerate(op.operands) if isinstance(v.owner, Operation)}
    assert uses == reads


def test_a_restored_module_can_be_changed_and_restored_again():
    module = parse_module(TEXT)
    text, state = str(module), ModuleState(module)
    for change in CHANGES + random.Random(0).sample(CHANGES, len(CHANGES)):
        change(module)
        state.restore()
    assert str(module) == text


def test_order_of_ops_is_part_of_a_state():
    module = parse_module(TEXT)
    state = ModuleState(module)
    move_an_op(module)
    assert ModuleState(module) != state
