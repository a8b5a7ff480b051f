"""Elements of ops that move elements: what a small tensor holds after Concat, Gather, Slice, ..."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import attr, str_attr
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.dialects.onnx.slice_bounds import python_slice
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr, product
from onnxloom.transforms.dim_analysis.facts import Element, ElementRule, Elements, object_array
from onnxloom.transforms.dim_analysis.query import OpQuery
from onnxloom.transforms.dim_analysis.rules.generators import shape_range

One = Sequence[Elements | None]


def _shape(query: OpQuery) -> One:
    shape = query.shape(0)
    if shape is None:
        return [None]
    start, end = shape_range(query, len(shape))
    return [object_array(shape[start:end], [end - start])]


def _size(query: OpQuery) -> One:
    shape = query.shape(0)
    return [None if shape is None else object_array([product(shape)], [])]


def _dim(query: OpQuery) -> One:
    shape = query.shape(0)
    return [
        None if shape is None else object_array([shape[query.axis(query.int_attr("axis"), len(shape))]], [1])
    ]


def _constant_of_shape(query: OpQuery) -> One:
    value = constant_value(attr(query.op, "value"))
    shape = query.result_shapes[0]
    fill: Element = 0.0
    if value is not None:
        fill = element_of_number(value.reshape(-1)[0].item())
    return [np.full(shape, fill, dtype=np.object_)]


def element_of_number(number: object) -> Element:
    """A Python number as an element."""
    if isinstance(number, bool | float):
        return number
    return DimExpr.of(number) if isinstance(number, int) else None


def _range(query: OpQuery) -> One:
    flats = [query.flat(i) for i in (0, 2)]
    length = query.result_shapes[0][0]
    start, delta = (flat[0] if flat else None for flat in flats)
    if isinstance(start, DimExpr) and isinstance(delta, DimExpr):
        return [object_array([start + delta * index for index in range(length)], [length])]
    return [None]


def _reshaped(query: OpQuery) -> One:
    elements = query.elements(0)
    shape = query.result_shapes[0]
    if elements is None or elements.size != int(np.prod(shape)):
        return [None]
    return [elements.reshape(shape)]


def _transpose(query: OpQuery) -> One:
    elements = query.elements(0)
    return [None if elements is None else np.transpose(elements, query.ints_attr("perm"))]


def _concat(query: OpQuery) -> One:
    parts = [_or_unknown(query, index) for index in range(len(query))]
    known = [part for part in parts if part is not None]
    if len(known) != len(parts) or not known:
        return [None]
    return [np.concatenate(known, axis=query.int_attr("axis"))]


def _or_unknown(query: OpQuery, index: int) -> Elements | None:
    """The elements of an operand of static shape, each of them None when nothing is known."""
    elements = query.elements(index)
    if elements is not None:
        return elements
    shape = query.shape(index)
    dims = None if shape is None else [dim.constant for dim in shape]
    if dims is None or None in dims:
        return None
    return np.full([dim for dim in dims if dim is not None], None, dtype=np.object_)


def _gather(query: OpQuery) -> One:
    elements, indices = query.elements(0), query.elements(1)
    numbers = query.ints(1)
    if elements is None or indices is None or numbers is None:
        return [None]
    axis = query.axis(query.int_attr("axis"), elements.ndim)
    if any(not -elements.shape[axis] <= number < elements.shape[axis] for number in numbers):
        return [None]
    places = np.array(numbers, dtype=np.int64).reshape(indices.shape)
    taken = np.empty(query.result_shapes[0], dtype=np.object_)
    taken[...] = np.take(elements, places, axis=axis)
    return [taken]


def _slice(query: OpQuery) -> One:
    elements = query.elements(0)
    starts, ends = query.ints(1), query.ints(2)
    if elements is None or starts is None or ends is None:
        return [None]
    axes = query.ints(3) if query.has(3) else list(range(len(starts)))
    steps = query.ints(4) if query.has(4) else [1] * len(starts)
    if axes is None or steps is None:
        return [None]
    cuts = [slice(None)] * elements.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        cuts[axis] = python_slice(start, end, step, elements.shape[axis])
    return [elements[tuple(cuts)]]


def _split(query: OpQuery) -> One:
    elements = query.elements(0)
    if elements is None:
        return [None] * len(query.op.results)
    axis = query.axis(query.int_attr("axis"), elements.ndim)
    ends = np.cumsum([shape[axis] for shape in query.result_shapes])
    return np.split(elements, ends[:-1].tolist(), axis=axis)


def _expand(query: OpQuery) -> One:
    elements = query.elements(0)
    return [None if elements is None else np.broadcast_to(elements, query.result_shapes[0])]


def _tile(query: OpQuery) -> One:
    elements, repeats = query.elements(0), query.ints(1)
    return [None if elements is None or repeats is None else np.tile(elements, repeats)]


def _pad(query: OpQuery) -> One:
    elements, pads = query.elements(0), query.ints(1)
    if elements is None or pads is None or str_attr(query.op, "mode") != "constant" or query.has(3):
        return [None]
    if min(pads, default=0) < 0:
        return [None]
    fill = query.flat(2) if query.has(2) else None
    if query.has(2) and not fill:
        return [None]
    padded = np.full(query.result_shapes[0], fill[0] if fill else _zero_like(elements), dtype=np.object_)
    inside = tuple(slice(pads[axis], pads[axis] + size) for axis, size in enumerate(elements.shape))
    padded[inside] = elements
    return [padded]


def _zero_like(elements: Elements) -> Element:
    sample = elements.reshape(-1)[0] if elements.size else None
    if isinstance(sample, bool):
        return False
    return DimExpr.of(0) if isinstance(sample, DimExpr) else 0.0 if isinstance(sample, float) else None


def _where(query: OpQuery) -> One:
    condition, yes, no = (_or_unknown(query, index) for index in range(3))
    if condition is None or yes is None or no is None:
        return [None]
    shape = query.result_shapes[0]
    columns = [np.broadcast_to(part, shape).reshape(-1).tolist() for part in (condition, yes, no)]
    chosen = [_choose(*row) for row in zip(*columns, strict=True)]
    return [object_array(chosen, shape)]


def _choose(condition: Element, yes: Element, no: Element) -> Element:
    if condition is None:
        return yes if yes == no else None
    return yes if condition else no


def _scatter_nd(query: OpQuery) -> One:
    elements, updates, numbers = query.elements(0), query.elements(2), query.ints(1)
    indices = query.elements(1)
    if elements is None or updates is None or numbers is None or indices is None or not elements.ndim:
        return [None]
    if str_attr(query.op, "reduction") != "none" or indices.shape[-1] != elements.ndim:
        return [None]
    written = elements.copy()
    places = np.array(numbers, dtype=np.int64).reshape(-1, elements.ndim)
    for place, update in zip(places.tolist(), updates.reshape(-1).tolist(), strict=True):
        if any(not -size <= at < size for at, size in zip(place, elements.shape, strict=True)):
            return [None]
        written[tuple(place)] = update
    return [written]


_RESHAPED: Final[tuple[type[Operation], ...]] = (
    *(onnx.IdentityOp, onnx.ReshapeOp, onnx.FlattenOp, onnx.SqueezeOp, onnx.UnsqueezeOp),
)
_OTHERS: Final[dict[type[Operation], Callable[[OpQuery], One]]] = {
    onnx.ShapeOp: _shape,
    onnx.SizeOp: _size,
    onnx.DimOp: _dim,
    onnx.ConstantOfShapeOp: _constant_of_shape,
    onnx.RangeOp: _range,
    onnx.TransposeOp: _transpose,
    onnx.ConcatOp: _concat,
    onnx.GatherOp: _gather,
    onnx.SliceOp: _slice,
    onnx.SplitOp: _split,
    onnx.ExpandOp: _expand,
    onnx.TileOp: _tile,
    onnx.PadOp: _pad,
    onnx.WhereOp: _where,
    onnx.ScatterNDOp: _scatter_nd,
}

ELEMENT_RULES: Final[dict[type[Operation], ElementRule]] = {**dict.fromkeys(_RESHAPED, _reshaped), **_OTHERS}
