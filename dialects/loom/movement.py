"""Plan-time ops of data movement: where elements go in slices, pads, concatenations.

Each gives the loop nest of one strided copy. Sizes and strides of `rank` dims are merged and padded in
front as in `loom.broadcast_space`; strides and offsets count elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, irdl_op_definition, prop_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import Pure

from onnxloom.dialects.loom.plan_time import PlanTensor, PlanTimeOp, known
from onnxloom.dialects.loom.spaces import broadcast_strides, merge_dims, pad_front, row_major_strides


def _int(value: int) -> IntegerAttr:
    return IntegerAttr(value, 64)


def _shape(operand: PlanTensor | int) -> tuple[int, ...]:
    assert isinstance(operand, PlanTensor)
    return operand.shape


def _ints(operands: Sequence[PlanTensor | int], index: int) -> list[int]:
    return [int(v) for v in known(operands[index], index).reshape(-1)]


def _merged(sizes: Sequence[int], rows: Sequence[Sequence[int]], rank: int) -> list[int]:
    if 0 in sizes:
        return [0] * (rank * (1 + len(rows)))
    merged, strides = pad_front(*merge_dims(sizes, rows), rank)
    return [*merged, *(s for row in strides for s in row)]


class _Space(PlanTimeOp):
    """Base: operands are tensors, all results index."""

    rank = prop_def(IntegerAttr)
    args = var_operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    @staticmethod
    def properties_of(rank: int, **values: int | Sequence[int] | str) -> dict[str, Attribute]:
        """Properties from Python values."""
        made: dict[str, Attribute] = {"rank": _int(rank)}
        for name, value in values.items():
            if isinstance(value, str):
                made[name] = StringAttr(value)
            elif isinstance(value, int):
                made[name] = _int(value)
            else:
                made[name] = ArrayAttr([_int(v) for v in value])
        return made


@irdl_op_definition
class ExpandSpaceOp(_Space):
    """Expand(source, shape): the dims of the result, then sizes and source strides of the copy."""

    name = "loom.expand_space"

    @staticmethod
    def make(source: SSAValue, shape: SSAValue, rank: int) -> ExpandSpaceOp:
        """Results: `rank` dims of the result, `rank` sizes, `rank` strides."""
        return ExpandSpaceOp.create(
            operands=[source, shape],
            result_types=[IndexType()] * (3 * rank),
            properties=_Space.properties_of(rank),
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        shape, rank = _shape(operands[0]), self.rank.value.data
        dims = _expanded(shape, _ints(operands, 1))
        return [
            *([1] * (rank - len(dims)) + list(dims)),
            *_merged(dims, [broadcast_strides(shape, dims)], rank),
        ]


def _expanded(shape: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """The broadcast of two shapes, of any size (numpy refuses those that fit no array)."""
    rank = max(len(shape), len(wanted))
    pairs = zip([1] * (rank - len(shape)) + [*shape], [1] * (rank - len(wanted)) + [*wanted], strict=True)
    dims: list[int] = []
    for have, want in pairs:
        if want < 0 or (have != want and 1 not in (have, want)):
            raise ValueError(f"a tensor of shape {list(shape)} cannot be expanded to {list(wanted)}")
        dims.append(have if want == 1 else want)
    return dims


@irdl_op_definition
class TileSpaceOp(_Space):
    """Tile(source, repeats): the dims of the result, then sizes and source strides of the copy."""

    name = "loom.tile_space"

    @staticmethod
    def make(source: SSAValue, repeats: SSAValue, dims: int) -> TileSpaceOp:
        """Results: `dims` dims of the result, `2 * dims` sizes, `2 * dims` strides."""
        return TileSpaceOp.create(
            operands=[source, repeats],
            result_types=[IndexType()] * (5 * dims),
            properties=_Space.properties_of(2 * dims),
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        shape, repeats = _shape(operands[0]), _ints(operands, 1)
        if len(repeats) != len(shape) or min(repeats, default=0) < 0:
            raise ValueError(f"repeats {repeats} do not fit a tensor of {len(shape)} dims")
        strides = row_major_strides(shape)
        sizes = [v for pair in zip(repeats, shape, strict=True) for v in pair]
        row = [v for stride in strides for v in (0, stride)]
        dims = [r * d for r, d in zip(repeats, shape, strict=True)]
        return [*dims, *_merged(sizes, [row], self.rank.value.data)]


@irdl_op_definition
class SliceSpaceOp(_Space):
    """Slice(source, starts, ends, axes, steps): dims of the result, offset, sizes and source strides.

    `present` says for starts, ends, axes, steps whether there is an operand; axes default to the first
    ones, steps to 1.
    """

    name = "loom.slice_space"
    present = prop_def(ArrayAttr[IntegerAttr])

    @staticmethod
    def make(source: SSAValue, bounds: Sequence[SSAValue | None], rank: int) -> SliceSpaceOp:
        """`bounds` is starts, ends, axes or None, steps or None."""
        return SliceSpaceOp.create(
            operands=[source, *(b for b in bounds if b is not None)],
            result_types=[IndexType()] * (3 * rank + 1),
            properties=_Space.properties_of(rank, present=[int(b is not None) for b in bounds]),
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        shape, rank = _shape(operands[0]), self.rank.value.data
        given = [bool(p.value.data) for p in self.present.data]
        lists = [_ints(operands, 1 + sum(given[:i])) if there else None for i, there in enumerate(given)]
        starts, ends, axes, steps = [*lists, None, None][:4]
        assert starts is not None and ends is not None
        axes = list(range(len(starts))) if axes is None else axes
        steps = [1] * len(starts) if steps is None else steps
        strides = row_major_strides(shape)
        dims, row, offset = list(shape), list(strides), 0
        for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
            axis = axis + len(shape) if axis < 0 else axis
            if step == 0 or not 0 <= axis < len(shape):
                raise ValueError(f"slice with step {step} along axis {axis} of {list(shape)}")
            begin, stop, step = slice_bounds(start, end, step, shape[axis])
            dims[axis] = len(range(begin, stop, step))
            row[axis] = strides[axis] * step
            offset += begin * strides[axis] if dims[axis] else 0
        return [*dims, offset, *_merged(dims, [row], rank)]


def slice_bounds(start: int, end: int, step: int, dim: int) -> tuple[int, int, int]:
    """ONNX slice bounds as those of a Python range."""
    start = start + dim if start < 0 else start
    end = end + dim if end < 0 else end
    if step > 0:
        return min(max(start, 0), dim), min(max(end, 0), dim), step
    return min(max(start, 0), dim - 1), min(max(end, -1), dim - 1), step


@irdl_op_definition
class PadSpaceOp(_Space):
    """Pad(source, pads, axes): dims of the result and the copy of what stays of the source.

    Negative pads cut. Results: `rank` dims, `rank` leading pads, source offset, destination offset,
    `rank` sizes, source strides, destination strides.
    """

    name = "loom.pad_space"

    @staticmethod
    def make(source: SSAValue, pads: SSAValue, axes: SSAValue | None, rank: int) -> PadSpaceOp:
        """The op; `axes` default to all."""
        return PadSpaceOp.create(
            operands=[source, pads] + ([] if axes is None else [axes]),
            result_types=[IndexType()] * (5 * rank + 2),
            properties=_Space.properties_of(rank),
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        shape, rank = _shape(operands[0]), self.rank.value.data
        pads = _ints(operands, 1)
        axes = _ints(operands, 2) if len(operands) > 2 else list(range(rank))
        if len(pads) != 2 * len(axes):
            raise ValueError(f"pads {pads} do not fit {len(axes)} axes")
        before, after = [0] * rank, [0] * rank
        for k, axis in enumerate(axes):
            before[axis], after[axis] = pads[k], pads[k + len(axes)]
        dims = [b + d + a for b, d, a in zip(before, shape, after, strict=True)]
        if min(dims, default=0) < 0:
            raise ValueError(f"pads {pads} cut more off {list(shape)} than there is")
        source, target = row_major_strides(shape), row_major_strides(dims)
        sizes, source_offset, target_offset = list(shape), 0, 0
        for d in range(rank):
            cut = max(-before[d], 0)
            sizes[d] = max(shape[d] - cut - max(-after[d], 0), 0)
            source_offset += cut * source[d]
            target_offset += max(before[d], 0) * target[d]
        if 0 in sizes:
            source_offset = target_offset = 0
        return [
            *dims, *before, source_offset, target_offset, *_merged(sizes, [source, target], rank)
        ]  # fmt: skip


@irdl_op_definition
class ConcatSpaceOp(_Space):
    """Concat along `axis`: the dim it gets, outer count, row length, then length and offset per input."""

    name = "loom.concat_space"
    axis = prop_def(IntegerAttr)

    @staticmethod
    def make(sources: Sequence[SSAValue], axis: int) -> ConcatSpaceOp:
        """Results: dim, outer, row, then for each input its part of a row and where that begins."""
        return ConcatSpaceOp.create(
            operands=sources,
            result_types=[IndexType()] * (3 + 2 * len(sources)),
            properties=_Space.properties_of(2, axis=axis),
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        shapes, axis = [_shape(o) for o in operands], self.axis.value.data
        rest = {s[:axis] + s[axis + 1 :] for s in shapes}
        if len(rest) != 1:
            raise ValueError(f"cannot concatenate shapes {[list(s) for s in shapes]} along axis {axis}")
        inner = math.prod(shapes[0][axis + 1 :])
        return _parts([s[axis] for s in shapes], inner, math.prod(shapes[0][:axis]))


def _parts(lengths: Sequence[int], inner: int, outer: int) -> list[int]:
    result = [sum(lengths), outer, sum(lengths) * inner]
    offset = 0
    for length in lengths:
        result += [length * inner, offset]
        offset += length * inner
    return result


@irdl_op_definition
class SplitSpaceOp(_Space):
    """Split along `axis` into `count` parts: the dim of each, then outer, row, length and offset per part."""

    name = "loom.split_space"
    axis = prop_def(IntegerAttr)
    count = prop_def(IntegerAttr)

    @staticmethod
    def make(source: SSAValue, lengths: SSAValue | None, axis: int, count: int) -> SplitSpaceOp:
        """Results: `count` dims, outer, row, then for each part its length in a row and its begin."""
        return SplitSpaceOp.create(
            operands=[source] + ([] if lengths is None else [lengths]),
            result_types=[IndexType()] * (2 + 3 * count),
            properties=_Space.properties_of(2, axis=axis, count=count),
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        shape, axis, count = _shape(operands[0]), self.axis.value.data, self.count.value.data
        dim = shape[axis]
        if len(operands) > 1:
            lengths = _ints(operands, 1)
        else:
            chunk = -(-dim // count)
            lengths = [max(min(chunk, dim - i * chunk), 0) for i in range(count)]
        if sum(lengths) != dim or len(lengths) != count:
            raise ValueError(f"cannot split a dim of {dim} into {lengths}")
        return [*lengths, *_parts(lengths, math.prod(shape[axis + 1 :]), math.prod(shape[:axis]))[1:]]
