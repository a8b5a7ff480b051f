"""Pass `expand-math`: f32 math functions become branch-free arithmetic.

| function | largest error in ulp, over all f32 arguments |
|---|---|
| exp, exp2, log, powf | 1 to 1.5 |
| expm1, log1p, log2, log10, cosh, sin, cos | 2 |
| sinh, asin, acos, atan | 2.5 |
| asinh, acosh, atanh | 3 |
| tan | 3.5 |
| tanh, erf | 5 (next to 1; elsewhere 3 to 4) |

NaN, infinities, denormals and -0.0 are as in the C library (test/lowering/expand_math).
"""

from onnxloom.lowering.expand_math.expand import ExpandMathPass, expand_math

__all__ = ["ExpandMathPass", "expand_math"]
