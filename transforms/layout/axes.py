"""Where is an axis in the other order, and which Transposes convert between the two?"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import Final, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import ints_attr
from onnxloom.transforms.fusion.spaces import shape_of

RANKS: Final = range(3, 6)
"""Ranks of values that have a layout: images, channels and one to three spatial dims."""

Perm = tuple[int, ...]


def to_last(rank: int) -> Perm:
    """The permutation that makes a channels-first tensor channels-last."""
    return (0, *range(2, rank), 1)


def to_first(rank: int) -> Perm:
    """The permutation that makes a channels-last tensor channels-first."""
    return (0, rank - 1, *range(1, rank - 1))


def moved(axis: int, rank: int) -> int:
    """Where an axis of a channels-first tensor, counted from either end, is in the channels-last one."""
    return to_first(rank)[axis % rank]


def layout_rank(value: SSAValue) -> int | None:
    """The rank of a value that has a layout; None for any other."""
    shape = shape_of(value)
    return len(shape) if shape is not None and len(shape) in RANKS else None


def last_type(value: SSAValue) -> Attribute:
    """The type of the channels-last twin of a value that has a layout."""
    return permuted_type(value.type, to_last(len(shape_of(value) or ())))


def permuted_type(type_: Attribute, perm: Perm) -> Attribute:
    """The type of a transposed tensor."""
    tensor = cast("TensorType[Attribute]", type_)
    shape = tensor.get_shape()
    return TensorType(tensor.element_type, [shape[axis] for axis in perm], tensor.encoding)


class Order(Enum):
    """In which order the dims come that are left when some are taken out of a channels-last tensor."""

    SAME = "as those of the channels-first tensor"
    LAST = "channels-last"
    OTHER = "in an order of its own"


def order_without(gone: Collection[int], rank: int) -> Order:
    """The order of what is left of a channels-last tensor; `gone` are axes of the channels-first one."""
    kept = [axis for axis in range(rank) if axis not in gone]
    order = tuple(kept.index(axis) for axis in to_last(rank) if axis in kept)
    if order == tuple(range(len(kept))):
        return Order.SAME
    return Order.LAST if len(kept) in RANKS and order == to_last(len(kept)) else Order.OTHER


def permutation(op: Operation) -> Perm | None:
    """The permutation of a Transpose of known rank; None for any other op."""
    if not isinstance(op, onnx.TransposeOp):
        return None
    shape = shape_of(op.data)
    if shape is None:
        return None
    return ints_attr(op, "perm") or tuple(reversed(range(len(shape))))


def makes_last(op: Operation) -> bool:
    """Whether the op is a Transpose of a channels-first tensor to channels-last."""
    perm = permutation(op)
    return perm is not None and len(perm) in RANKS and perm == to_last(len(perm))


def makes_first(op: Operation) -> bool:
    """Whether the op is a Transpose of a channels-last tensor to channels-first."""
    perm = permutation(op)
    return perm is not None and len(perm) in RANKS and perm == to_first(len(perm))
