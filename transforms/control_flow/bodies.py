"""How are the ops of a region moved or copied out of it, and what is known of its values?"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.annotations import OVERRIDABLE
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.transforms.dim_analysis.nested_types import more_precise
from onnxloom.transforms.shape_inference import set_type


def known_scalar(value: SSAValue) -> bool | int | None:
    """The only element of a condition or trip count that is constant; default values of inputs are not."""
    owner = value.owner
    if not isinstance(owner, onnx.ConstantOp) or OVERRIDABLE in owner.attributes:
        return None
    array = constant_value(value)
    if array is None or array.size != 1:
        return None
    return array.reshape(()).item()


def yields_of(block: Block) -> Sequence[SSAValue]:
    """What a body ends with."""
    end = block.last_op
    return tuple(end.operands) if isinstance(end, onnx.YieldOp) else ()


def through_identities(value: SSAValue) -> SSAValue:
    """What a value is a copy of."""
    while isinstance(value.owner, onnx.IdentityOp):
        value = value.owner.input
    return value


def is_structure(op: Operation) -> bool:
    """Whether an op computes nothing: constants, absent values, ends of bodies."""
    return isinstance(op, onnx.ConstantOp | onnx.NoValueOp | onnx.YieldOp)


def op_count(block: Block) -> int:
    """Ops of a body and of those nested in it that compute something."""
    return sum(not is_structure(op) for op in block.walk())


def move_out(block: Block, place: Operation) -> None:
    """Moves the ops of a body, without its end, in front of `place`."""
    assert place.parent is not None
    for op in list(block.ops):
        if not isinstance(op, onnx.YieldOp):
            op.detach()
            place.parent.insert_op_before(op, place)


def take_over(old: SSAValue, fresh: SSAValue, *, refine: bool) -> None:
    """Lets `fresh` be read in place of `old`.

    `refine`: `fresh` stood in the body, so what is known of `old` holds of it and its name is free.
    """
    if refine:
        set_type(fresh, more_precise(old.type, fresh.type))
        if old.name_hint is not None:
            fresh.name_hint = old.name_hint
    old.replace_all_uses_with(fresh)


def rename_copy(op: Operation, suffix: str) -> None:
    """Tells a copied op from the others of its name, and those inside it."""
    for inner in op.walk():
        name = inner.attributes.get("onnx_node_name")
        if isinstance(name, StringAttr) and name.data:
            inner.attributes["onnx_node_name"] = StringAttr(f"{name.data}{suffix}")
