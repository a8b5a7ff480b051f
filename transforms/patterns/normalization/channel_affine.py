"""Which scale and bias per channel are applied to a value: `value * scale + bias`?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.normalization.parameters import Array, channel_parameter
from onnxloom.transforms.patterns.operands import other_operand
from onnxloom.transforms.rewriting.graph_index import GraphIndex


@dataclass(frozen=True)
class ChannelAffine:
    """Constants, a number per channel; None where there is no such op."""

    scale: Array | None
    bias: Array | None
    output: SSAValue
    ops: tuple[Operation, ...]

    def filled(self, channels: int, dtype: np.dtype[Any]) -> tuple[Array, Array]:
        """Scale and bias, ones and zeros where there is none."""
        scale = np.ones(channels, dtype) if self.scale is None else self.scale
        return scale, np.zeros(channels, dtype) if self.bias is None else self.bias


def channel_affine(graph: GraphIndex, value: SSAValue) -> ChannelAffine:
    """The Mul and the Add that follow `value`, as far as they are there and nothing else reads between."""
    found = ChannelAffine(None, None, value, ())
    mul = graph.only_consumer(value)
    if isinstance(mul, onnx.MulOp):
        scale = _beside(graph, mul, value)
        if scale is None:
            return found
        found = ChannelAffine(scale, None, mul.C, (mul,))
    add = graph.only_consumer(found.output)
    bias = _beside(graph, add, found.output) if isinstance(add, onnx.AddOp) else None
    if add is None or bias is None:
        return found
    return ChannelAffine(found.scale, bias, add.results[0], (*found.ops, add))


def _beside(graph: GraphIndex, op: Operation, value: SSAValue) -> Array | None:
    other = other_operand(op, value)
    return None if other is None else channel_parameter(graph, other, value)
