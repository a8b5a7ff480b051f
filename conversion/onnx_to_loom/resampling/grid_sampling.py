"""How are images sampled at the points of a grid? A block of points at a time."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.resampling.sample_points import POINTS, Points, Sampling
from onnxloom.dialects.onnx.semantics.scalars import Scalar


def sampling_kernel(k: KernelBody, rule: Sampling, coordinate: Attribute) -> None:
    """Inputs: images, grid. Sizes: images, channels, points of one image's grid, then the spatial dims.

    `coordinate` is the float type of coordinates.
    """
    images, channels, count, *dims = k.sizes
    points = Points(k, rule, dims)
    blocks = k.scalars.emit(arith.CeilDivSIOp(count, k.index(POINTS)))
    with k.task_nest(images, blocks) as (n, b):
        begin = k.mul(b, k.index(POINTS))
        size = k.scalars.minimum(k.sub(count, begin), k.index(POINTS))
        with k.loop(size, parallel=rule.padding != "reflection") as p:
            point = k.mul(k.add(k.at(n, count, begin), p), k.index(rule.dims))
            for d, dim in enumerate(dims):
                # A grid names the last spatial dim first.
                value = k.load(k.ins[1], k.add(point, k.index(rule.dims - 1 - d)))
                points.put(d, _place(k, value, dim, rule.aligned, coordinate), p)
        with k.loop(channels) as c:
            plane = k.at(n, channels, c)
            source, target = k.mul(plane, points.area), k.add(k.mul(plane, count), begin)
            with k.loop(size, parallel=True) as p:
                value = points.sample(source, p)
                if rule.elements is not None:
                    value = rule.elements.stored(k.scalars, value)
                k.store(value, k.outs[0], k.add(target, p))


def _place(k: KernelBody, value: Scalar, dim: Scalar, aligned: bool, type_: Attribute) -> Scalar:
    """A coordinate in [-1, 1] as a place among the elements of a dim."""
    s = k.scalars
    shifted = s.add_const(s.float_to(s.widen(value), type_), 1.0)
    size = s.int_to_float(k.from_index(dim, i64), type_, unsigned=False)
    if aligned:
        return s.mul(s.mul_const(shifted, 0.5), s.add_const(size, -1.0))
    return s.mul_const(s.add_const(s.mul(shifted, size), -1.0), 0.5)
