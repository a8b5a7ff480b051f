"""Max(x, -x) -> Abs(x): a declarative rewrite pattern in a file of its own.

    onnxloom optimize model.onnx -o out.onnx --load-plugin abs_from_max.py

The function marked `@pattern` says what to look for. It runs once, when the class is made, on placeholders:
its parameters are what comes in from outside, what it returns is replaced. `replacement` says in the same
words what goes there. The sign of a zero may change, so the pattern is not exact.
"""

from onnxloom.transforms.miss import Miss, no_match
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


class AbsFromMaxPattern(DeclarativePattern):
    name = "ExampleAbsFromMax"
    numerics = Numerics.TOLERANCE
    min_opset = 6

    @pattern
    def larger(x: Tensor) -> Tensor:
        return op.Max(x, one_of(-x, x * -1))

    def requirements(self, match: Match) -> Miss | None:
        dtype = match.graph.dtype(match["x"])
        if dtype is None or dtype.kind != "f":
            return no_match(match.anchor, "integers wrap: minus the least one is itself")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Abs(inputs.x)
