"""One step of an optimizer: Adagrad, Adam, Momentum. Elementwise, but for one number.

That number follows from R, T and the attributes; a kernel of its own works it out in f64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import TensorType, f64
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, rank_of, shape_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, str_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars


@lowering(onnx.AdagradOp)
def lower_adagrad(op: onnx.AdagradOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """`H + G * G`, and X moved by G over its square root."""
    decay, epsilon = float_attr(op, "decay_factor"), float_attr(op, "epsilon")

    def rate(s: Scalars, r: Scalar, t: Scalar) -> Scalar:
        return s.divf(r, s.add_const(s.mul_const(t, decay), 1.0))

    def step(s: Scalars, n: Numbers, x: Scalar, g: Scalar, state: Sequence[Scalar]) -> Sequence[Scalar]:
        squares = s.add(state[0], s.mul(g, g))
        root = s.add_const(s.unary(xmath.SqrtOp, squares), epsilon)
        return [s.sub(x, s.divf(s.mul(n.made, g), root)), squares]

    return _steps(op, inputs, builder, 1, rate, step)


@lowering(onnx.AdamOp)
def lower_adam(op: onnx.AdamOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Both momentums, and X moved by the first over the square root of the second."""
    alpha, beta, epsilon = (float_attr(op, name) for name in ("alpha", "beta", "epsilon"))
    kept = 1 - float_attr(op, "norm_coefficient_post")

    def rate(s: Scalars, r: Scalar, t: Scalar) -> Scalar:
        def rest(base: float) -> Scalar:
            return s.sub(s.const(1.0, f64), s.emit(xmath.PowFOp(s.const(base, f64), t)))

        corrected = s.divf(s.mul(r, s.unary(xmath.SqrtOp, rest(beta))), rest(alpha))
        return s.select(s.cmp("gt", t, s.const(0.0, f64)), corrected, r)

    def step(s: Scalars, n: Numbers, x: Scalar, g: Scalar, state: Sequence[Scalar]) -> Sequence[Scalar]:
        momentum = s.add(s.mul_const(state[0], alpha), s.mul_const(g, 1 - alpha))
        squares = s.add(s.mul_const(state[1], beta), s.mul_const(s.mul(g, g), 1 - beta))
        root = s.add_const(s.unary(xmath.SqrtOp, squares), epsilon)
        moved = s.sub(x, s.mul(n.made, s.divf(momentum, root)))
        return [s.mul_const(moved, kept), momentum, squares]

    return _steps(op, inputs, builder, 2, rate, step)


@lowering(onnx.MomentumOp)
def lower_momentum(op: onnx.MomentumOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """`alpha * V + beta * G` (beta is 1 in the first step), and X moved by it; or as Nesterov has it."""
    alpha, beta = float_attr(op, "alpha"), float_attr(op, "beta")
    mode = str_attr(op, "mode", "standard")
    if mode not in ("standard", "nesterov"):
        raise Declined(f"Momentum has no mode {mode!r}")

    def weight(s: Scalars, r: Scalar, t: Scalar) -> Scalar:
        return s.select(s.cmp("gt", t, s.const(0.0, f64)), s.const(beta, f64), s.const(1.0, f64))

    def step(s: Scalars, n: Numbers, x: Scalar, g: Scalar, state: Sequence[Scalar]) -> Sequence[Scalar]:
        momentum = s.add(s.mul_const(state[0], alpha), s.mul(n.made, g))
        by = momentum if mode == "standard" else s.add(g, s.mul_const(momentum, alpha))
        return [s.sub(x, s.mul(n.rate, by)), momentum]

    return _steps(op, inputs, builder, 1, weight, step)


@dataclass(frozen=True)
class Numbers:
    """R, and what was made of it; in the type of the tensors."""

    rate: Scalar
    made: Scalar


def _steps(
    op: Operation,
    inputs: Inputs,
    builder: KernelBuilder,
    states: int,
    number: Callable[[Scalars, Scalar, Scalar], Scalar],
    step: Callable[[Scalars, Numbers, Scalar, Scalar, Sequence[Scalar]], Sequence[Scalar]],
) -> Sequence[SSAValue]:
    """One kernel for each tensor. The operands: R, T, all X, all G, then each of the `states` for all X.

    `step` gives the tensor and its states after the step. The gradient it gets is regularized.
    """
    present = [v for v in inputs if v is not None]
    count, rest = divmod(len(present) - 2, 2 + states)
    if rest or count < 1 or len(present) != len(inputs):
        raise Declined("each tensor needs its gradient and its states")
    rate, time = (_number(builder, v) for v in present[:2])
    norm = float_attr(op, "norm_coefficient")

    def made(s: Scalars, values: Sequence[Scalar]) -> Sequence[Scalar]:
        return [number(s, s.float_to(values[0], f64), s.int_to_float(values[1], f64, unsigned=False))]

    (factor,) = builder.map("optimizer_number", [rate, time], [TensorType(f64, [])], made)

    def body(s: Scalars, values: Sequence[Scalar]) -> Sequence[Scalar]:
        r, f, x, g, *state = values
        numbers = Numbers(s.float_to(r, x.type), s.float_to(f, x.type))
        return step(s, numbers, x, s.add(s.mul_const(x, norm), g), state)

    name = op.name.removeprefix("onnx.").lower()
    columns: list[Sequence[SSAValue]] = []
    for i in range(count):
        operands = present[2 + i :: count]
        types = [result.type for result in op.results[i::count]]
        columns.append(builder.map(name, [rate, factor, *operands], types, body))
    return [columns[i][k] for k in range(1 + states) for i in range(count)]


def _number(builder: KernelBuilder, value: SSAValue) -> SSAValue:
    """A tensor of one element as a scalar."""
    if rank_of(value) == 0:
        return value
    if list(shape_of(value)) != [1]:
        raise Declined("the rate and the count of steps have one element")
    return builder.view(value, [])
