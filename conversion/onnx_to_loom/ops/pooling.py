"""Ops that reduce a sliding window: MaxPool, AveragePool, LpPool.

One row of places at a time accumulates in scratch memory, one window column after the other, so that
the inner loop runs along memory and needs no bounds check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, rank_of, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.reductions import count_as
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr, str_attr
from onnxloom.dialects.onnx.semantics.scalars import (
    Scalar,
    Scalars,
    bit_width,
    compute_type,
    is_float,
    is_unsigned,
)

BLOCK = 256
"""Places of one row that accumulate at once in scratch memory."""


@dataclass(frozen=True)
class Pool:
    """What is computed of a window."""

    name: str
    initial: float
    combine: Callable[[Scalars, Scalar, Scalar], Scalar]
    finish: Callable[[Scalars, Scalar, Scalar], Scalar]
    """(scalars, accumulated, number of elements as index) -> result before rounding."""
    count_padding: bool = False


@dataclass(frozen=True)
class Window:
    """The window along one spatial dim."""

    kernel: int
    stride: int
    dilation: int
    before: int
    after: int


def windows(op: Operation, spatial: int) -> list[Window]:
    """The window attributes of a pooling op."""
    kernel = ints_attr(op, "kernel_shape") or ()
    ones = (1,) * spatial
    strides, dilations = ints_attr(op, "strides") or ones, ints_attr(op, "dilations") or ones
    pads = ints_attr(op, "pads") or (0,) * (2 * spatial)
    if not len(kernel) == len(strides) == len(dilations) == len(pads) // 2 == spatial:
        raise Declined("the window does not have as many dims as the data")
    return [Window(kernel[i], strides[i], dilations[i], pads[i], pads[i + spatial]) for i in range(spatial)]


def _pool(op: Operation, element: Attribute, storage: Attribute) -> Pool:
    if isinstance(op, onnx.MaxPoolOp):
        low = -math.inf if is_float(storage) else -(2 ** (bit_width(storage) - 1))
        unsigned = is_unsigned(element)
        return Pool(
            "max_pool",
            0 if unsigned else low,
            lambda s, a, x: s.maximum(a, x, unsigned),
            lambda s, acc, count: acc,
        )
    if isinstance(op, onnx.AveragePoolOp):
        return Pool(
            "average_pool",
            0,
            Scalars.add,
            lambda s, acc, count: s.divf(acc, count_as(s, count, acc.type)),
            bool(int_attr(op, "count_include_pad", 0)),
        )
    p = int_attr(op, "p", 2)
    if p == 1:
        return Pool("l1_pool", 0, lambda s, a, x: s.add(a, s.abs(x)), lambda s, acc, count: acc)
    if p == 2:
        return Pool(
            "l2_pool",
            0,
            lambda s, a, x: s.add(a, s.mul(x, x)),
            lambda s, acc, count: s.unary(xmath.SqrtOp, acc),
        )

    def power(s: Scalars, x: Scalar, exponent: float) -> Scalar:
        return s.emit(xmath.PowFOp(s.abs(x), s.const(exponent, x.type)))

    return Pool(
        f"l{p}_pool",
        0,
        lambda s, a, x: s.add(a, power(s, x, p)),
        lambda s, acc, count: power(s, acc, 1 / p),
    )


def lower_pool(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """A pooling op without indices."""
    (data,) = inputs
    assert data is not None
    if len(op.results) > 1 and isinstance(op.results[1].type, TensorType) and op.results[1].uses:
        raise Declined("MaxPool with indices has no kernel")
    type_ = ranked(op.results[0].type, "the result")
    storage = buffer_element(data.type)
    spatial = rank_of(data) - 2
    if not 1 <= spatial <= 3:
        raise Declined(f"windows over {spatial} dims have no kernel")
    shape = windows(op, spatial)
    pool = _pool(op, ranked(data.type, "the operand").element_type, storage)
    rows = [(w.kernel, w.stride, w.dilation, w.before, w.after) for w in shape]
    mode, ceil = str_attr(op, "auto_pad", "NOTSET"), bool(int_attr(op, "ceil_mode", 0))
    space = builder.insert(loom.WindowSpaceOp.make(data, rows, mode, ceil)).results
    n, c, *sizes = builder.dims(data)
    dims = exact_dims(builder, type_, [n, c, *(space[3 * i] for i in range(spatial))])
    k = builder.kernel(pool.name, [data], [type_], 1 + 4 * spatial)
    _Pooling(k, pool, shape, storage).write()
    arguments = [builder.multiply([n, c]), *sizes, *dims[2:]]
    arguments += [space[3 * i + 1] for i in range(spatial)] + [space[3 * i + 2] for i in range(spatial)]
    filled = builder.launch(k, [data], [builder.empty(type_, dims)], arguments)
    # Results that nothing reads stand for themselves.
    return [filled[0]] * len(op.results)


@dataclass
class _Pooling:
    k: KernelBody
    pool: Pool
    windows: Sequence[Window]
    storage: Attribute

    def write(self) -> None:
        k, spatial = self.k, len(self.windows)
        self.wide = compute_type(self.storage)
        groups = [k.sizes[1 + i * spatial : 1 + (i + 1) * spatial] for i in range(4)]
        self.sizes, self.places, self.before, self.after = groups
        self.scratch = k.scratch(self.wide, BLOCK)
        with k.loop(k.sizes[0]) as plane:
            self._outer(0, plane, plane, [])

    def _outer(self, d: int, source: Scalar, target: Scalar, starts: list[Scalar]) -> None:
        """Loops over the places along all spatial dims but the last."""
        k = self.k
        if d == len(self.windows) - 1:
            self._row(source, target, starts)
            return
        with k.loop(self.places[d]) as o:
            start = k.sub(k.mul(o, k.index(self.windows[d].stride)), self.before[d])
            self._outer(d + 1, source, k.at(target, self.places[d], o), [*starts, start])

    def _row(self, plane: Scalar, target: Scalar, starts: list[Scalar]) -> None:
        k, last = self.k, len(self.windows) - 1
        window, places = self.windows[last], self.places[last]
        block, stride = k.index(BLOCK), k.index(window.stride)
        blocks = k.scalars.emit(arith.DivUIOp(k.add(places, k.index(BLOCK - 1)), block))
        with k.loop(blocks) as b:
            begin = k.mul(b, block)
            width = k.scalars.minimum(k.sub(places, begin), block)
            with k.loop(width, parallel=True) as j:
                k.store(k.scalars.const(self.pool.initial, self.wide), self.scratch, j)
            first = k.sub(k.mul(begin, stride), self.before[last])
            self._accumulate(0, plane, starts, first, width)
            outer_count = self._outer_count(starts)
            row = k.add(k.mul(target, places), begin)
            with k.loop(width, parallel=True) as j:
                start = k.add(first, k.mul(j, stride))
                count = k.mul(outer_count, self._count(last, start))
                value = self.pool.finish(k.scalars, k.load(self.scratch, j), count)
                if is_float(self.storage):
                    value = k.scalars.float_to(value, self.storage)
                k.store(value, k.outs[0], k.add(row, j))

    def _accumulate(self, d: int, source: Scalar, starts: list[Scalar], first: Scalar, width: Scalar) -> None:
        k, window = self.k, self.windows[d]
        with k.loop(k.index(window.kernel)) as tap:
            step = k.mul(tap, k.index(window.dilation))
            if d == len(self.windows) - 1:
                self._columns(source, k.add(first, step), width)
                return
            at = k.add(starts[d], step)
            s = k.scalars
            inside = s.and_(s.cmp("ge", at, k.index(0)), s.cmp("lt", at, self.sizes[d]))
            with k.branch(inside) as (then, _), k.inside(then):
                self._accumulate(d + 1, k.at(source, self.sizes[d], at), starts, first, width)

    def _columns(self, row: Scalar, offset: Scalar, width: Scalar) -> None:
        """One tap for all places of the block that it hits inside of the data."""
        k, s = self.k, self.k.scalars
        size, stride = self.sizes[-1], k.index(self.windows[-1].stride)
        zero = k.index(0)
        low = s.minimum(s.maximum(self._ceil_div(k.sub(zero, offset), stride), zero), width)
        high = s.maximum(s.minimum(self._ceil_div(k.sub(size, offset), stride), width), low)
        base = k.add(k.mul(row, size), offset)
        with k.loop(high, start=low, parallel=True) as j:
            x = s.widen(k.load(k.ins[0], k.add(base, k.mul(j, stride))))
            k.store(self.pool.combine(s, k.load(self.scratch, j), x), self.scratch, j)

    def _ceil_div(self, a: Scalar, b: Scalar) -> Scalar:
        """ceil(a / b) for b > 0, and 0 or less where a is: enough for a bound that is clamped at 0."""
        k = self.k
        up = k.add(a, k.sub(b, k.index(1)))
        return k.scalars.emit(arith.DivSIOp(k.scalars.maximum(up, k.index(0)), b))

    def _outer_count(self, starts: list[Scalar]) -> Scalar:
        k = self.k
        count = k.index(1)
        for d, start in enumerate(starts):
            count = k.mul(count, self._count(d, start))
        return count

    def _count(self, d: int, start: Scalar) -> Scalar:
        """Elements of the window at `start` along dim `d` that count."""
        k, s, window = self.k, self.k.scalars, self.windows[d]
        kernel, dilation, zero = k.index(window.kernel), k.index(window.dilation), k.index(0)
        limit = k.add(self.sizes[d], self.after[d]) if self.pool.count_padding else self.sizes[d]
        high = s.minimum(self._ceil_div(k.sub(limit, start), dilation), kernel)
        if self.pool.count_padding:
            return high
        low = self._ceil_div(k.sub(zero, start), dilation)
        return s.maximum(k.sub(high, low), zero)


pool = lowering(onnx.MaxPoolOp, onnx.AveragePoolOp, onnx.LpPoolOp)(lower_pool)
