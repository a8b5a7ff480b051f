"""Where in its source lies an element of a resized axis? The coordinate transformations of Resize, in f64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import IndexType, f64, i64

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.onnx.semantics.scalars import Scalar


@dataclass(frozen=True)
class Axis:
    """An axis being resized, as f64 scalars of a kernel."""

    size: Scalar
    out_size: Scalar
    factor: Scalar
    begin: Scalar | None = None
    """Where the region of interest begins and ends, in parts of the source; None without one."""
    end: Scalar | None = None

    def scaled(self, k: KernelBody) -> Scalar:
        """The size of the result before it was rounded."""
        return k.scalars.mul(self.factor, self.size)


def as_float(k: KernelBody, index: Scalar) -> Scalar:
    """An index as an f64."""
    return k.scalars.int_to_float(k.from_index(index, i64), f64, unsigned=False)


def bits_as_float(k: KernelBody, index: Scalar) -> Scalar:
    """The f64 whose bits are passed as a size."""
    return k.scalars.emit(arith.BitcastOp(k.from_index(index, i64), f64))


def clamped(k: KernelBody, x: Scalar, last: Scalar) -> Scalar:
    """An f64 inside [0, last]; 0 for NaN."""
    s = k.scalars
    zero = s.const(0.0, f64)
    x = s.select(s.cmp("gt", x, zero), x, zero)
    return s.select(s.cmp("lt", x, last), x, last)


def as_index(k: KernelBody, whole: Scalar) -> Scalar:
    """A whole f64 as an index."""
    return k.scalars.emit(arith.IndexCastOp(k.scalars.emit(arith.FPToSIOp(whole, i64)), IndexType()))


def _asymmetric(k: KernelBody, axis: Axis, x: Scalar) -> Scalar:
    return k.scalars.divf(x, axis.factor)


def _half_pixel(k: KernelBody, axis: Axis, x: Scalar) -> Scalar:
    s = k.scalars
    return s.add_const(s.divf(s.add_const(x, 0.5), axis.factor), -0.5)


def _pytorch_half_pixel(k: KernelBody, axis: Axis, x: Scalar) -> Scalar:
    s = k.scalars
    single = s.cmp("eq", axis.scaled(k), s.const(1.0, f64))
    return s.select(single, s.const(-0.5, f64), _half_pixel(k, axis, x))


def _half_pixel_symmetric(k: KernelBody, axis: Axis, x: Scalar) -> Scalar:
    s = k.scalars
    missing = s.sub(s.const(1.0, f64), s.divf(axis.out_size, axis.scaled(k)))
    return s.add(_half_pixel(k, axis, x), s.mul(s.mul_const(axis.size, 0.5), missing))


def _align_corners(k: KernelBody, axis: Axis, x: Scalar) -> Scalar:
    s = k.scalars
    scaled = axis.scaled(k)
    single = s.cmp("eq", scaled, s.const(1.0, f64))
    steps = s.select(single, s.const(1.0, f64), s.add_const(scaled, -1.0))
    at = s.divf(s.mul(x, s.add_const(axis.size, -1.0)), steps)
    return s.select(single, s.const(0.0, f64), at)


def _crop_and_resize(k: KernelBody, axis: Axis, x: Scalar) -> Scalar:
    s = k.scalars
    assert axis.begin is not None and axis.end is not None
    part, last, scaled = s.sub(axis.end, axis.begin), s.add_const(axis.size, -1.0), axis.scaled(k)
    single = s.cmp("eq", scaled, s.const(1.0, f64))
    steps = s.select(single, s.const(1.0, f64), s.add_const(scaled, -1.0))
    spread = s.divf(s.mul(s.mul(x, part), last), steps)
    at = s.select(single, s.mul_const(s.mul(part, last), 0.5), spread)
    return s.add(at, s.mul(axis.begin, last))


CROP = "tf_crop_and_resize"

TRANSFORMS: dict[str, Callable[[KernelBody, Axis, Scalar], Scalar]] = {
    "asymmetric": _asymmetric,
    "half_pixel": _half_pixel,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "align_corners": _align_corners,
    CROP: _crop_and_resize,
}
"""By `coordinate_transformation_mode`: the source coordinate of element `x` of the result."""

NEAREST: dict[str, Callable[[KernelBody, Scalar], Scalar]] = {
    "round_prefer_floor": lambda k, x: k.scalars.unary(xmath.CeilOp, k.scalars.add_const(x, -0.5)),
    "round_prefer_ceil": lambda k, x: k.scalars.unary(xmath.FloorOp, k.scalars.add_const(x, 0.5)),
    "floor": lambda k, x: k.scalars.unary(xmath.FloorOp, x),
    "ceil": lambda k, x: k.scalars.unary(xmath.CeilOp, x),
}
"""By `nearest_mode`: the whole coordinate that is taken for one between two elements."""
