"""HannWindow, HammingWindow, BlackmanWindow: sums of cosines over one period."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f64, i64
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import read_sizes, refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics import element_type
from onnxloom.dialects.onnx.semantics.scalars import KERNEL_FLOATS

_ALPHA = 25.0 / 46.0

_COSINES: dict[type[Operation], tuple[float, float, float]] = {
    onnx.HannWindowOp: (0.5, -0.5, 0.0),
    onnx.HammingWindowOp: (_ALPHA, _ALPHA - 1.0, 0.0),
    onnx.BlackmanWindowOp: (0.42, -0.5, 0.08),
}
"""What is added: a constant, and multiples of the cosines of one and of two turns."""


@lowering(*_COSINES)
def lower_window(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """The size is read when the plan is made."""
    (size,) = inputs
    assert size is not None
    element = element_type(op.results[0])
    if not isinstance(element, KERNEL_FLOATS):
        raise Declined(f"a window of elements of type {element} has no kernel")
    type_ = TensorType(element, [DYNAMIC_INDEX])
    (count,) = read_sizes(builder, size, 1, "the length")
    refuse_where(builder, count, "slt", builder.index(0), "a window of negative length")
    k = KernelBody("window_function", [], [buffer_element(type_)], 1)
    s = k.scalars
    length = s.int_to_float(k.from_index(k.sizes[0], i64), f64, unsigned=False)
    if not int_attr(op, "periodic"):
        length = s.add_const(length, -1.0)
    constant, once, twice = _COSINES[type(op)]
    with k.loop(k.sizes[0], parallel=True) as i:
        place = s.int_to_float(k.from_index(i, i64), f64, unsigned=False)
        angle = s.divf(s.mul_const(place, 2 * math.pi), length)
        value = s.add_const(s.mul_const(s.unary(xmath.CosOp, angle), once), constant)
        if twice:
            doubled = s.unary(xmath.CosOp, s.mul_const(angle, 2.0))
            value = s.add(value, s.mul_const(doubled, twice))
        k.store(s.float_to(value, element), k.outs[0], i)
    return builder.launch(k, [], [builder.empty(type_, [count])], [count])
