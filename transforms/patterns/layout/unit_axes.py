"""Which axes does a Squeeze or Unsqueeze remove or insert, and where are they after another one?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.transforms.rewriting.graph_index import GraphIndex

Axes = tuple[int, ...]
"""Counted from the front, ascending."""


def axes_of(graph: GraphIndex, op: onnx.SqueezeOp | onnx.UnsqueezeOp) -> Axes | None:
    """The axes of an op: a Squeeze's in its input, an Unsqueeze's in its result. None when not known.

    A Squeeze without axes removes those that are 1, which all dims have to be known for.
    """
    if is_none(op.axes):
        shape = graph.static_shape(op.data)
        return None if shape is None else tuple(axis for axis, dim in enumerate(shape) if dim == 1)
    axes = graph.constant_ints(op.axes)
    if axes is None:
        return None
    if min(axes, default=0) >= 0:
        return tuple(sorted(axes))
    rank = graph.rank(op.data if isinstance(op, onnx.SqueezeOp) else op.results[0])
    return None if rank is None else tuple(sorted(axis % rank for axis in axes))


def without(axes: Iterable[int], gone: Collection[int]) -> Axes:
    """Where axes are once others are gone; none of them is."""
    return tuple(axis - sum(other < axis for other in gone) for axis in axes)


def with_inserted(axes: Sequence[int], inserted: Sequence[int]) -> Axes:
    """Where axes are once `inserted` ones, counted in the result and ascending, are there too."""
    moved: list[int] = []
    for axis in axes:
        for other in inserted:
            axis += other <= axis
        moved.append(axis)
    return tuple(moved)
