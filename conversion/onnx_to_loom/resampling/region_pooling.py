"""How are regions of images pooled into bins, each of several bilinear samples?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.resampling.elements import Elements
from onnxloom.conversion.onnx_to_loom.resampling.sample_points import POINTS, Points, Sampling
from onnxloom.dialects.onnx.semantics.scalars import Scalar

CHANNELS = 64
"""Channels that are a task: what is computed for a sample is used for all of them."""

MOST_SAMPLES = 1 << 15
"""Samples of a bin along a dim, where the size of the region decides. More are no size of a region."""

NOT_SAMPLED = -10.0
"""A place outside of any image."""


@dataclass(frozen=True)
class Pooling:
    """How regions are pooled."""

    rows: int
    columns: int
    largest: bool
    """Whether the largest weighted element is taken, else the mean of the samples."""
    half_pixel: bool
    samples: int
    """Samples of a bin along a dim; 0 if the size of the region decides."""
    scale: float


def pooling_kernel(k: KernelBody, pooling: Pooling, type_: Attribute) -> None:
    """Inputs: images, regions, batch indices. Sizes: dims of the images, then the number of regions.

    A task is some channels of a region.
    """
    images, channels, height, width, count = k.sizes
    s = k.scalars
    rule = Sampling(2, "linear", "zeros", True, Elements(type_))
    points = Points(k, rule, [height, width])
    blocks = s.emit(arith.CeilDivSIOp(channels, k.index(CHANNELS)))
    bins = pooling.rows * pooling.columns
    with k.task_nest(count, blocks) as (r, block):
        first = k.mul(block, k.index(CHANNELS))
        end = s.minimum(channels, k.add(first, k.index(CHANNELS)))
        batch = s.minimum(k.to_index(k.load(k.ins[2], r)), k.sub(images, k.index(1)))
        batch = s.maximum(batch, k.index(0))
        region = _Region(k, pooling, type_, points, r)
        with k.loop(k.index(-(-bins // POINTS))) as part:
            start = k.mul(part, k.index(POINTS))
            size = s.minimum(k.sub(k.index(bins), start), k.index(POINTS))
            region.pool(_Part(k.mul(batch, channels), k.mul(r, channels), first, end, start, size))


@dataclass(frozen=True)
class _Part:
    """Some channels and bins of a region."""

    source: Scalar
    """The number of the first channel among those of all images."""
    target: Scalar
    """The same among those of all results."""
    first: Scalar
    end: Scalar
    start: Scalar
    """The first bin."""
    size: Scalar


class _Region:
    """Samples of all bins that are alike are taken at once."""

    def __init__(self, k: KernelBody, pooling: Pooling, type_: Attribute, points: Points, r: Scalar):
        self.k, self.pooling, self.type, self.points = k, pooling, type_, points
        self.spans = [self._span(r, 1, pooling.rows), self._span(r, 0, pooling.columns)]
        self.bins = k.index(pooling.rows * pooling.columns)

    def _span(self, r: Scalar, column: int, parts: int) -> tuple[Scalar, Scalar, Scalar]:
        """Of a region along one dim: its begin, the size of a bin, the number of samples of a bin."""
        k, s = self.k, self.k.scalars
        begin, end = (
            s.mul_const(k.load(k.ins[1], k.at(r, k.index(4), k.index(at))), self.pooling.scale)
            for at in (column, column + 2)
        )
        if self.pooling.half_pixel:
            begin, end = s.add_const(begin, -0.5), s.add_const(end, -0.5)
        length = s.sub(end, begin)
        if not self.pooling.half_pixel:
            length = s.maximum(length, s.const(1.0, self.type))
        size = s.divf(length, s.const(float(parts), self.type))
        if self.pooling.samples > 0:
            return begin, size, k.index(self.pooling.samples)
        samples = s.unary(xmath.CeilOp, size)
        zero, most = s.const(0.0, self.type), s.const(float(MOST_SAMPLES), self.type)
        samples = s.select(s.cmp("gt", samples, zero), samples, zero)
        samples = s.select(s.cmp("lt", samples, most), samples, most)
        return begin, size, k.to_index(s.emit(arith.FPToSIOp(samples, i64)))

    def pool(self, part: _Part) -> None:
        """Writes the bins of one part."""
        k, s = self.k, self.k.scalars
        counts = [samples for _, _, samples in self.spans]
        empty = s.const(float("-inf") if self.pooling.largest else 0.0, self.type)
        self._update(part, lambda c, p, value: empty)
        with k.loop(counts[0]) as y, k.loop(counts[1]) as x:
            with k.loop(part.size, parallel=True) as p:
                cell = k.split(
                    k.add(part.start, p), [k.index(self.pooling.rows), k.index(self.pooling.columns)]
                )
                self._put(cell, [y, x], p)
            self._update(part, self._with_sample)
        total = k.mul(*counts)
        if self.pooling.largest:
            none = s.cmp("eq", total, k.index(0))
            self._update(part, lambda c, p, value: s.select(none, s.const(0.0, self.type), value))
            return
        number = s.int_to_float(k.from_index(s.maximum(total, k.index(1)), i64), self.type, unsigned=False)
        self._update(part, lambda c, p, value: s.divf(value, number))

    def _update(self, part: _Part, step: Callable[[Scalar, Scalar, Scalar], Scalar]) -> None:
        """Replaces each value by what `step` makes of the offset of its image, its bin and the value."""
        k = self.k
        with k.loop(part.end, start=part.first) as c:
            source = k.mul(k.add(part.source, c), self.points.area)
            target = k.add(k.mul(k.add(part.target, c), self.bins), part.start)
            with k.loop(part.size, parallel=True) as p:
                at = k.add(target, p)
                k.store(step(source, p, k.load(k.outs[0], at)), k.outs[0], at)

    def _with_sample(self, source: Scalar, p: Scalar, value: Scalar) -> Scalar:
        s = self.k.scalars
        if not self.pooling.largest:
            return s.add(value, self.points.sample(source, p))
        for product in self.points.products(source, p):
            value = s.maximum(value, product)
        return value

    def _put(self, cell: Sequence[Scalar], sample: Sequence[Scalar], p: Scalar) -> None:
        """Where a sample of a bin lies. Up to a pixel outside, it is what lies at the border."""
        k, s = self.k, self.k.scalars
        places: list[Scalar] = []
        inside: Scalar | None = None
        for (begin, size, samples), c, i, dim in zip(self.spans, cell, sample, k.sizes[2:4], strict=True):
            part, number, at, length = (
                s.int_to_float(k.from_index(value, i64), self.type, unsigned=False)
                for value in (c, samples, i, dim)
            )
            step = s.divf(s.mul(s.add_const(at, 0.5), size), number)
            place = s.add(s.add(begin, s.mul(part, size)), step)
            near = s.and_(s.cmp("ge", place, s.const(-1.0, self.type)), s.cmp("le", place, length))
            inside = near if inside is None else s.and_(inside, near)
            places.append(s.maximum(s.minimum(place, s.add_const(length, -1.0)), s.const(0.0, self.type)))
        assert inside is not None
        for d, place in enumerate(places):
            self.points.put(d, s.select(inside, place, s.const(NOT_SAMPLED, self.type)), p)
