"""Where in the source of a chain of moving ops does each element of a value lie?

Every dim of a value is a row-major product of factors, each with its distance in the source: a Transpose
reorders dims, a Reshape regroups and splits factors, a Slice shortens one and moves the offset, an Expand
adds one of distance 0. Sizes are products of numbers and of dims of the source: what is found holds for all
sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr, is_none
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.transforms.fusion.match import Miss
from onnxloom.transforms.fusion.spaces import shape_of


@dataclass(frozen=True)
class Size:
    """`count * dim(a) * dim(b) * ...` of axes of the source."""

    count: int = 1
    axes: tuple[int, ...] = ()

    def __mul__(self, other: Size) -> Size:
        return Size(self.count * other.count, tuple(sorted((*self.axes, *other.axes))))

    def divided(self, by: Size) -> Size | None:
        """The quotient where it is exact for all sizes of the source."""
        rest = list(self.axes)
        for axis in by.axes:
            if axis not in rest:
                return None
            rest.remove(axis)
        return None if self.count % by.count else Size(self.count // by.count, tuple(rest))

    @property
    def known(self) -> int | None:
        """The number, None where it depends on dims of the source."""
        return None if self.axes else self.count


ONE: Final = Size()


@dataclass(frozen=True)
class Factor:
    """`size` places, `stride` elements of the source apart."""

    size: Size
    stride: Size


@dataclass(frozen=True)
class Layout:
    """Where the elements of a value are: one tuple of factors per dim, none for a dim of 1."""

    dims: tuple[tuple[Factor, ...], ...]
    offset: tuple[Size, ...] = ()
    """Elements before the first one, as a sum."""

    def size(self, axis: int) -> Size:
        """The size of a dim."""
        return product(factor.size for factor in self.dims[axis])

    def factors(self) -> list[Factor]:
        """All factors in row-major order, neighbours that are one row in the source as one."""
        return _merged(factor for dim in self.dims for factor in dim)

    def is_source(self) -> bool:
        """Whether it is the source's own memory from its beginning, without gaps."""
        factors = self.factors()
        return not self.offset and (not factors or (len(factors) == 1 and factors[0].stride == ONE))


def product(sizes: Iterable[Size]) -> Size:
    """The product of sizes."""
    result = ONE
    for size in sizes:
        result = result * size
    return result


def _merged(factors: Iterable[Factor]) -> list[Factor]:
    merged: list[Factor] = []
    for factor in factors:
        if merged and merged[-1].stride == factor.size * factor.stride:
            merged[-1] = Factor(merged[-1].size * factor.size, factor.stride)
        else:
            merged.append(factor)
    return merged


def source_layout(source: SSAValue) -> Layout | Miss:
    """The layout of the source of a chain itself."""
    shape = shape_of(source)
    if shape is None:
        return Miss("the rank of the source is not known")
    if 0 in shape:
        return Miss("the source has no elements")
    sizes = [Size(1, (axis,)) if d == DYNAMIC_INDEX else Size(d) for axis, d in enumerate(shape)]
    dims = [
        () if size == ONE else (Factor(size, product(sizes[axis + 1 :])),) for axis, size in enumerate(sizes)
    ]
    return Layout(tuple(dims))


def moved(op: Operation, data: Layout) -> Layout | Miss:
    """The layout of the result, given that of the first operand.

    `op` is a Transpose, Reshape, Flatten, Squeeze, Unsqueeze, Slice, Gather or Expand.
    """
    declared = shape_of(op.results[0])
    if declared is None:
        return Miss(f"the rank of the result of {op.name} is not known")
    layout = _moved(op, data, declared)
    if isinstance(layout, Miss):
        return layout
    if len(layout.dims) != len(declared):
        return Miss(f"the result of {op.name} does not have the rank it is declared with")
    for axis, size in enumerate(declared):
        known = layout.size(axis).known
        if known is not None and size not in (known, DYNAMIC_INDEX):
            return Miss(f"dim {axis} of the result of {op.name} is declared as {size}; expected {known}")
    return layout


def _moved(op: Operation, data: Layout, declared: Sequence[int]) -> Layout | Miss:
    match op:
        case onnx.TransposeOp():
            rank = len(data.dims)
            perm = [p % rank for p in ints_attr(op, "perm") or reversed(range(rank))] if rank else []
            if sorted(perm) != list(range(rank)):
                return Miss(f"the perm of {op.name} is no permutation of {rank} dims")
            return replace(data, dims=tuple(data.dims[p] for p in perm))
        case onnx.ReshapeOp():
            sizes = _reshape_sizes(op, data, declared)
            return sizes if isinstance(sizes, Miss) else _regrouped(op, data, sizes)
        case onnx.FlattenOp():
            axis = int_attr(op, "axis", 1)
            sizes = [data.size(d) for d in range(len(data.dims))]
            return _regrouped(op, data, [product(sizes[:axis]), product(sizes[axis:])])
        case onnx.SqueezeOp() | onnx.UnsqueezeOp():
            return _ones_moved(op, data)
        case onnx.SliceOp():
            return _sliced(op, data)
        case onnx.GatherOp():
            return _picked(op, data)
        case _:
            return _expanded(op, data, declared)


def _reshape_sizes(op: Operation, data: Layout, declared: Sequence[int]) -> list[Size] | Miss:
    """The dims of a result; one that is not told is what the others leave."""
    asked = constant_value(op.operands[1])
    given = [DYNAMIC_INDEX] * len(declared) if asked is None else [int(d) for d in asked.reshape(-1)]
    if len(given) != len(declared):
        return Miss(f"the result of {op.name} does not have the rank it is declared with")
    copies = not int_attr(op, "allowzero", 0)
    sizes: list[Size | None] = []
    for axis, (size, entry) in enumerate(zip(declared, given, strict=True)):
        if entry == 0 and copies and axis < len(data.dims):
            sizes.append(data.size(axis))
        elif entry >= 0:
            sizes.append(Size(entry))
        else:
            sizes.append(None if size == DYNAMIC_INDEX else Size(size))
    if sizes.count(None) > 1:
        return Miss(f"more than one dim of the result of {op.name} is not known")
    known = product(size for size in sizes if size is not None)
    if known.count == 0:
        return Miss(f"the result of {op.name} has no elements")
    rest = product(data.size(axis) for axis in range(len(data.dims))).divided(known)
    if rest is None or (rest != ONE and None not in sizes):
        return Miss(f"the dims of the result of {op.name} do not follow from those of its operand")
    return [rest if size is None else size for size in sizes]


def _regrouped(op: Operation, data: Layout, sizes: Sequence[Size]) -> Layout | Miss:
    """The same factors under dims of as many elements; one that lies across two of them is split."""
    left = data.factors()[::-1]
    dims: list[tuple[Factor, ...]] = []
    for size in sizes:
        dim: list[Factor] = []
        while size != ONE:
            factor = left.pop()
            rest = size.divided(factor.size)
            if rest is not None:
                dim.append(factor)
                size = rest
                continue
            inner = factor.size.divided(size)
            if inner is None:
                return Miss(f"{op.name} cuts through dims that are not next to each other in the source")
            dim.append(Factor(size, factor.stride * inner))
            left.append(Factor(inner, factor.stride))
            size = ONE
        dims.append(tuple(dim))
    return replace(data, dims=tuple(dims))


def _ones_moved(op: Operation, data: Layout) -> Layout | Miss:
    """Dims of 1 put in or taken out."""
    operand = op.operands[1] if len(op.operands) > 1 and not is_none(op.operands[1]) else None
    axes = None if operand is None else constant_value(operand)
    if axes is None:
        return Miss(f"the axes of {op.name} are not constant")
    rank = len(data.dims) + (axes.size if isinstance(op, onnx.UnsqueezeOp) else 0)
    places = {int(axis) % rank for axis in axes.reshape(-1)} if rank else set[int]()
    if isinstance(op, onnx.UnsqueezeOp):
        rest = iter(data.dims)
        dims = [() if d in places else next(rest, ()) for d in range(rank)]
        return replace(data, dims=tuple(dims))
    if any(data.dims[d] for d in places):
        return Miss(f"{op.name} takes out a dim that may not be 1")
    return replace(data, dims=tuple(dim for d, dim in enumerate(data.dims) if d not in places))


def _sliced(op: Operation, data: Layout) -> Layout | Miss:
    operands = [None if is_none(v) else v for v in op.operands[1:]]
    bounds = [None if v is None else constant_value(v) for v in operands]
    if any(b is None and v is not None for b, v in zip(bounds, operands, strict=True)):
        return Miss(f"the bounds of {op.name} are not constant")
    starts, ends, axes, steps = (
        () if b is None else b.reshape(-1).tolist() for b in [*bounds, None, None][:4]
    )
    count, rank = len(starts), len(data.dims)
    axes, steps = axes or range(count), steps or [1] * count
    if not len(ends) == len(axes) == len(steps) == count <= rank:
        return Miss(f"the bounds of {op.name} are not as many as its axes")
    for axis, start, end, step in zip([axis % rank for axis in axes], starts, ends, steps, strict=True):
        size = data.size(axis).known
        if size is None:
            return Miss(f"{op.name} cuts dim {axis}, the size of which is not known")
        if step == 0 or (step < 0 and start < -size):
            return Miss(f"{op.name} goes through dim {axis} in steps of {step} from {start}")
        places = range(size)[slice(start, end, step)]
        if len(places) == 0:
            return Miss(f"the result of {op.name} has no elements")
        if len(places) == size and step > 0:
            continue
        factors = _merged(data.dims[axis])
        if len(factors) != 1:
            return Miss(f"{op.name} cuts dim {axis}, which is not one row of the source")
        stride = factors[0].stride
        kept = (Factor(Size(len(places)), stride * Size(step)),) if len(places) > 1 else ()
        data = _shifted(data, axis, kept, Size(places[0]) * stride)
    return data


def _picked(op: Operation, data: Layout) -> Layout | Miss:
    """One slice of a dim."""
    index = constant_value(op.operands[1])
    if index is None or index.size != 1 or index.ndim > 1 or not data.dims:
        return Miss(f"{op.name} takes more than one constant index")
    axis = int_attr(op, "axis", 0) % len(data.dims)
    size, place = data.size(axis).known, int(index.reshape(-1)[0])
    if size is None or not -size <= place < size:
        return Miss(f"the index of {op.name} is not proven to be in its dim")
    place %= size
    inner = size
    for factor in data.dims[axis]:
        assert factor.size.known is not None
        inner //= factor.size.known
        data = _shifted(data, axis, (), Size(place // inner) * factor.stride)
        place %= inner
    dims = list(data.dims)
    dims[axis : axis + 1] = [()] * index.ndim
    return replace(data, dims=tuple(dims))


def _shifted(data: Layout, axis: int, factors: tuple[Factor, ...], by: Size) -> Layout:
    offset = (*data.offset, by) if by.count else data.offset
    return Layout((*data.dims[:axis], factors, *data.dims[axis + 1 :]), offset)


def _expanded(op: Operation, data: Layout, declared: Sequence[int]) -> Layout | Miss:
    asked = constant_value(op.operands[1])
    wanted = [DYNAMIC_INDEX] * len(declared) if asked is None else [int(d) for d in asked.reshape(-1)]
    wanted = [1] * (len(declared) - len(wanted)) + wanted
    if len(wanted) != len(declared) or len(declared) < len(data.dims):
        return Miss(f"the result of {op.name} does not have the rank it is declared with")
    dims = [()] * (len(declared) - len(data.dims)) + list(data.dims)
    for axis, (size, entry) in enumerate(zip(declared, wanted, strict=True)):
        own = product(factor.size for factor in dims[axis]).known
        target = entry if entry != DYNAMIC_INDEX else size
        if target == 1 or (own is not None and own == target):
            continue
        if own != 1 or target < 1:
            return Miss(f"dim {axis} of the result of {op.name} does not follow from its operand")
        dims[axis] = (Factor(Size(target), Size(0)),)
    return replace(data, dims=tuple(dims))
