"""Ops that keep the elements and change the shape around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr, product
from onnxloom.transforms.dim_analysis.dim_ops import floor_div
from onnxloom.transforms.dim_analysis.facts import Impossible, Inferred, Result, Rule, Shape, numbers
from onnxloom.transforms.dim_analysis.query import OpQuery
from onnxloom.transforms.dim_analysis.rules.common import (
    ONE,
    broadcast_shapes,
    computed_from_dims,
    first_ranked,
    text,
)


def _reshape(query: OpQuery) -> Sequence[Result]:
    return [Inferred(_reshape_dims(query), query.element(0))]


def _reshape_dims(query: OpQuery) -> Sequence[DimExpr | None] | None:
    target = query.dims(1)
    if target is None:
        length = numbers(query.shape(1))
        return None if length is None or len(length) != 1 else [None] * length[0]
    shape = query.shape(0)
    allow_zero = query.int_attr("allowzero") != 0
    dims = [_target_dim(t, axis, shape, allow_zero) for axis, t in enumerate(target)]
    inferred = [axis for axis, t in enumerate(target) if t.constant == -1]
    if len(inferred) > 1:
        raise Impossible(f"shape {[str(t) for t in target]} has -1 twice")
    _check_count(shape, dims, inferred, target)
    if inferred and shape is not None:
        others = [dim for axis, dim in enumerate(dims) if axis != inferred[0]]
        known = [dim for dim in others if dim is not None]
        if len(known) == len(others):
            count = product(known)
            if count.constant != 0:
                dims[inferred[0]] = floor_div(product(shape), count)
    return dims


def _target_dim(target: DimExpr, axis: int, shape: Shape | None, allow_zero: bool) -> DimExpr | None:
    """One dim of the result; None when it is -1 or not decided.

    A target computed from dims is taken as that dim. It can only be 0 or -1 (which mean something
    else) when a dim is 0, and then the tensor has no elements to disagree about.
    """
    if target.constant is None:
        return target if computed_from_dims(target) else None
    if target.constant > 0 or (target.constant == 0 and allow_zero):
        return target
    if target.constant == -1:
        return None
    if target.constant < -1:
        raise Impossible(f"shape has {target}; expected -1 or more")
    if shape is None:
        return None
    if axis >= len(shape):
        raise Impossible(f"shape copies dim {axis} of an input of rank {len(shape)}")
    return shape[axis]


def _check_count(
    shape: Shape | None, dims: Sequence[DimExpr | None], inferred: Sequence[int], target: Sequence[DimExpr]
) -> None:
    count = numbers(shape)
    if count is None:
        return
    total, known = 1, 1
    for dim in count:
        total *= dim
    for axis, dim in enumerate(dims):
        if axis in inferred:
            continue
        if dim is None or dim.constant is None:
            return
        known *= dim.constant
    fits = (known != 0 and total % known == 0) or total == known == 0 if inferred else total == known
    if not fits:
        wanted = ", ".join(map(str, target))
        raise Impossible(f"an input of shape {text(shape or ())} does not reshape to [{wanted}]")


def _flatten(query: OpQuery) -> Sequence[Result]:
    shape = query.shape(0)
    if shape is None:
        return [Inferred([None, None], query.element(0))]
    axis = query.int_attr("axis")
    if not -len(shape) <= axis <= len(shape):
        raise Impossible(f"axis {axis} is outside of a tensor of rank {len(shape)}")
    axis = axis + len(shape) if axis < 0 else axis
    return [Inferred([product(shape[:axis]), product(shape[axis:])], query.element(0))]


def _squeeze(query: OpQuery) -> Sequence[Result]:
    shape = query.shape(0)
    if shape is None:
        return [Inferred(None, query.element(0))]
    if query.has(1):
        axes = query.ints(1)
        if axes is None:
            count = numbers(query.shape(1))
            rank = None if count is None else len(shape) - (count[0] if count else 1)
            return [Inferred(None if rank is None else [None] * rank, query.element(0))]
        dropped = query.axes(axes, len(shape))
    elif any(dim.constant is None and dim.may_be_one() for dim in shape):
        return [Inferred(None, query.element(0))]
    else:
        dropped = [axis for axis, dim in enumerate(shape) if dim.is_one()]
    for axis in dropped:
        if not shape[axis].may_be_one():
            raise Impossible(f"dim {axis} is {shape[axis]}; only a dim of 1 can be squeezed")
    kept = [dim for axis, dim in enumerate(shape) if axis not in dropped]
    return [Inferred(kept, query.element(0))]


def _unsqueeze(query: OpQuery) -> Sequence[Result]:
    shape = query.shape(0)
    axes = query.ints(1)
    if shape is None:
        return [Inferred(None, query.element(0))]
    if axes is None:
        count = numbers(query.shape(1))
        rank = None if count is None else len(shape) + (count[0] if count else 1)
        return [Inferred(None if rank is None else [None] * rank, query.element(0))]
    rank = len(shape) + len(axes)
    added = query.axes(axes, rank)
    rest = iter(shape)
    return [Inferred([ONE if axis in added else next(rest) for axis in range(rank)], query.element(0))]


def _transpose(query: OpQuery) -> Sequence[Result]:
    shape = query.shape(0)
    perm = query.ints_attr("perm")
    if shape is None:
        return [Inferred(None if perm is None else [None] * len(perm), query.element(0))]
    perm = tuple(reversed(range(len(shape)))) if perm is None else perm
    if sorted(perm) != list(range(len(shape))):
        raise Impossible(
            f"perm {list(perm)} is not a permutation of the axes of a tensor of rank {len(shape)}"
        )
    return [Inferred([shape[axis] for axis in perm], query.element(0))]


def _expand(query: OpQuery) -> Sequence[Result]:
    target, shape = query.dims(1), query.shape(0)
    if target is not None:
        wanted = [t if computed_from_dims(t) else None for t in target]
        return [Inferred(_expanded(shape, wanted), query.element(0))]
    length = numbers(query.shape(1))
    if length is None or len(length) != 1:
        return [Inferred(None, query.element(0))]
    return [Inferred(_expanded(shape, [None] * length[0]), query.element(0))]


def _expanded(shape: Shape | None, target: Sequence[DimExpr | None]) -> Sequence[DimExpr | None] | None:
    """Both-way broadcasting with a target of which some dims may be unknown."""
    if shape is None:
        return None
    dims: list[DimExpr | None] = [None] * max(len(shape), len(target))
    for back in range(1, len(dims) + 1):
        own = shape[-back] if back <= len(shape) else ONE
        wanted = target[-back] if back <= len(target) else ONE
        if wanted is not None:
            broadcast_dims = broadcast_shapes([(own,), (wanted,)])
            dims[-back] = broadcast_dims[0] if broadcast_dims is not None else None
        elif own.constant is not None and own.constant > 1:
            dims[-back] = own
    return dims


def _tile(query: OpQuery) -> Sequence[Result]:
    shape, repeats = query.shape(0), query.dims(1)
    if shape is None or repeats is None:
        return [Inferred(None if shape is None else [None] * len(shape), query.element(0))]
    if len(repeats) != len(shape):
        raise Impossible(f"{len(repeats)} repeats for an input of rank {len(shape)}")
    return [Inferred([dim * repeat for dim, repeat in zip(shape, repeats, strict=True)], query.element(0))]


def _depth_to_space(query: OpQuery) -> Sequence[Result]:
    shape, block = first_ranked(query, 4), DimExpr.of(query.int_attr("blocksize"))
    if shape is None:
        return [Inferred([None] * 4, query.element(0))]
    batch, depth, height, width = shape
    return [
        Inferred([batch, floor_div(depth, block * block), height * block, width * block], query.element(0))
    ]


def _space_to_depth(query: OpQuery) -> Sequence[Result]:
    shape, block = first_ranked(query, 4), DimExpr.of(query.int_attr("blocksize"))
    if shape is None:
        return [Inferred([None] * 4, query.element(0))]
    batch, depth, height, width = shape
    return [
        Inferred(
            [batch, depth * block * block, floor_div(height, block), floor_div(width, block)],
            query.element(0),
        )
    ]


RULES: Final[dict[type[Operation], Rule]] = {
    onnx.ReshapeOp: _reshape,
    onnx.FlattenOp: _flatten,
    onnx.SqueezeOp: _squeeze,
    onnx.UnsqueezeOp: _unsqueeze,
    onnx.TransposeOp: _transpose,
    onnx.ExpandOp: _expand,
    onnx.TileOp: _tile,
    onnx.DepthToSpaceOp: _depth_to_space,
    onnx.SpaceToDepthOp: _space_to_depth,
}
