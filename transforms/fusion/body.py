"""What goes into the body of a fused op besides the chain, and what is skipped when it is read back?

Constants and absent values are cloned inside, and so is small shape plumbing: `onnx.Dim` of a value
of the chain, and a static i64 `Concat` of at most eight elements over such dims and constants.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from onnxloom.dialects.onnx import ConcatOp, ConstantOp, DimOp, NoValueOp, YieldOp

_PLUMBING_LIMIT: Final = 8
"""Elements of a shape that is still plumbing."""


@dataclass(frozen=True)
class Externals:
    """What a chain reads from outside."""

    inputs: tuple[SSAValue, ...]
    """In first-use order, each once."""

    plumbing: tuple[Operation, ...]
    """`Dim` and `Concat` ops to clone inside, each after what it reads."""


def is_cloned(value: SSAValue) -> bool:
    """Whether a body holds its own copy of the value's producer instead of an input."""
    return isinstance(value.owner, ConstantOp | NoValueOp)


def is_small_shape(op: Operation) -> bool:
    """A static i64 `Concat` of at most eight elements over dims and constants."""
    if not isinstance(op, ConcatOp):
        return False
    if not all(isinstance(operand.owner, ConstantOp | DimOp) for operand in op.operands):
        return False
    if not any(isinstance(operand.owner, DimOp) for operand in op.operands):
        return False
    type_ = op.results[0].type
    if not isinstance(type_, TensorType):
        return False
    tensor = cast(TensorType[Attribute], type_)
    shape = tensor.get_shape()
    return tensor.element_type == i64 and len(shape) == 1 and 0 <= shape[0] <= _PLUMBING_LIMIT


def externals_of(ops: Sequence[Operation]) -> Externals:
    """The inputs and the plumbing of a chain given in block order."""
    inside = set(ops)
    # Two steps: a dim is plumbing when the chain makes or reads its tensor anyway.
    read = {operand for op in ops for operand in op.operands}
    plumbing: dict[Operation, None] = {}
    inputs: dict[SSAValue, None] = {}

    def is_own_dim(op: Operation) -> bool:
        return isinstance(op, DimOp) and (op.data.owner in inside or op.data in read)

    def visit(value: SSAValue) -> None:
        owner = value.owner
        if is_cloned(value) or owner in inside:
            return
        if isinstance(owner, Operation) and owner not in plumbing:
            shape = is_small_shape(owner) and all(
                isinstance(operand.owner, ConstantOp) or is_own_dim(cast(Operation, operand.owner))
                for operand in owner.operands
            )
            if not shape and not is_own_dim(owner):
                inputs[value] = None
                return
            for operand in owner.operands:
                visit(operand)
            plumbing[owner] = None
        elif isinstance(owner, Block):
            inputs[value] = None

    for op in ops:
        for operand in op.operands:
            visit(operand)
    return Externals(tuple(inputs), tuple(plumbing))


def dead_plumbing(plumbing: Iterable[Operation], ops: Collection[Operation]) -> list[Operation]:
    """The plumbing nothing but the chain reads, so that it goes when the chain goes."""
    gone = set(ops)
    dead: list[Operation] = []
    for op in reversed(list(plumbing)):
        if all(use.operation in gone for result in op.results for use in result.uses):
            gone.add(op)
            dead.append(op)
    return dead


def build_body(ops: Sequence[Operation], externals: Externals, results: Sequence[SSAValue]) -> Block:
    """A block with clones of the chain that yields `results`; the chain itself is left alone."""
    block = Block(arg_types=[value.type for value in externals.inputs])
    copies: dict[SSAValue, SSAValue] = {}
    for value, argument in zip(externals.inputs, block.args, strict=True):
        argument.name_hint = value.name_hint
        copies[value] = argument
    plumbing = set(externals.plumbing)
    no_value: SSAValue | None = None

    def clone_constant(value: SSAValue) -> None:
        nonlocal no_value
        if isinstance(value.owner, NoValueOp) and no_value is not None:
            copies[value] = no_value
            return
        block.add_op(cast(Operation, value.owner).clone(copies))
        if isinstance(value.owner, NoValueOp):
            no_value = copies[value]

    def emit(op: Operation) -> None:
        for operand in op.operands:
            if operand not in copies and operand.owner in plumbing:
                emit(cast(Operation, operand.owner))
        block.add_op(op.clone(copies))

    for op in (*externals.plumbing, *ops):
        for operand in op.operands:
            if operand not in copies and is_cloned(operand):
                clone_constant(operand)
    for op in ops:
        emit(op)
    block.add_op(YieldOp([copies[value] for value in results]))
    return block


def chain_ops(block: Block) -> tuple[Operation, ...]:
    """The ops of a body without what `build_body` adds to a chain."""
    skipped = ConstantOp | NoValueOp | DimOp | YieldOp
    return tuple(op for op in block.ops if not isinstance(op, skipped) and not is_small_shape(op))
