"""Ops that take parts of tensors or put tensors together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.dim_ops import ceil_div, clamp, minimum, positive_part
from onnxloom.transforms.dim_analysis.facts import Impossible, Inferred, Result, Rule, Shape, numbers
from onnxloom.transforms.dim_analysis.query import OpQuery
from onnxloom.transforms.dim_analysis.rules.common import agree, text

UNBOUNDED: Final = 10**9
"""Exporters write this, or more, for "to the end": no dim that is not a number is larger."""


def slice_length(dim: DimExpr, start: DimExpr, end: DimExpr, step: int) -> DimExpr | None:
    """How many elements a slice has; None when the sign of a bound decides and is not known."""
    if step == 0:
        raise Impossible("a step is 0")
    zero, one = DimExpr.of(0), DimExpr.of(1)
    low, high = (zero, dim) if step > 0 else (-one, dim - one)
    # Counting down, too, a start is clamped to the first element, not to before it.
    first, last = _position(start, dim, zero, high), _position(end, dim, low, high)
    if first is None or last is None:
        return None
    distance = last - first if step > 0 else first - last
    return positive_part(ceil_div(distance, DimExpr.of(abs(step))))


def _position(bound: DimExpr, dim: DimExpr, low: DimExpr, high: DimExpr) -> DimExpr | None:
    if bound.constant is not None:
        if dim.constant is None and abs(bound.constant) >= UNBOUNDED:
            return high if bound.constant > 0 else minimum(low, high)
        return clamp(bound + dim if bound.constant < 0 else bound, low, high)
    least, greatest = bound.bounds()
    # `dim - 1` is -1 for an empty dim, where every slice is empty either way.
    if (least is not None and least >= 0) or dim - bound == DimExpr.of(1):
        return clamp(bound, low, high)
    if greatest is not None and greatest < 0:
        return clamp(bound + dim, low, high)
    return None


def _slice(query: OpQuery) -> Sequence[Result]:
    shape = query.shape(0)
    if shape is None:
        return [Inferred(None, query.element(0))]
    dims: list[DimExpr | None] = list(shape)
    axes = _slice_axes(query, len(shape))
    if axes is None:
        return [Inferred([None] * len(shape), query.element(0))]
    starts, ends = query.dims(1), query.dims(2)
    steps = query.dims(4) if query.has(4) else [DimExpr.of(1)] * len(axes)
    for name, given in (("starts", starts), ("ends", ends), ("steps", steps)):
        if given is not None and len(given) != len(axes):
            raise Impossible(f"{len(given)} {name} for {len(axes)} axes")
    for place, axis in enumerate(axes):
        step = None if steps is None else steps[place].constant
        if starts is None or ends is None or step is None:
            dims[axis] = None
            continue
        dims[axis] = slice_length(shape[axis], starts[place], ends[place], step)
    return [Inferred(dims, query.element(0))]


def _slice_axes(query: OpQuery, rank: int) -> list[int] | None:
    count = numbers(query.shape(1))
    if query.has(3):
        axes = query.ints(3)
        return None if axes is None else query.axes(axes, rank)
    if count is None:
        return None
    if count and count[0] > rank:
        raise Impossible(f"{count[0]} starts for an input of rank {rank}")
    return list(range(count[0] if count else 1))


def _split(query: OpQuery) -> Sequence[Result]:
    results = len(query.op.results)
    shape = query.shape(0)
    if shape is None:
        return [Inferred(None, query.element(0))] * results
    axis = query.axis(query.int_attr("axis"), len(shape))
    return [
        Inferred([*shape[:axis], part, *shape[axis + 1 :]], query.element(0))
        for part in split_parts(query, shape[axis], results)
    ]


def split_parts(query: OpQuery, dim: DimExpr, results: int) -> Sequence[DimExpr | None]:
    if not query.has(1):
        part = ceil_div(dim, DimExpr.of(results))
        return [*([part] * (results - 1)), dim - part * (results - 1)]
    parts = query.dims(1)
    if parts is None:
        return [None] * results
    if len(parts) != results:
        raise Impossible(f"{len(parts)} split sizes for {results} results")
    total = sum(parts, DimExpr.of(0))
    if total.constant is not None and dim.constant is not None and total.constant != dim.constant:
        raise Impossible(f"split sizes add up to {total}; the dim is {dim}")
    return parts


def _concat(query: OpQuery) -> Sequence[Result]:
    shapes = [query.shape(i) for i in range(len(query))]
    known = [shape for shape in shapes if shape is not None]
    if not known:
        return [Inferred(None, query.element(0))]
    axis = query.axis(query.int_attr("axis"), len(known[0]))
    return [Inferred(_concat_dims(known, axis, len(known) == len(shapes)), query.element(0))]


def _concat_dims(shapes: Sequence[Shape], axis: int, all_known: bool) -> Sequence[DimExpr | None]:
    dims: list[DimExpr | None] = list(shapes[0])
    for shape in shapes[1:]:
        if len(shape) != len(dims):
            raise Impossible(f"inputs of ranks {len(dims)} and {len(shape)} do not concatenate")
        for position, dim in enumerate(shape):
            if position != axis:
                where = f"dim {position} of inputs {text(shapes[0])} and {text(shape)}"
                dims[position] = agree(dims[position], dim, where)
    dims[axis] = sum((shape[axis] for shape in shapes), DimExpr.of(0)) if all_known else None
    return dims


def _pad(query: OpQuery) -> Sequence[Result]:
    shape = query.shape(0)
    if shape is None:
        return [Inferred(None, query.element(0))]
    axes = (
        query.axes(axes_given, len(shape))
        if (axes_given := _pad_axes(query, len(shape))) is not None
        else None
    )
    pads = query.dims(1)
    if axes is None or pads is None:
        touched = range(len(shape)) if axes is None else axes
        dims = [None if axis in touched else dim for axis, dim in enumerate(shape)]
        return [Inferred(dims, query.element(0))]
    if len(pads) != 2 * len(axes):
        raise Impossible(f"{len(pads)} pads for {len(axes)} axes; expected {2 * len(axes)}")
    padded: list[DimExpr | None] = list(shape)
    for place, axis in enumerate(axes):
        padded[axis] = shape[axis] + pads[place] + pads[place + len(axes)]
    return [Inferred(padded, query.element(0))]


def _pad_axes(query: OpQuery, rank: int) -> list[int] | None:
    return query.ints(3) if query.has(3) else list(range(rank))


RULES: Final[dict[type[Operation], Rule]] = {
    onnx.SliceOp: _slice,
    onnx.SplitOp: _split,
    onnx.ConcatOp: _concat,
    onnx.PadOp: _pad,
}
