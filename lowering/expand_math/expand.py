"""The pass: each f32 math op that has an expansion is replaced by arithmetic.

LLVM vectorises such arithmetic inside a loop, and never a call of the C library. Without a vector math
library this decides the speed of most elementwise kernels. f64 and the functions that are not in
the table stay calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import math
from xdsl.dialects.builtin import Float32Type, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from onnxloom.lowering.expand_math import exponential, logarithm, power, saturating, trigonometric
from onnxloom.lowering.expand_math.arithmetic import Arithmetic, Value

Expansion = Callable[..., Value]

NONPOSITIVE = "loom.nonpositive"
"""Unit attribute of a `math.exp` whose operand is known to be zero, negative or NaN."""

EXPANSIONS: dict[type[Operation], Expansion] = {
    math.ExpOp: exponential.exp,
    math.Exp2Op: exponential.exp2,
    math.ExpM1Op: exponential.expm1,
    math.SinhOp: exponential.sinh,
    math.CoshOp: exponential.cosh,
    math.LogOp: logarithm.log,
    math.Log2Op: logarithm.log2,
    math.Log10Op: logarithm.log10,
    math.Log1pOp: logarithm.log1p,
    math.AsinhOp: logarithm.asinh,
    math.AcoshOp: logarithm.acosh,
    math.AtanhOp: logarithm.atanh,
    math.TanhOp: saturating.tanh,
    math.ErfOp: saturating.erf,
    math.SinOp: trigonometric.sin,
    math.CosOp: trigonometric.cos,
    math.TanOp: trigonometric.tan,
    math.AsinOp: trigonometric.asin,
    math.AcosOp: trigonometric.acos,
    math.AtanOp: trigonometric.atan,
    math.PowFOp: power.pow,
}
"""The functions with an f32 expansion; each takes an `Arithmetic` and the operands."""


def _expansion(op: Operation) -> Expansion:
    if isinstance(op, math.ExpOp) and NONPOSITIVE in op.attributes:
        return exponential.exp_nonpositive
    return EXPANSIONS[type(op)]


def expand_math(root: Operation) -> int:
    """Expands all f32 math ops inside `root` in place; returns how many there were."""
    found = [op for op in root.walk() if type(op) in EXPANSIONS]
    count = 0
    for op in found:
        result = op.results[0]
        if not isinstance(result.type, Float32Type):
            continue
        arithmetic = Arithmetic(Builder(InsertPoint.before(op)))
        value = _expansion(op)(arithmetic, *op.operands)
        result.replace_all_uses_with(value)
        op.detach()
        op.erase()
        count += 1
    return count


@dataclass(frozen=True)
class ExpandMathPass(ModulePass):
    """Replaces f32 math functions by branch-free arithmetic that vectorises."""

    name = "expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_math(op)
