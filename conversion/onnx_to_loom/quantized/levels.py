"""How do quantizations run in the body of a kernel? Levels stay floats from one to the next.

A QuantizeLinear whose result a DequantizeLinear of the same zero point reads gives it the level: the integer
in between is made only where something else reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.dialects.onnx.semantics import scalar_semantics
from onnxloom.dialects.onnx.semantics.quantization import gives_level, quantized_level
from onnxloom.dialects.onnx.semantics.quantized_levels import from_level
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, as_integer
from onnxloom.dialects.onnx.semantics.semantics import element_type


class Levels:
    """Computes the ops of a body, keeping the levels of quantized tensors."""

    def __init__(self, builder: KernelBuilder, results: Collection[SSAValue]):
        """`results` are read by more than the ops."""
        self.builder, self.results = builder, results
        self.levels: dict[SSAValue, Scalar] = {}

    def apply(self, s: Scalars, ops: Sequence[Operation], values: dict[SSAValue, Scalar]) -> None:
        """As `KernelBuilder.apply`. Raises Declined."""
        for op in ops:
            if isinstance(op, onnx.QuantizeLinearOp) and scalar_semantics(op) and gives_level(op):
                operands = [values[v] if not is_none(v) else None for v in op.operands]
                self.keep(s, op, quantized_level(s, op, [v for v in operands if v is not None]), values)
            elif isinstance(op, onnx.DequantizeLinearOp) and self._reads_level(op):
                values[op.y] = s.mul(self.levels[op.x], values[op.x_scale])
            else:
                self.builder.apply(s, [op], values)

    def keep(
        self, s: Scalars, op: onnx.QuantizeLinearOp, level: Scalar, values: dict[SSAValue, Scalar]
    ) -> None:
        """Notes what `op` gives; the integer, too, if something reads it."""
        self.levels[op.y] = level
        readers = [use.operation for use in op.y.uses]
        if op.y in self.results or not all(_is_level_reader(op, reader) for reader in readers):
            target = as_integer(element_type(op.y))
            assert target is not None
            zero = None if is_none(op.y_zero_point) else values[op.y_zero_point]
            values[op.y] = from_level(s, level, zero, target)

    def _reads_level(self, op: onnx.DequantizeLinearOp) -> bool:
        source = op.x.owner
        return (
            op.x in self.levels and isinstance(source, onnx.QuantizeLinearOp) and _is_level_reader(source, op)
        )


def _is_level_reader(op: onnx.QuantizeLinearOp, reader: Operation) -> bool:
    """Whether an op is a dequantization to f32 with one scale and the zero point of `op`."""
    if not isinstance(reader, onnx.DequantizeLinearOp) or scalar_semantics(reader) is None:
        return False
    scale = constant_value(reader.x_scale)
    if scale is None or scale.dtype != np.float32 or element_type(reader.y) != f32:
        return False
    mine, its = op.y_zero_point, reader.x_zero_point
    if mine is its or (is_none(mine) and is_none(its)):
        return True
    zeros = constant_value(mine), constant_value(its)
    return zeros[0] is not None and zeros[1] is not None and np.array_equal(zeros[0], zeros[1])
