"""Pass `expand-math`: f32 math functions become branch-free arithmetic."""

from onnxloom.lowering.expand_math.expand import ExpandMathPass, expand_math

__all__ = ["ExpandMathPass", "expand_math"]
