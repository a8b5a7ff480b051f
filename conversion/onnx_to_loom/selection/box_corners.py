"""How do kernels hold boxes? Edges and areas in separate rows, so that many are compared at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i32
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars

ROWS: Final = 5
"""Left, right, top and bottom edge, area."""

BLOCK: Final = 32
"""Boxes that one is compared with together."""


def box_corners(builder: KernelBuilder, boxes: SSAValue, by_center: bool) -> SSAValue:
    """`[batches * ROWS * boxes]` of `[batches, boxes, 4]`: two corners (y, x, y, x), or center and size."""
    batches, count, _ = builder.dims(boxes)
    k = KernelBody("box_corners", [f32], [f32], 2)
    s = k.scalars
    with k.task_nest(k.sizes[0], k.sizes[1]) as (b, i):
        read, write = k.mul(k.at(b, k.sizes[1], i), k.index(4)), k.at(k.mul(b, k.index(ROWS)), k.sizes[1], i)
        a, b_, c, d = (k.load(k.ins[0], k.add(read, k.index(j))) for j in range(4))
        edges = _around(s, (a, c), (b_, d)) if by_center else (*_ordered(s, b_, d), *_ordered(s, a, c))
        area = s.mul(s.sub(edges[1], edges[0]), s.sub(edges[3], edges[2]))
        for row, value in enumerate((*edges, area)):
            k.store(value, k.outs[0], k.add(write, k.mul(k.index(row), k.sizes[1])))
    size = builder.multiply([batches, builder.index(ROWS), count])
    out = builder.empty(TensorType(f32, [DYNAMIC_INDEX]), [size])
    return builder.launch(k, [boxes], [out], [batches, count])[0]


def _ordered(s: Scalars, a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    falls = s.cmp("ge", a, b)
    return s.select(falls, b, a), s.select(falls, a, b)


def _around(s: Scalars, *spans: tuple[Scalar, Scalar]) -> tuple[Scalar, ...]:
    """The edges, given center and size along x and y."""
    edges: list[Scalar] = []
    for center, size in spans:
        half = s.divf(size, s.const(2.0, f32))
        edges += [s.sub(center, half), s.add(center, half)]
    return tuple(edges)


@dataclass(frozen=True)
class Boxes:
    """Boxes in a buffer: row `r` of box `i` is at `begin + r * stride + i`."""

    k: KernelBody
    buffer: SSAValue
    begin: Scalar
    stride: Scalar

    def at(self, row: int, i: Scalar) -> Scalar:
        return self.k.add(self.k.add(self.begin, self.k.mul(self.k.index(row), self.stride)), i)

    def box(self, i: Scalar) -> list[Scalar]:
        return [self.k.load(self.buffer, self.at(row, i)) for row in range(ROWS)]

    def put(self, box: Sequence[Scalar], i: Scalar) -> None:
        """Keeps a box; where it is the first of a block, the others of the block become empty."""
        k = self.k
        is_first = k.scalars.cmp("eq", k.remainder(i, k.index(BLOCK)), k.index(0))
        with k.loop(k.scalars.select(is_first, k.index(BLOCK), k.index(0)), parallel=True) as j:
            k.store(k.scalars.const(0.0, f32), self.buffer, k.add(self.at(ROWS - 1, i), j))
        for row, value in enumerate(box):
            k.store(value, self.buffer, self.at(row, i))

    def any_overlaps(self, box: Sequence[Scalar], count: Scalar, threshold: Scalar) -> Scalar:
        """Whether one of `count` boxes covers so much of the union with `box`; looks at whole blocks."""
        k, s = self.k, self.k.scalars

        def goes_on(acc: Sequence[Scalar]) -> Scalar:
            return s.and_(s.cmp("lt", acc[0], count), s.cmp("eq", acc[1], s.const(0, i32)))

        def look(acc: Sequence[Scalar]) -> Sequence[Scalar]:
            def compare(j: Scalar, hits: Sequence[Scalar]) -> Sequence[Scalar]:
                covers = _covers(s, box, self.box(k.add(acc[0], j)), threshold)
                return [s.or_(hits[0], s.int_to_int(covers, i32, True))]

            return [k.add(acc[0], k.index(BLOCK)), *k.reduce(k.index(BLOCK), [s.const(0, i32)], compare)]

        _, hits = k.repeat([k.index(0), s.const(0, i32)], goes_on, look)
        return s.cmp("ne", hits, s.const(0, i32))


def _covers(s: Scalars, a: Sequence[Scalar], b: Sequence[Scalar], threshold: Scalar) -> Scalar:
    """Whether the intersection is more than `threshold` of the union; empty boxes cover nothing."""
    zero = s.const(0.0, f32)
    lengths: list[Scalar] = []
    holds: list[Scalar] = []
    for low, high in ((0, 1), (2, 3)):
        first = s.select(s.cmp("lt", a[low], b[low]), b[low], a[low])
        last = s.select(s.cmp("lt", b[high], a[high]), b[high], a[high])
        lengths.append(s.sub(last, first))
        holds.append(s.cmp("gt", last, first))
    shared = s.mul(*lengths)
    union = s.sub(s.add(a[4], b[4]), shared)
    positive = [s.cmp("gt", value, zero) for value in (shared, a[4], b[4], union)]
    covers = s.cmp("gt", s.divf(shared, union), threshold)
    for condition in (*holds, *positive):
        covers = s.and_(covers, condition)
    return covers
