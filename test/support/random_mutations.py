"""A pass that changes a module at random but validly: what a recorder must be able to follow."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import FloatAttr, ModuleOp, StringAttr, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import make
from onnxloom.dialects.onnx.constant import make_constant

MODULE = """
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %c: tensor<i1>) -> tensor<2x3xf32> {
  %w = onnx.Constant dense<[[1.0, 2.0, 3.0], [-0.0, 0x7fc00001, 0.5]]> : tensor<2x3xf32>
  %a = "onnx.Add"(%x, %w) {onnx_node_name = "a"} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = "onnx.Mul"(%a, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %d = "onnx.If"(%c) ({
    %k = onnx.Constant dense<2.0> : tensor<2x3xf32>
    %t = "onnx.Sub"(%b, %k) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %u = "onnx.Relu"(%t) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    onnx.Yield %u : tensor<2x3xf32>
  }, {
    %e = "onnx.Elu"(%a) {alpha = 1.5 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %f = "onnx.If"(%c) ({
      %g = "onnx.Neg"(%e) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      onnx.Yield %g : tensor<2x3xf32>
    }, {
      onnx.Yield %e : tensor<2x3xf32>
    }) : (tensor<i1>) -> tensor<2x3xf32>
    onnx.Yield %f : tensor<2x3xf32>
  }) : (tensor<i1>) -> tensor<2x3xf32>
  %h = "onnx.Elu"(%d) {alpha = 0.0 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return %h : tensor<2x3xf32>
}
"""
"""Nested branches, constants, captured values."""


def mutate(module: ModuleOp, rng: random.Random, count: int) -> None:
    """Does `count` random things."""
    for _ in range(count):
        ops = [op for op in module.walk() if op.name.startswith("onnx.") and op.parent_block() is not None]
        rng.choice(_MUTATIONS)(rng.choice(ops), rng)
        _drop_dead(module, rng)


def _available(op: Operation, wanted: SSAValue, rng: random.Random) -> SSAValue:
    """A value of the same type that may be read where `op` stands."""
    found: list[SSAValue] = []
    at: Operation | None = op
    while at is not None and (block := at.parent_block()) is not None:
        found += [value for value in block.args if value.type == wanted.type]
        for earlier in block.ops:
            if earlier is at:
                break
            found += [value for value in earlier.results if value.type == wanted.type]
        at = block.parent_op()
    return rng.choice(found) if found else wanted


def _reconnect(op: Operation, rng: random.Random) -> None:
    if op.operands and not isinstance(op, onnx.NoValueOp):
        index = rng.randrange(len(op.operands))
        op.operands[index] = _available(op, op.operands[index], rng)


def _replace(op: Operation, rng: random.Random) -> None:
    if len(op.results) == 1 and op.operands and not op.regions and rng.random() < 0.8:
        value = _available(op, op.results[0], rng)
        op.results[0].replace_all_uses_with(value)


def _insert(op: Operation, rng: random.Random) -> None:
    block = op.parent_block()
    if block is None or not op.operands:
        return
    index = rng.randrange(len(op.operands))
    if "f32" not in str(op.operands[index].type):
        return
    cls = rng.choice([onnx.NegOp, onnx.AbsOp, onnx.SigmoidOp])
    added = make(cls, [op.operands[index]], [op.operands[index].type])
    added.results[0].name_hint = rng.choice([None, "n_1_2", "v", "w"])
    if rng.random() < 0.5:
        added.results[0]._name = "odd_7"  # pyright: ignore[reportPrivateUsage]
    block.insert_op_before(added, op)
    op.operands[index] = added.results[0]


def _insert_constant(op: Operation, rng: random.Random) -> None:
    block = op.parent_block()
    if block is None or not op.operands or "2x3xf32" not in str(op.operands[0].type):
        return
    shape = (2, 3) if rng.random() < 0.6 else (100, 2, 3)
    values = np.array([0.0, -0.0, np.nan, np.inf, 1e-42, rng.random()], np.float32)
    array = np.broadcast_to(values.reshape(2, 3), shape).copy()
    array.view(np.uint32).reshape(-1)[2] |= rng.randrange(1 << 20)  # the payload of a NaN
    constant = make_constant(array)
    block.insert_op_before(constant, op)
    if shape == (2, 3):
        op.operands[0] = constant.results[0]
        return
    picked = make(
        onnx.ReduceMaxOp, [constant.results[0], _axes(block, op)], [op.operands[0].type], keepdims=0
    )
    block.insert_op_before(picked, op)
    op.operands[0] = picked.results[0]


def _axes(block: Block, op: Operation) -> SSAValue:
    constant = make_constant(np.array([0], np.int64))
    block.insert_op_before(constant, op)
    return constant.results[0]


def _clone_constant(op: Operation, rng: random.Random) -> None:
    block = op.parent_block()
    if not isinstance(op, onnx.ConstantOp) or block is None:
        return
    copy = op.clone()
    block.insert_op_before(copy, op)
    for use in list(op.results[0].uses):
        if rng.random() < 0.5:
            use.operation.operands[use.index] = copy.results[0]


def _move_up(op: Operation, rng: random.Random) -> None:
    """Constants may stand anywhere before; into the enclosing block too."""
    block = op.parent_block()
    if not isinstance(op, onnx.ConstantOp) or block is None:
        return
    parent = block.parent_op()
    op.detach()
    if isinstance(parent, onnx.IfOp) and rng.random() < 0.5:
        outer = parent.parent_block()
        assert outer is not None
        outer.insert_op_before(op, parent)
        return
    first = block.first_op
    assert first is not None
    block.insert_op_before(op, first)


def _swap(op: Operation, rng: random.Random) -> None:
    following, block = op.next_op, op.parent_block()
    if following is None or block is None or following.next_op is None:
        return
    reads = {value.owner for inner in following.walk() for value in inner.operands}
    if op not in reads:
        op.detach()
        block.insert_op_before(op, following.next_op or following)


def _attribute(op: Operation, rng: random.Random) -> None:
    match rng.randrange(4):
        case 0:
            op.attributes["onnx_node_name"] = StringAttr(f"n{rng.randrange(9)}")
        case 1:
            op.attributes.pop("onnx_node_name", None)
        case 2 if isinstance(op, onnx.EluOp):
            value = rng.choice([0.0, -0.0, float("nan"), 0.1])
            op.properties["alpha"] = FloatAttr(value, f32)
        case _:
            op.attributes = dict(reversed(op.attributes.items()))


def _name(op: Operation, rng: random.Random) -> None:
    for result in op.results:
        result._name = rng.choice([None, "p", "q_3"])  # pyright: ignore[reportPrivateUsage]


def _retype(op: Operation, rng: random.Random) -> None:
    """The same type, in another object: what xDSL makes of a value whose type is set."""
    for result in op.results:
        Rewriter.replace_value_with_new_type(result, result.type)


def _inline(op: Operation, rng: random.Random) -> None:
    block = op.parent_block()
    if not isinstance(op, onnx.IfOp) or block is None or rng.random() < 0.8:
        return
    branch = rng.choice(op.regions).block
    last = branch.last_op
    assert last is not None
    for old, new in zip(op.results, list(last.operands), strict=True):
        old.replace_all_uses_with(new)
    last.detach()
    last.erase()
    for inner in list(branch.ops):
        inner.detach()
        block.insert_op_before(inner, op)
    op.detach()
    op.erase()


def _wrap(op: Operation, rng: random.Random) -> None:
    """An If of the same value in both branches; one of them takes the op along."""
    function = next(parent for parent in _parents(op) if isinstance(parent, FuncOp))
    block = op.parent_block()
    if not isinstance(op, onnx.NegOp | onnx.AbsOp | onnx.ReluOp) or block is None:
        return
    condition = function.body.block.args[2]
    then, otherwise = Block(), Block()
    wrapped = onnx.IfOp.create(
        operands=[condition], result_types=[op.results[0].type], regions=[_region(then), _region(otherwise)]
    )
    block.insert_op_before(wrapped, op)
    op.results[0].replace_all_uses_with(wrapped.results[0])
    otherwise.add_op(onnx.YieldOp.create(operands=[op.operands[0]]))
    op.detach()
    then.add_op(op)
    then.add_op(onnx.YieldOp.create(operands=[op.results[0]]))


def _rebuild(op: Operation, rng: random.Random) -> None:
    """Another If with the regions of the old one."""
    block = op.parent_block()
    if not isinstance(op, onnx.IfOp) or block is None:
        return
    regions = [op.detach_region(0) for _ in range(2)]
    copy = onnx.IfOp.create(
        operands=list(op.operands),
        result_types=[r.type for r in op.results],
        regions=regions[:: rng.choice([1, -1])],
    )
    block.insert_op_before(copy, op)
    op.results[0].replace_all_uses_with(copy.results[0])
    op.detach()
    op.erase()


def _switch(op: Operation, rng: random.Random) -> None:
    """The same If with its blocks swapped."""
    if isinstance(op, onnx.IfOp):
        then, otherwise = op.regions
        one, other = then.detach_block(0), otherwise.detach_block(0)
        then.add_block(other)
        otherwise.add_block(one)


def _region(block: Block):
    from xdsl.ir import Region

    return Region(block)


def _parents(op: Operation) -> list[Operation]:
    parents: list[Operation] = []
    while (parent := op.parent_op()) is not None:
        parents.append(parent)
        op = parent
    return parents


def _drop_dead(module: ModuleOp, rng: random.Random) -> None:
    if rng.random() < 0.5:
        return
    for op in reversed(list(module.walk())):
        is_dead = op.results and all(result.first_use is None for result in op.results)
        if is_dead and op.parent_block() is not None and not isinstance(op, FuncOp):
            op.detach()
            op.erase()


_MUTATIONS: list[Callable[[Operation, random.Random], None]] = [
    _reconnect,
    _replace,
    _insert,
    _insert_constant,
    _clone_constant,
    _move_up,
    _swap,
    _attribute,
    _name,
    _retype,
    _inline,
    _wrap,
    _rebuild,
    _switch,
]
