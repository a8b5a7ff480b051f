"""0.5 * x * (1 + Tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) -> Gelu(x; approximate = "tanh")

The polynomial may have x in front, x * (1 + 0.044715 * x^2); powers may be products, in any order. Constants
may be rounded to f16. Nothing else reads a value in between.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Final

from onnxloom.transforms.patterns.activation.spellings import HALF_ROUNDED, half_of_product, square
from onnxloom.transforms.rewriting.declarative import (
    DeclarativePattern,
    Inputs,
    Match,
    Tensor,
    one_of,
    op,
    pattern,
)
from onnxloom.transforms.rewriting.pattern import Numerics

_SCALE: Final = sqrt(2 / pi)
_CUBIC: Final = 0.044715


class GeluTanhPattern(DeclarativePattern):
    min_opset = 20
    numerics = Numerics.TOLERANCE
    config = HALF_ROUNDED

    @pattern
    def with_tanh(x: Tensor) -> Tensor:
        quadratic = one_of(square(x) * _CUBIC, x * _CUBIC * x)
        cubic = one_of(one_of(op.Pow(x, 3), x * x * x) * _CUBIC, quadratic * x)
        factor = quadratic + 1
        inner = one_of((x + cubic) * _SCALE, x * _SCALE * factor, x * factor * _SCALE, x * (factor * _SCALE))
        return half_of_product(x, op.Tanh(inner) + 1)

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Gelu(inputs.x, approximate="tanh")
