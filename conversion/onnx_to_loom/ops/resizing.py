"""Resize: nearest and linear interpolation, one axis after the other (both are separable)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, TensorType, f64, i64
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    index_value,
    program_constant,
    rank_of,
    ranked,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.moving.copying import word_type
from onnxloom.conversion.onnx_to_loom.ops.views import normalized
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_empty
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr, str_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, is_float

BLOCK = 256
"""Places along the last axis whose sources are computed at once."""

ROWS = 64
"""Rows they are used for: such a part is a task."""

_NEAREST: dict[str, Callable[[KernelBody, Scalar], Scalar]] = {
    "round_prefer_floor": lambda k, x: k.scalars.unary(xmath.CeilOp, k.scalars.add_const(x, -0.5)),
    "round_prefer_ceil": lambda k, x: k.scalars.unary(xmath.FloorOp, k.scalars.add_const(x, 0.5)),
    "floor": lambda k, x: k.scalars.unary(xmath.FloorOp, x),
    "ceil": lambda k, x: k.scalars.unary(xmath.CeilOp, x),
}
_TRANSFORMS = (
    "half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric"
)  # fmt: skip


@dataclass(frozen=True)
class Resampling:
    """How one axis is resampled."""

    linear: bool
    nearest: str
    transform: str
    factor: float | None
    """Result size over source size; None for the quotient of the actual sizes."""


def lower_resize(op: onnx.ResizeOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Nearest for any element type, linear for floats."""
    data, _, scales, sizes = [*inputs, None, None, None][:4]
    assert data is not None
    mode, transform = str_attr(op, "mode"), str_attr(op, "coordinate_transformation_mode")
    if mode not in ("nearest", "linear") or transform not in _TRANSFORMS or int_attr(op, "antialias"):
        raise Declined(f"Resize of mode {mode} with {transform} coordinates or antialias has no kernel")
    if str_attr(op, "keep_aspect_ratio_policy") != "stretch":
        raise Declined("Resize that keeps the aspect ratio has no kernel")
    if mode == "linear" and not is_float(buffer_element(data.type)):
        raise Declined("linear Resize of integers has no kernel")
    word_type(data.type)
    rank = rank_of(data)
    axes = normalized(ints_attr(op, "axes") or range(rank), rank)
    factors: list[float | None] = [None] * len(axes)
    if sizes is None:
        array = None if scales is None else program_constant(scales)
        if array is None:
            raise Declined("the scales of Resize are not constant")
        factors = [float(v) for v in array.reshape(-1)]
    if len(factors) != len(axes):
        raise Declined("Resize does not have one scale per axis")
    static = ranked(op.results[0].type, "the result").get_shape()
    result = data
    # From the last axis on: the first pass then has the smallest rows to read.
    for place, axis in reversed(list(enumerate(axes))):
        factor = factors[place]
        if factor == 1.0:
            continue
        if static[axis] != DYNAMIC_INDEX:
            size = builder.index(static[axis])
        elif factor is not None:
            size = builder.insert(loom.ScaledDimOp.make(result, axis, factor)).results[0]
        else:
            assert sizes is not None
            size = builder.insert(loom.ExtractOp(sizes, place)).results[0]
        if factor is None and size is builder.dim(result, axis):
            continue
        rule = Resampling(mode == "linear", str_attr(op, "nearest_mode"), transform, factor)
        result = resample(builder, result, axis, size, rule)
    return [result]


def resample(builder: KernelBuilder, data: SSAValue, axis: int, size: SSAValue, rule: Resampling) -> SSAValue:
    """One axis of `data` resampled to `size` elements."""
    dims = builder.dims(data)
    refuse_empty(builder, dims[axis], f"dim {axis} is 0: there is nothing to resample", unless=size)
    element = buffer_element(data.type) if rule.linear else word_type(data.type)
    out_dims = [*dims[:axis], size, *dims[axis + 1 :]]
    shape = [DYNAMIC_INDEX if (v := index_value(d)) is None else v for d in out_dims]
    type_ = TensorType(ranked(data.type, "the operand").element_type, shape)
    name = "resize_linear" if rule.linear else "resize_nearest"
    last = all(index_value(d) == 1 for d in dims[axis + 1 :])
    k = KernelBody(name + ("_last" if last else ""), [element], [element], 4)
    (_last_axis if last else _inner_axis)(k, rule)
    sizes = [builder.multiply(dims[:axis]), dims[axis], size, builder.multiply(dims[axis + 1 :])]
    return builder.launch(k, [data], [builder.empty(type_, out_dims)], sizes)[0]


def _as_float(k: KernelBody, index: Scalar) -> Scalar:
    return k.scalars.int_to_float(k.from_index(index, i64), f64, unsigned=False)


def _sources(k: KernelBody, rule: Resampling, j: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """For place `j` of the result: two source places and the weight (f64) of the second."""
    s = k.scalars
    _, size, out, _ = k.sizes
    width, out_width, x = _as_float(k, size), _as_float(k, out), _as_float(k, j)
    factor = s.divf(out_width, width) if rule.factor is None else s.const(rule.factor, f64)
    scaled = s.mul(factor, width)
    half, one, zero = s.const(0.5, f64), s.const(1.0, f64), s.const(0.0, f64)
    if rule.transform == "asymmetric":
        at = s.divf(x, factor)
    elif rule.transform == "align_corners":
        single = s.cmp("eq", scaled, one)
        steps = s.select(single, one, s.sub(scaled, one))
        at = s.select(single, zero, s.divf(s.mul(x, s.sub(width, one)), steps))
    else:
        at = s.sub(s.divf(s.add(x, half), factor), half)
        if rule.transform == "pytorch_half_pixel":
            at = s.select(s.cmp("eq", scaled, one), s.const(-0.5, f64), at)
        if rule.transform == "half_pixel_symmetric":
            shift = s.sub(one, s.divf(out_width, scaled))
            at = s.add(at, s.mul(s.mul(width, half), shift))
    if not rule.linear:
        place = _inside(k, _NEAREST[rule.nearest](k, at), size)
        return place, place, zero
    floor = s.unary(xmath.FloorOp, at)
    return _inside(k, floor, size), _inside(k, s.add(floor, one), size), s.sub(at, floor)


def _inside(k: KernelBody, x: Scalar, size: Scalar) -> Scalar:
    """A whole f64 as an index inside of a dim."""
    s = k.scalars
    last = s.sub(_as_float(k, size), s.const(1.0, f64))
    clamped = s.maximum(s.minimum(x, last), s.const(0.0, f64))
    return s.emit(arith.IndexCastOp(s.emit(arith.FPToSIOp(clamped, i64)), IndexType()))


def _mix(k: KernelBody, rule: Resampling, a: Scalar, b: Scalar, weight: Scalar) -> Scalar:
    """Linear interpolation in the type arithmetic is done in, rounded once."""
    s = k.scalars
    left, right = s.widen(a), s.widen(b)
    w = s.float_to(weight, left.type)
    mixed = s.add(s.mul(left, s.sub(s.const(1.0, left.type), w)), s.mul(right, w))
    return s.float_to(mixed, a.type)


def _inner_axis(k: KernelBody, rule: Resampling) -> None:
    """Rows of the dims after the axis are copied or mixed whole."""
    outer, size, out, inner = k.sizes
    with k.task_nest(outer, out) as (o, j):
        first, second, weight = _sources(k, rule, j)
        rows = [k.mul(k.at(o, size, place), inner) for place in (first, second)]
        target = k.mul(k.at(o, out, j), inner)
        with k.loop(inner, parallel=True) as i:
            value = k.load(k.ins[0], k.add(rows[0], i))
            if rule.linear:
                value = _mix(k, rule, value, k.load(k.ins[0], k.add(rows[1], i)), weight)
            k.store(value, k.outs[0], k.add(target, i))


def _last_axis(k: KernelBody, rule: Resampling) -> None:
    """Sources of a block of places are computed once and used for all rows."""
    s = k.scalars
    outer, size, out, _ = k.sizes
    places = [k.scratch(i64, BLOCK) for _ in range(2)]
    weights = k.scratch(f64, BLOCK)
    block = k.index(BLOCK)
    blocks = s.emit(arith.DivUIOp(k.add(out, k.index(BLOCK - 1)), block))
    groups = s.emit(arith.CeilDivSIOp(outer, k.index(ROWS)))
    with k.task_nest(blocks, groups) as (b, g):
        begin = k.mul(b, block)
        width = s.minimum(k.sub(out, begin), block)
        with k.loop(width, parallel=True) as j:
            first, second, weight = _sources(k, rule, k.add(begin, j))
            k.store(k.from_index(first, i64), places[0], j)
            if rule.linear:
                k.store(k.from_index(second, i64), places[1], j)
                k.store(weight, weights, j)
        first_row = k.mul(g, k.index(ROWS))
        with k.loop(s.minimum(outer, k.add(first_row, k.index(ROWS))), start=first_row) as o:
            row, target = k.mul(o, size), k.add(k.mul(o, out), begin)
            with k.loop(width, parallel=True) as j:
                value = k.load(k.ins[0], k.add(row, k.to_index(k.load(places[0], j))))
                if rule.linear:
                    other = k.load(k.ins[0], k.add(row, k.to_index(k.load(places[1], j))))
                    value = _mix(k, rule, value, other, k.load(weights, j))
                k.store(value, k.outs[0], k.add(target, j))


resize = lowering(onnx.ResizeOp)(lower_resize)
