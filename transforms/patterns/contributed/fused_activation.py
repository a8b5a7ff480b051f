"""Which activation is fused to a contributed Conv or Gemm? By name, with its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.rewriting.declarative import Match, Tensor, op

_FUNCTIONS: Final[dict[str, Callable[[Tensor, Sequence[float]], Tensor]]] = {
    "Relu": lambda x, _: op.Relu(x),
    "Sigmoid": lambda x, _: op.Sigmoid(x),
    "Tanh": lambda x, _: op.Tanh(x),
    "LeakyRelu": lambda x, p: op.LeakyRelu(x, alpha=p[0] if p else 0.01),
    "HardSigmoid": lambda x, p: op.HardSigmoid(x, alpha=p[0], beta=p[1]) if len(p) > 1 else op.HardSigmoid(x),
    "HardSwish": lambda x, _: op.HardSwish(x),
    "Clip": lambda x, p: op.Clip(x, p[0], p[1]),
    "Elu": lambda x, p: op.Elu(x, alpha=p[0] if p else 1.0),
    "Selu": lambda x, p: op.Selu(x, alpha=p[0], gamma=p[1]) if len(p) > 1 else op.Selu(x),
    "Softplus": lambda x, _: op.Softplus(x),
    "Softsign": lambda x, _: op.Softsign(x),
    "ThresholdedRelu": lambda x, p: op.ThresholdedRelu(x, alpha=p[0] if p else 1.0),
    "ParametricSoftplus": lambda x, p: op.Softplus(x * p[1]) * p[0],
    "ScaledTanh": lambda x, p: op.Tanh(x * p[1]) * p[0],
}

_NEEDS_TWO: Final = ("Clip", "ParametricSoftplus", "ScaledTanh")
"""Activations without defaults."""


def activated(match: Match, x: Tensor, name: str | None, numbers: Sequence[float]) -> Tensor | Miss:
    """`name`(x), where None or nothing leaves x as it is."""
    if not name:
        return x
    function = _FUNCTIONS.get(name)
    if function is None or (name in _NEEDS_TWO and len(numbers) < 2):
        return no_match(match.anchor, f"the fused activation {name!r} is not known")
    return function(x, numbers)
