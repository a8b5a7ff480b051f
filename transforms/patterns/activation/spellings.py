"""How are the pieces spelled that several activations have in common?"""

from __future__ import annotations

from onnxloom.transforms.rewriting.declarative import MatcherConfig, Tensor, one_of, op

HALF_ROUNDED = MatcherConfig(rtol=5e-4)
"""Constants may be rounded to f16, as in models that were converted from it."""


def half_of_product(x: Tensor, gate: Tensor) -> Tensor:
    """`x * gate / 2`, whichever factor is halved, and whenever."""
    return one_of(
        one_of(x * 0.5, x / 2) * gate,
        one_of(x * gate * 0.5, x * gate / 2),
        x * one_of(gate * 0.5, gate / 2),
    )


def square(x: Tensor) -> Tensor:
    """`x * x`."""
    return one_of(op.Pow(x, 2), x * x)


def clipped_to_six(x: Tensor) -> Tensor:
    """`min(max(x, 0), 6)`, also known as Relu6."""
    return one_of(
        op.Clip(x, 0, 6),
        op.Min(one_of(op.Relu(x), op.Max(x, 0), op.Clip(x, 0)), 6),
        op.Clip(one_of(op.Relu(x), op.Max(x, 0)), None, 6),
    )
