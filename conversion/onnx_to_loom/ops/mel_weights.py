"""MelWeightMatrix: triangles over the frequencies of a spectrum, equally wide on the mel scale."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f64, i64
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import read_sizes, refuse_other_count, refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.semantics import element_type
from onnxloom.dialects.onnx.semantics.scalars import KERNEL_FLOATS, Scalar


@lowering(onnx.MelWeightMatrixOp)
def lower_mel_weights(
    op: onnx.MelWeightMatrixOp, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    """Sizes and the rate are read when the plan is made."""
    values = [v for v in inputs if v is not None]
    element = element_type(op.output)
    if not isinstance(element, KERNEL_FLOATS):
        raise Declined(f"weights of type {element} have no kernel")
    bands, length, rate = (read_sizes(builder, v, 1, "a number")[0] for v in values[:3])
    for size, what in ((bands, "bands"), (length, "elements of a transform")):
        refuse_where(builder, size, "slt", builder.index(0), f"a negative number of {what}")
    refuse_where(builder, rate, "slt", builder.index(1), "a sample rate below 1")
    for edge in values[3:]:
        refuse_other_count(builder, edge, 1, "an edge")
    rows = builder.insert(arith.AddiOp(builder.divide(length, 2), builder.index(1))).results[0]
    type_ = TensorType(element, [DYNAMIC_INDEX, DYNAMIC_INDEX])
    k = builder.kernel("mel_weights", values[3:], [type_], 4)
    edges = _Edges(k)
    count, _, _, height = k.sizes
    with k.loop(count) as band:
        low, centre, high = (edges.bin(k.add(band, k.index(i))) for i in range(3))
        with k.loop(height, parallel=True) as row:
            weight = _weight(k, row, low, centre, high)
            k.store(k.scalars.float_to(weight, element), k.outs[0], k.at(row, count, band))
    return builder.launch(k, values[3:], [builder.empty(type_, [rows, bands])], [bands, length, rate, rows])


class _Edges:
    """The frequencies between bands."""

    def __init__(self, k: KernelBody):
        self.k = k
        s = k.scalars
        self.low, high = (self._mel(s.float_to(s.widen(k.load(v, k.index(0))), f64)) for v in k.ins)
        parts = s.add_const(self._float(k.sizes[0]), 2.0)
        self.step = s.divf(s.sub(high, self.low), parts)

    def _float(self, index: Scalar) -> Scalar:
        return self.k.scalars.int_to_float(self.k.from_index(index, i64), f64, unsigned=False)

    def _mel(self, hertz: Scalar) -> Scalar:
        s = self.k.scalars
        log = s.unary(xmath.Log1pOp, s.mul_const(hertz, 1.0 / 700.0))
        return s.mul_const(log, 2595.0 / math.log(10.0))

    def bin(self, edge: Scalar) -> Scalar:
        """The number of an edge among the frequencies of the spectrum."""
        k, s = self.k, self.k.scalars
        mel = s.add(s.mul(self._float(edge), self.step), self.low)
        hertz = s.mul_const(s.unary(xmath.ExpM1Op, s.mul_const(mel, math.log(10.0) / 2595.0)), 700.0)
        scaled = s.mul(s.add_const(self._float(k.sizes[1]), 1.0), hertz)
        return s.unary(xmath.FloorOp, s.divf(scaled, self._float(k.sizes[2])))


def _weight(k: KernelBody, row: Scalar, low: Scalar, centre: Scalar, high: Scalar) -> Scalar:
    """The height of a triangle: it rises from `low` to `centre`, and falls until `high`."""
    s = k.scalars
    zero, one = s.const(0.0, f64), s.const(1.0, f64)
    at = s.int_to_float(k.from_index(row, i64), f64, unsigned=False)
    rise, fall = s.sub(centre, low), s.sub(high, centre)
    steep = s.cmp("eq", rise, zero)
    rising = s.divf(s.sub(at, low), s.select(steep, one, rise))
    rising = s.select(s.and_(s.cmp("ge", at, low), s.cmp("le", at, centre)), rising, zero)
    rising = s.select(steep, s.select(s.cmp("eq", at, centre), one, zero), rising)
    falls = s.and_(s.and_(s.cmp("gt", fall, zero), s.cmp("ge", at, centre)), s.cmp("lt", at, high))
    falling = s.divf(s.sub(high, at), s.select(s.cmp("gt", fall, zero), fall, one))
    return s.select(falls, falling, rising)
