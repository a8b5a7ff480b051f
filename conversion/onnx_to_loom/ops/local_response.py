"""LRN: `x / (bias + alpha / size * s) ** beta`, s the sum of squares of `size` neighbouring channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, rank_of, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, int_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, compute_type, is_float

_BLOCK: Final = 512
"""Places of a plane whose sums are kept at a time: 2 KiB of f32."""


@lowering(onnx.LRNOp)
def lower_local_response(op: onnx.LRNOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """The sums of a block of places stay in scratch memory while the channels around are added."""
    (x,) = inputs
    assert x is not None
    size = int_attr(op, "size")
    if rank_of(x) < 2 or size < 1 or not is_float(buffer_element(x.type)):
        raise Declined("LRN without channels, or over none of them, has no kernel")
    type_ = ranked(op.Y.type, "the result")
    dims = builder.dims(x)
    k = builder.kernel("local_response", [x], [type_], 3)
    images, channels, places = k.sizes
    block = k.index(_BLOCK)
    sums = k.scratch(compute_type(buffer_element(x.type)), _BLOCK)
    s, before = k.scalars, (size - 1) // 2
    with k.task_nest(images, s.emit(arith.CeilDivSIOp(places, block))) as (n, b):
        first = k.mul(b, block)
        count = s.minimum(block, k.sub(places, first))
        with k.loop(channels) as c:
            low = s.maximum(k.sub(c, k.index(before)), k.index(0))
            high = s.minimum(k.add(c, k.index(size - before)), channels)
            at = k.add(k.mul(k.mul(n, channels), places), first)
            _add_squares(k, sums, at, (low, high), count)
            _scale(k, op, sums, k.add(at, k.mul(c, places)), count)
    sizes = [dims[0], dims[1], builder.multiply(dims[2:])]
    return builder.launch(k, [x], [builder.empty(type_, dims)], sizes)


def _add_squares(
    k: KernelBody, sums: SSAValue, at: Scalar, channels: tuple[Scalar, Scalar], count: Scalar
) -> None:
    """`sums[j]` over the channels from the first to before the last; `at` is the block in channel 0."""
    s, places = k.scalars, k.sizes[2]
    wide = cast("MemRefType[Attribute]", sums.type).element_type
    with k.loop(count, parallel=True) as j:
        k.store(s.const(0.0, wide), sums, j)
    with k.loop(channels[1], start=channels[0]) as c:
        plane = k.add(at, k.mul(c, places))
        with k.loop(count, parallel=True) as j:
            value = s.widen(k.load(k.ins[0], k.add(plane, j)))
            k.store(s.add(k.load(sums, j), s.mul(value, value)), sums, j)


def _scale(k: KernelBody, op: onnx.LRNOp, sums: SSAValue, at: Scalar, count: Scalar) -> None:
    s = k.scalars
    factor = float_attr(op, "alpha") / int_attr(op, "size")
    with k.loop(count, parallel=True) as j:
        element = k.load(k.ins[0], k.add(at, j))
        base = s.add_const(s.mul_const(k.load(sums, j), factor), float_attr(op, "bias"))
        power = s.emit(xmath.PowFOp(base, s.const(float_attr(op, "beta"), base.type)))
        k.store(s.float_to(s.divf(s.widen(element), power), element.type), k.outs[0], k.add(at, j))
