"""Sequences: lists of tensors. The reference copies whole lists, and takes positions that are not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.errors import InputError
from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces


@replaces("SequenceEmpty", plain=True)
def sequence_empty(attributes: Attributes) -> Sequence[Any]:
    """No elements."""
    return [[]]


@replaces("SequenceConstruct", plain=True)
def sequence_construct(attributes: Attributes, *elements: Any) -> Sequence[Any]:
    """The operands, in order."""
    return [list(elements)]


@replaces("SequenceLength", plain=True)
def sequence_length(attributes: Attributes, sequence: Sequence[Any]) -> Sequence[Any]:
    """The number of elements."""
    return [np.array(len(sequence), np.int64)]


@replaces("SequenceAt", plain=True)
def sequence_at(attributes: Attributes, sequence: Sequence[Any], position: Any) -> Sequence[Any]:
    """A copy of an element: the sequence, which may be the caller's, keeps its own."""
    return [np.array(sequence[_place(position, len(sequence), len(sequence))], order="C")]


@replaces("SequenceInsert", plain=True)
def sequence_insert(
    attributes: Attributes, sequence: Sequence[Any], element: Any, position: Any = None
) -> Sequence[Any]:
    """The elements, with one more before the position; at the end by default."""
    if position is None:
        return [[*sequence, element]]
    at = _place(position, len(sequence), len(sequence) + 1)
    return [[*sequence[:at], element, *sequence[at:]]]


@replaces("SequenceErase", plain=True)
def sequence_erase(attributes: Attributes, sequence: Sequence[Any], position: Any = None) -> Sequence[Any]:
    """The elements without that at the position; without the last by default."""
    length = len(sequence)
    at = _place(np.array(-1) if position is None else position, length, length)
    return [[*sequence[:at], *sequence[at + 1 :]]]


def _place(position: Any, length: int, end: int) -> int:
    """A position as a number from 0 to before `end`; negative ones count from behind the last element."""
    if np.size(position) != 1:
        raise InputError(f"its position has shape {list(position.shape)}; it must hold one element")
    given = int(np.reshape(position, ()))
    at = given + length if given < 0 else given
    if not 0 <= at < end:
        raise InputError(f"position {given} is not in [{-length}, {end - 1}]: there are {length} elements")
    return at


@replaces("SplitToSequence", plain=True)
def split_to_sequence(attributes: Attributes, x: Any, split: Any = None) -> Sequence[Any]:
    """Parts along an axis: of one index each, of a size (the last may be smaller), or of given sizes."""
    axis = _axis(attributes.get("axis", 0), x.ndim)
    length = x.shape[axis]
    squeezed = split is None and not attributes.get("keepdims", 1)
    sizes = [1] * length if split is None else _sizes(split, length, axis)
    ends = np.cumsum(sizes, dtype=np.int64).tolist()
    parts = [x[(slice(None),) * axis + (slice(e - n, e),)] for n, e in zip(sizes, ends, strict=True)]
    return [[np.array(p.squeeze(axis) if squeezed else p, order="C") for p in parts]]


def _sizes(split: Any, length: int, axis: int) -> list[int]:
    if np.ndim(split) == 0:
        size = int(split)
        if size <= 0:
            raise InputError(f"it splits into parts of {size}; a part has one index or more")
        return [min(size, length - at) for at in range(0, length, size)]
    sizes = [int(n) for n in split.tolist()]
    if sum(sizes) != length or any(n < 0 for n in sizes):
        raise InputError(f"it splits dim {axis}, which is {length}, into {sizes}")
    return sizes


@replaces("ConcatFromSequence", plain=True)
def concat_from_sequence(attributes: Attributes, sequence: Sequence[Any]) -> Sequence[Any]:
    """All elements along an axis, which is a new one if `new_axis` is 1."""
    if not sequence:
        raise InputError("it joins the elements of a sequence that has none")
    is_new = bool(attributes.get("new_axis", 0))
    axis = _axis(attributes.get("axis"), sequence[0].ndim + is_new)
    shapes = [list(e.shape) for e in sequence]
    rest = shapes if is_new else [[*s[:axis], *s[axis + 1 :]] for s in shapes]
    odd = next((i for i, s in enumerate(rest) if s != rest[0] or len(shapes[i]) != len(shapes[0])), None)
    if odd is not None:
        both = f"{shapes[0]} and {shapes[odd]}"
        raise InputError(f"elements 0 and {odd}, of shapes {both}, do not join along {axis}")
    return [np.stack(sequence, axis) if is_new else np.concatenate(sequence, axis)]


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise InputError(f"axis {axis} is not in [{-rank}, {rank - 1}]")
    return axis + rank if axis < 0 else axis
