"""ConvTranspose as kernels: a matrix product that gives every tap of every input place, then their sum.

Taps and sums of f16 and bf16 are f32; a sum is rounded when it is complete.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    rank_of,
    ranked,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.convolutions.conv_forms import conv_window
from onnxloom.conversion.onnx_to_loom.convolutions.select_convolution import MAX_SPATIAL
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.products.gemm import Product, build_gemm
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.access import int_attr, ints_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, compute_type, is_float


@lowering(onnx.ConvTransposeOp)
def lower_conv_transpose(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """`weights^T [rows x taps, channels] @ x [channels, places]` per group, scattered into the result."""
    source, weights, *rest = inputs
    assert source is not None and weights is not None
    bias = rest[0] if rest else None
    element = buffer_element(source.type)
    if not is_float(element) or element != ranked(op.results[0].type, "the result").element_type:
        raise Declined(f"a transposed convolution of {element} has no kernel")
    if rank_of(source) != rank_of(weights) or not 1 <= rank_of(source) - 2 <= MAX_SPATIAL:
        raise Declined("a transposed convolution of this rank has no kernel")
    window, group = conv_window(op, weights), int_attr(op, "group")
    channels, rows = shape_of(weights)[:2]
    if DYNAMIC_INDEX in (channels, rows):
        raise Declined("the channels of a transposed convolution are not known")
    if bias is not None:
        message = f"the bias does not have an element for each of {rows * group} channels"
        refuse_where(
            builder, builder.multiply(builder.dims(bias)), "ne", builder.index(rows * group), message
        )
    padding = ints_attr(op, "output_padding") or (0,) * window.rank
    sizes = list(
        builder.insert(
            loom.TransposedSpaceOp(source, window, padding, ints_attr(op, "output_shape") or ())
        ).results
    )
    taps = _tap_products(builder, source, weights, window, group)
    return [_scatter(op, builder, source, taps, bias, window, rows * group, sizes)]


def _tap_products(
    builder: KernelBuilder, source: SSAValue, weights: SSAValue, window: Window, group: int
) -> SSAValue:
    """`[batch, group, rows * taps, places]`."""
    channels, rows = shape_of(weights)[:2]
    batch, _, *spatial = builder.dims(source)
    g, depth, height = (builder.index(i) for i in (group, channels // group, rows * math.prod(window.kernel)))
    places = builder.multiply(spatial)
    lhs = builder.view(weights, [g, depth, height])
    rhs = builder.view(source, [batch, g, depth, places])
    element = compute_type(buffer_element(source.type))
    shape = [*ranked(rhs.type, "the input").get_shape()[:2], shape_of(lhs)[2], shape_of(rhs)[3]]
    product = Product(lhs, rhs, TensorType(element, shape), trans_lhs=True)
    return build_gemm(builder, "conv_transpose_taps", product)


def _scatter(
    op: Operation,
    builder: KernelBuilder,
    source: SSAValue,
    taps: SSAValue,
    bias: SSAValue | None,
    window: Window,
    channels: int,
    sizes: Sequence[SSAValue],
) -> SSAValue:
    batch, _, *spatial = builder.dims(source)
    d = window.rank
    outputs, begins = sizes[:d], sizes[d:]
    type_ = ranked(op.results[0].type, "the result")
    wide = TensorType(compute_type(type_.element_type), type_.get_shape())
    ins = [taps] if bias is None else [taps, bias]
    args = [batch, builder.index(channels), *spatial, *outputs, *begins]
    kernel = builder.kernel("conv_transpose_sum", ins, [wide], len(args))
    _Scatter(kernel, window, bias is not None).write()
    result = builder.empty(wide, [batch, builder.index(channels), *outputs])
    total = builder.launch(kernel, ins, [result], args)[0]
    if wide.element_type == type_.element_type:
        return total
    return builder.map("narrowed", [total], [type_], lambda s, x: [s.float_to(x[0], type_.element_type)])[0]


class _Scatter:
    """Starts every result plane at the bias and adds the taps that fall on it."""

    def __init__(self, kernel: KernelBody, window: Window, has_bias: bool):
        self.k, self.window, self.has_bias = kernel, window, has_bias
        sizes = iter(kernel.sizes)
        self.batch, self.channels = next(sizes), next(sizes)
        self.spatial, self.outputs, self.begins = (
            [next(sizes) for _ in range(window.rank)] for _ in range(3)
        )

    def write(self) -> None:
        k, s = self.k, self.k.scalars
        points, places = self._product(self.outputs), self._product(self.spatial)
        taps = k.index(math.prod(self.window.kernel))
        with k.task_nest(self.batch, self.channels) as (n, c):
            plane = k.at(n, self.channels, c)
            target, source = k.mul(plane, points), k.mul(k.mul(plane, taps), places)
            element = k.outs[0].type.element_type  # pyright: ignore
            start = s.widen(k.load(k.ins[1], c)) if self.has_bias else s.const(0.0, element)  # pyright: ignore
            with k.loop(points, parallel=True) as p:
                k.store(start, k.outs[0], k.add(target, p))
            self._taps(0, k.index(0), source, target, places, [])

    def _product(self, sizes: Sequence[Scalar]) -> Scalar:
        total = self.k.index(1)
        for size in sizes:
            total = self.k.mul(total, size)
        return total

    def _taps(
        self, depth: int, tap: Scalar, source: Scalar, target: Scalar, places: Scalar, at: list[Scalar]
    ) -> None:
        """Loops over taps; `at` are their offsets from the first element of a window, borders cut off."""
        k = self.k
        if depth < self.window.rank:
            with k.loop(k.index(self.window.kernel[depth])) as i:
                offset = k.sub(k.mul(i, k.index(self.window.dilations[depth])), self.begins[depth])
                following = k.add(k.mul(tap, k.index(self.window.kernel[depth])), i)
                self._taps(depth + 1, following, source, target, places, [*at, offset])
            return
        self._places(0, k.add(source, k.mul(tap, places)), target, at)

    def _places(self, depth: int, source: Scalar, target: Scalar, at: Sequence[Scalar]) -> None:
        """Loops over the input places whose tap falls into the result."""
        k, s = self.k, self.k.scalars
        stride, size, output = k.index(self.window.strides[depth]), self.spatial[depth], self.outputs[depth]
        zero = k.index(0)
        low = s.minimum(s.maximum(s.emit(arith.CeilDivSIOp(k.sub(zero, at[depth]), stride)), zero), size)
        high = s.minimum(s.maximum(s.emit(arith.CeilDivSIOp(k.sub(output, at[depth]), stride)), low), size)
        last = depth == self.window.rank - 1
        below_source, below_target = (
            self._product(self.spatial[depth + 1 :]),
            self._product(self.outputs[depth + 1 :]),
        )
        with k.loop(high, start=low, parallel=last) as i:
            place = k.add(k.mul(i, stride), at[depth])
            from_, to = k.add(source, k.mul(i, below_source)), k.add(target, k.mul(place, below_target))
            if not last:
                self._places(depth + 1, from_, to, at)
                return
            k.store(s.add(k.load(k.outs[0], to), k.load(k.ins[0], from_)), k.outs[0], to)
