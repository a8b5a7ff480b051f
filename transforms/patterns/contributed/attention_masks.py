"""What do the masks of contributed attention ops add to the scores? An expression for each of their forms."""

from __future__ import annotations

from typing import Final

from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_PROTO
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.rewriting.declarative import Match, Tensor, op

BOOL: Final = 9
"""TensorProto.BOOL."""

FLOAT: Final = 1
"""TensorProto.FLOAT."""

INT64: Final = 7
"""TensorProto.INT64."""


def element_code(match: Match, name: str) -> int:
    """The element type of an operand as TensorProto has it."""
    element = match.graph.element_type(match[name])
    return FLOAT if element is None else ELEMENT_TO_PROTO[element]


def padding_mask(match: Match, name: str, mask: Tensor, batch_of: str, keys: Tensor) -> Tensor | Miss:
    """Whether a key counts, `[batch, 1, 1 or queries, keys]`.

    A mask holds zeros and ones, lengths, or the ends of all rows followed by their starts.

    `keys` are the numbers of the keys, from 0, in the element type of the mask.
    """
    shape = match.graph.shape(match[name])
    if shape is None or len(shape) not in (1, 2, 3):
        return no_match(match.anchor, f"{name} has no form that is known here")
    if len(shape) == 2:
        return op.Unsqueeze(op.Cast(mask, to=BOOL), [1, 2])
    if len(shape) == 3:
        return op.Unsqueeze(op.Cast(mask, to=BOOL), [1])
    batch = match.graph.dim(match[batch_of], 0)
    if shape[0] == batch:
        return op.Less(op.Unsqueeze(keys, [0, 1, 2]), op.Unsqueeze(mask, [1, 2, 3]))
    if batch is None or batch.constant is None or shape[0].constant != 2 * batch.constant:
        return no_match(match.anchor, f"{name} is not proven to hold one length per row of the batch")
    ends, starts = op.Split(op.Unsqueeze(mask, [1, 2, 3]), axis=0, num_outputs=2).results(2)
    places = op.Unsqueeze(keys, [0, 1, 2])
    return op.And(op.Less(places, ends), op.GreaterOrEqual(places, starts))


def added(match: Match, counts: Tensor, like: str, filtered: float) -> Tensor:
    """What is added to the scores: 0 where a key counts, else `filtered`, in the element type of `like`."""
    hidden = op.Cast(op.Not(counts), to=element_code(match, like))
    return hidden * filtered


def join_bias(added_mask: Tensor | None, bias: Tensor | None) -> Tensor | None:
    """Mask and bias in one sum; None for neither."""
    if added_mask is None or bias is None:
        return added_mask if bias is None else bias
    return added_mask + bias


def key_numbers(match: Match, fresh: Tensor, past: Tensor | None, code: int) -> Tensor:
    """0, 1, .. for each key: of the past `[batch, heads, length, size]`, then fresh `[batch, length, ..]`."""
    length = op.Shape(fresh, start=1, end=2)
    if past is not None:
        length = length + op.Shape(past, start=2, end=3)
    return op.Cast(op.Range(0, op.Squeeze(length, [0]), 1), to=code)
