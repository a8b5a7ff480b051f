"""Pools of quantized tensors as pools of floats, channels first or last."""

from __future__ import annotations

from collections.abc import Callable

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.nhwc_max_pool import channels_first, channels_last
from onnxloom.transforms.patterns.contributed.qlinear import dequantized, quantized
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor

OPERANDS = ("X", "x_scale", "x_zero_point", "y_scale", "y_zero_point")


def quantized_pool(inputs: Inputs, match: Match, pool: Callable[[Tensor], Tensor]) -> Tensor | Miss:
    """QuantizeLinear(pool(DequantizeLinear(X))), in the layout that attribute `channels_last` says."""
    rank = match.graph.rank(match["X"])
    is_last = bool(match.attribute("channels_last"))
    if is_last and (rank is None or rank < 3):
        return no_match(match.anchor, "the rank of the input is not known, or has no spatial dims")
    x = dequantized(inputs, "X", "x")
    if is_last:
        assert rank is not None
        y = channels_last(pool(channels_first(x, rank)), rank)
    else:
        y = pool(x)
    return quantized(match, y, "y", like="X")
