"""What divides a value by the root of its own mean square, in all the ways exporters write it?

    value / deviation               PyTorch, Paddle, tf2onnx
    value * (1 / deviation)         T5, Llama, Keras
    value * ((1 / deviation) * scale)   Flax

LayerNormalization and InstanceNormalization have this part, with a value that is centered: x - ReduceMean(x).
RMSNormalization has it with one that is not.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.normalization.deviation import Deviation, match_deviation
from onnxloom.transforms.patterns.operands import other_operand
from onnxloom.transforms.patterns.reduced_axes import reduced_axes
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import Miss, no_match


@dataclass(frozen=True)
class Standardized:
    """`value / deviation`, times `scale` where there is one."""

    value: SSAValue
    deviation: Deviation
    scale: SSAValue | None
    output: SSAValue
    ops: tuple[Operation, ...]
    """From the square to the output. What is computed between them is read by these only."""


@dataclass(frozen=True)
class Centered:
    """`data - ReduceMean(data)`."""

    data: SSAValue
    ops: tuple[Operation, ...]
    """The mean, and the difference: twice where the value and what is squared are computed apart."""


def match_standardized(graph: GraphIndex, root: Operation) -> Standardized | Miss:
    """The standardization whose root is `root`."""
    deviation = match_deviation(graph, root)
    if isinstance(deviation, Miss):
        return deviation
    if not deviation.is_inverse:
        return _divided(graph, root, deviation)
    reader = graph.only_consumer(deviation.output)
    value = _other_factor(reader, deviation.output)
    if reader is None or value is None:
        return no_match(root, "the inverse deviation does not multiply one value alone")
    inner = Standardized(value, deviation, None, reader.results[0], (*deviation.ops, reader))
    if _is_same(value, deviation.squared):
        return inner
    reader = graph.only_consumer(inner.output)
    value = _other_factor(reader, inner.output)
    if reader is None or value is None or not _is_same(value, deviation.squared):
        return no_match(root, "what the inverse deviation multiplies is not what was squared")
    return Standardized(value, deviation, inner.value, reader.results[0], (*inner.ops, reader))


def _divided(graph: GraphIndex, root: Operation, deviation: Deviation) -> Standardized | Miss:
    reader = graph.only_consumer(deviation.output)
    if not isinstance(reader, onnx.DivOp):
        return no_match(root, "the deviation does not divide one value alone")
    if not _is_same(reader.A, deviation.squared):
        return no_match(root, "what the deviation divides is not what was squared")
    return Standardized(reader.A, deviation, None, reader.C, (*deviation.ops, reader))


def match_centered(
    graph: GraphIndex,
    deviation: Deviation,
    value: SSAValue,
    readers: Collection[Operation],
    mean_readers: Collection[Operation] = (),
) -> Centered | Miss:
    """What `value`, and what is squared under `deviation`, is centered from: along the same axes.

    The centered value is read by `readers` only, its mean by the difference and by `mean_readers`.
    """
    root = deviation.ops[-1]
    differences = _differences(value, deviation.squared)
    if not differences:
        return no_match(root, "the value is not a difference")
    data, center = differences[0].operands
    mean = graph.producer_of(center, onnx.ReduceMeanOp)
    if mean is None or mean.data is not data:
        return no_match(root, "the value is not centered by its own mean")
    if reduced_axes(graph, mean) != deviation.axes:
        return no_match(root, "the mean and the deviation are of different axes")
    if not graph.is_used_only_by(center, (*differences, *mean_readers)):
        return no_match(root, "the mean is read elsewhere")
    if not all(graph.is_used_only_by(difference.results[0], readers) for difference in differences):
        return no_match(root, "the centered value is read elsewhere")
    return Centered(data, (mean, *differences))


def _differences(value: SSAValue, squared: SSAValue) -> tuple[Operation, ...]:
    """The Subs that compute the two, one where they are the same; empty where they are no Subs."""
    owners = dict.fromkeys((value.owner, squared.owner))
    return tuple(owner for owner in owners if isinstance(owner, onnx.SubOp))


def _is_same(a: SSAValue, b: SSAValue) -> bool:
    """Whether two values are one, or two differences of the same operands."""
    if a is b:
        return True
    first, second = a.owner, b.owner
    if not isinstance(first, onnx.SubOp) or not isinstance(second, onnx.SubOp):
        return False
    return first.A is second.A and first.B is second.B


def _other_factor(op: Operation | None, known: SSAValue) -> SSAValue | None:
    return other_operand(op, known) if isinstance(op, onnx.MulOp) else None
