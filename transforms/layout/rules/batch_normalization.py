"""BatchNormalization(x, scale, B, mean, var) -> Add(Mul(x, a), b), `a` and `b` along the last axis.

The parameters are constants: `a` is scale / sqrt(var + epsilon), `b` is B - mean * a, each rounded once. A
BatchNormalization itself has its channels along axis 1, always.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import bool_attr, float_attr
from onnxloom.transforms.dim_analysis.facts import element_type
from onnxloom.transforms.layout.axes import last_type
from onnxloom.transforms.layout.editor import LayoutEditor, known_array
from onnxloom.transforms.layout.rule import Follow, LayoutRule
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex


class BatchNormalizationRule(LayoutRule):
    """A BatchNormalization with constant statistics."""

    ops: ClassVar[tuple[type[Operation], ...]] = (onnx.BatchNormalizationOp,)

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        assert isinstance(op, onnx.BatchNormalizationOp)
        if bool_attr(op, "training_mode"):
            return Miss("in training mode the statistics are those of the batch")
        if any(result.first_use is not None for result in op.results[1:]):
            return Miss("its statistics are read")
        if any(known_array(value) is None for value in op.operands[1:]):
            return Miss("its parameters are not constant")
        if any(element_type(value.type) != element_type(op.X.type) for value in op.operands[1:]):
            return Miss("its parameters are of another type than its input")
        return Follow((op.X,), (op.Y,))

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        assert isinstance(op, onnx.BatchNormalizationOp)
        arrays = [known_array(value) for value in op.operands[1:]]
        scale, bias, mean, variance = (np.asarray(array, np.float64) for array in arrays)
        with np.errstate(all="ignore"):
            factor = scale / np.sqrt(variance + float_attr(op, "epsilon"))
            shift = bias - mean * factor
        type_ = last_type(op.Y)
        assert arrays[0] is not None
        dtype = arrays[0].dtype
        x = editor.last(op.X)
        scaled = editor.make(onnx.MulOp, [x, editor.constant(factor.astype(dtype))], [type_]).C
        shifted = editor.make(
            onnx.AddOp, [scaled, editor.constant(shift.astype(dtype))], [type_], name_from=op
        )
        editor.give(op.Y, shifted.C)


RULES = (BatchNormalizationRule(),)
