"""How much time does a convolution or pool save by working channels-last?

Rates were measured on one core of Zen 5, kernel by kernel in either order. They say which order is the faster
one and about by how much; another processor has others, in about the same proportion.
"""

from __future__ import annotations

import math
from typing import Final

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr
from onnxloom.transforms.fusion.spaces import shape_of
from onnxloom.transforms.layout.costs import sizes
from onnxloom.transforms.rewriting.graph_index import GraphIndex

LANES: Final = 16
"""Channels-last, so many output channels are computed at a time, needed or not."""

# FLOPs per nanosecond.
FIRST_RATE: Final = 200.0
"""Channels-first, with many output channels; NARROW of them give half of it."""

NARROW: Final = 6

LAST_RATE: Final = 250.0
ONE_VECTOR_RATE: Final = 180.0
"""Channels-last, with no more than LANES output channels."""

SHALLOW: Final = 3
"""Channels-last, a tap costs as much as so many of the elements that lie together for it."""

MERGED_CHANNELS: Final = 8
"""Up to so many input channels those of all columns of a window lie together."""

# Nanoseconds per element of the input, which channels-first is copied with its borders but for one tap.
COPY: Final = 0.16
STRIDED_COPY: Final = 0.3

WINOGRAD: Final = 2.5
"""How many times fewer products a 3x3 convolution takes, channels-last only."""

WINOGRAD_CHANNELS: Final = 16
"""From so many channels on."""

DEPTHWISE_FIRST_RATE: Final = 35.0
DEPTHWISE_LAST_RATE: Final = 100.0
STRIDED_FIRST_RATE: Final = 12.0
STRIDED_LAST_RATE: Final = 60.0

# Nanoseconds per element of the result and place of the window.
MAX_SAVED_PER_TAP: Final = 0.2
MEAN_SAVED_PER_TAP: Final = 0.1


def convolution_saves(graph: GraphIndex, op: onnx.ConvOp) -> float:
    """Nanoseconds; below 0 where the channels-first kernel is the faster one."""
    weights = shape_of(op.W)
    assert weights is not None
    groups = int_attr(op, "group")
    flops = 2.0 * math.prod(sizes(graph, op.Y)) * math.prod(weights[1:])
    if groups > 1 and weights[1] == 1:
        if _is_strided(op):
            return flops / STRIDED_FIRST_RATE - flops / STRIDED_LAST_RATE
        return flops / DEPTHWISE_FIRST_RATE - flops / DEPTHWISE_LAST_RATE
    channels = max(weights[0] // groups, 1)
    first = flops * (1 + NARROW / channels) / FIRST_RATE + _copy(graph, op, weights)
    padded = -(-channels // LANES) * LANES / channels
    rate = LAST_RATE if channels > LANES else ONE_VECTOR_RATE
    if _is_winograd(op, weights):
        rate *= WINOGRAD
    depth = weights[1] * (weights[-1] if weights[1] * groups <= MERGED_CHANNELS else 1)
    return first - flops * padded * (1 + SHALLOW / max(depth, 1)) / rate


def _copy(graph: GraphIndex, op: onnx.ConvOp, weights: tuple[int, ...]) -> float:
    """Nanoseconds of the copy that a channels-first convolution makes of its input."""
    if _is_strided(op):
        return STRIDED_COPY * math.prod(sizes(graph, op.X))
    is_one_tap = math.prod(weights[2:]) == 1 and not any(ints_attr(op, "pads") or ())
    return 0.0 if is_one_tap and int_attr(op, "group") == 1 else COPY * math.prod(sizes(graph, op.X))


def _is_winograd(op: onnx.ConvOp, weights: tuple[int, ...]) -> bool:
    return (
        weights[2:] == (3, 3)
        and int_attr(op, "group") == 1
        and not _is_strided(op)
        and set(ints_attr(op, "dilations") or ()) <= {1}
        and min(weights[:2]) >= WINOGRAD_CHANNELS
    )


def _is_strided(op: onnx.ConvOp) -> bool:
    return max(ints_attr(op, "strides") or (1,)) > 1


def pool_saves(graph: GraphIndex, op: Operation) -> float:
    """Nanoseconds."""
    dims = sizes(graph, op.results[0])
    taps = math.prod(dims) * math.prod(ints_attr(op, "kernel_shape") or ())
    per_tap = MAX_SAVED_PER_TAP if isinstance(op, onnx.MaxPoolOp) else MEAN_SAVED_PER_TAP
    return taps * per_tap * min(dims[1] / LANES, 1.0)
