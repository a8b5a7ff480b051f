"""Range with bounds that are known only while the program runs: how many numbers there are is read first."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import FixedBitwidthType, TensorType, f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, ranked
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_other_count
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics.conversion import convert, float_to_int
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, bit_width, is_float

_DOUBLE = 11
"""`TensorProto.DOUBLE`, as a stash type."""


@lowering(onnx.RangeOp)
def lower_range(op: onnx.RangeOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """`start + i * delta`, computed in the stash type where elements have half the width of f32."""
    start, limit, delta = inputs
    assert start is not None and limit is not None and delta is not None
    type_ = ranked(op.output.type, "the result")
    element = buffer_element(type_)
    for bound in (start, limit, delta):
        refuse_other_count(builder, bound, 1, "a bound, or the delta,")
    count = _count(builder, [start, limit, delta])
    k = KernelBody("range", [element, element], [element], 1)
    s, wide = k.scalars, _compute_type(element, int_attr(op, "stash_type", 1))
    first, step = (convert(s, k.load(b, k.index(0)), wide, False) for b in k.ins)
    with k.loop(k.sizes[0], parallel=True) as i:
        number = convert(s, k.from_index(i, i64), wide, False)
        value = s.add(first, s.mul(number, step))
        k.store(convert(s, value, element, False), k.outs[0], i)
    return builder.launch(k, [start, delta], [builder.empty(type_, [count])], [count])


def _compute_type(element: Attribute, stash: int) -> Attribute:
    assert isinstance(element, FixedBitwidthType)
    if not is_float(element) or bit_width(element) > 16:
        return element
    return f64 if stash == _DOUBLE else f32


def _count(builder: KernelBuilder, bounds: Sequence[SSAValue]) -> SSAValue:
    """How many numbers there are; refuses bounds between which there is no end of them."""
    element = buffer_element(bounds[0].type)
    k = KernelBody("range_count", [element] * 3, [i64, i64], 0)
    s = k.scalars
    start, limit, step = (k.load(b, k.index(0)) for b in k.ins)
    if is_float(element):
        steps = _float_steps(s, start, limit, step)
        is_finite = s.cmp("lt", s.abs(steps), s.const(math.inf, f64))
        numbers = float_to_int(s, steps, i64, False)
    else:
        numbers = _integer_steps(s, start, limit, step)
        some_end = s.cmp("ne", step, s.const(0, element))
        is_finite = s.and_(some_end, s.cmp("ge", numbers, s.const(0, i64)))
    k.store(s.maximum(numbers, s.const(0, i64)), k.outs[0], k.index(0))
    k.store(s.int_to_int(s.not_(is_finite), i64, True), k.outs[1], k.index(0))
    outs = [builder.empty(TensorType(i64, [1]), [builder.index(1)]) for _ in range(2)]
    number, status = builder.launch(k, bounds, outs, [])
    builder.insert(loom.CheckOp(status, "the delta is 0, or a bound is not finite, or too far away"))
    return builder.read(number, 0)


def _float_steps(s: Scalars, start: Scalar, limit: Scalar, step: Scalar) -> Scalar:
    span = s.float_to(s.sub(s.widen(limit), s.widen(start)), f64)
    return s.unary(xmath.CeilOp, s.divf(span, s.float_to(step, f64)))


def _integer_steps(s: Scalars, start: Scalar, limit: Scalar, step: Scalar) -> Scalar:
    """Divided without a sign: spans may have 64 bits. Negative where a size cannot hold the number."""
    start, limit, step = (s.int_to_int(v, i64, False) for v in (start, limit, step))
    zero, one = s.const(0, i64), s.const(1, i64)
    falls = s.cmp("lt", step, zero)
    low, high = s.select(falls, limit, start), s.select(falls, start, limit)
    size = s.select(s.cmp("eq", step, zero), one, s.abs(step))
    whole = s.emit(arith.DivUIOp(s.sub(s.sub(high, low), one), size))
    return s.select(s.cmp("gt", high, low), s.add(whole, one), zero)
