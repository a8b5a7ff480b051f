"""What do BatchNormalization, Mul and Add compute per channel: a scale, and a shift after it?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import bool_attr, float_attr
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.operands import other_operand
from onnxloom.transforms.patterns.weights.per_channel import per_channel
from onnxloom.transforms.rewriting.constants import Array
from onnxloom.transforms.rewriting.graph_index import GraphIndex


@dataclass(frozen=True)
class Affine:
    """`scale * x + shift`, in 64-bit floats, one of each per channel; None where there is none."""

    scale: Array | None
    shift: Array | None


def affine_of(
    graph: GraphIndex, op: Operation, data: SSAValue, rank: int, axis: int, channels: int
) -> Affine | Miss:
    """What `op` does to `data`, a tensor of that rank with so many channels along `axis`."""
    if isinstance(op, onnx.BatchNormalizationOp):
        return _normalization(graph, op, channels)
    constant = other_operand(op, data)
    if constant is None:
        return no_match(op, "both operands are the same value")
    array = graph.constant(constant)
    if array is None:
        return no_match(op, "the other operand is not constant")
    numbers = per_channel(array, rank, axis, channels)
    if numbers is None:
        return no_match(op, "the constant is not one number per channel")
    return Affine(None, numbers) if isinstance(op, onnx.AddOp) else Affine(numbers, None)


def _normalization(graph: GraphIndex, op: onnx.BatchNormalizationOp, channels: int) -> Affine | Miss:
    if bool_attr(op, "training_mode"):
        return no_match(op, "in training mode the statistics are those of the batch")
    arrays = [graph.constant(value) for value in (op.scale, op.B, op.input_mean, op.input_var)]
    if any(array is None or array.shape != (channels,) for array in arrays):
        return no_match(op, "the parameters are not constants with a number per channel")
    gamma, beta, mean, variance = (np.asarray(array, np.float64) for array in arrays)
    variance = variance + float_attr(op, "epsilon")
    if not (variance > 0).all():
        return no_match(op, "variance + epsilon is not positive everywhere")
    scale = gamma / np.sqrt(variance)
    return Affine(scale, beta - mean * scale)
