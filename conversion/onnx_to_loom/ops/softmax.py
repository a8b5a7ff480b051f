"""Ops that look at all elements along one axis: Softmax, LogSoftmax, Hardmax, LpNormalization."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import UnitAttr, f32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    rank_of,
    ranked,
    reassociated,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.reductions.normalizing import Normalization, normalize_axis
from onnxloom.conversion.onnx_to_loom.reductions.reducing import Pass
from onnxloom.conversion.onnx_to_loom.reductions.reductions import arg_extreme
from onnxloom.conversion.onnx_to_loom.reductions.softmax_rows import softmax_rows
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, compute_type


def _largest(wide: Attribute) -> Pass:
    return Pass(
        [wide],
        lambda s: [s.const(-math.inf, wide)],
        lambda s, acc, x, j, earlier: [s.maximum(acc[0], s.widen(x))],
        lambda s, acc, count, earlier: acc[0],
    )


def sum_pass(
    wide: Attribute, term: Callable[[Scalars, Scalar, Sequence[Scalar]], Scalar] | None = None
) -> Pass:
    """The sum of the elements, or of `term(scalars, element, earlier results)`."""

    def step(
        s: Scalars, acc: Sequence[Scalar], x: Scalar, j: Scalar, earlier: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        value = s.widen(x) if term is None else term(s, s.widen(x), earlier)
        return [reassociated(s.add(acc[0], value))]

    return Pass([wide], lambda s: [s.const(0.0, wide)], step, lambda s, acc, count, earlier: acc[0])


def _inverse_sum(wide: Attribute) -> Pass:
    """1 / sum: a division per row, a multiplication per element (the sum is at least 1)."""
    total = sum_pass(wide)
    return Pass(
        [wide],
        total.init,
        total.step,
        lambda s, acc, count, earlier: s.divf(s.const(1.0, wide), acc[0]),
    )


def _exp_shifted(s: Scalars, x: Scalar, earlier: Sequence[Scalar]) -> Scalar:
    value = s.unary(xmath.ExpOp, s.sub(s.widen(x), earlier[0]))
    if isinstance(value.owner, xmath.ExpOp):
        value.owner.attributes["loom.nonpositive"] = UnitAttr()  # nothing exceeds the maximum
    return value


def softmax_rule(storage: Attribute) -> Normalization:
    """exp(x - max) / sum(exp(x - max)); half-width floats compute the exponential twice."""
    wide = compute_type(storage)
    if wide == storage:
        return Normalization(
            "softmax",
            [_largest(wide), _inverse_sum(wide)],
            lambda s, e, j, r, p: s.mul(e, r[1]),
            staged=_exp_shifted,
        )
    return Normalization(
        "softmax",
        [_largest(wide), sum_pass(wide, _exp_shifted)],
        lambda s, x, j, r, p: s.float_to(s.divf(_exp_shifted(s, x, r), r[1]), storage),
    )


def log_softmax_rule(storage: Attribute) -> Normalization:
    """x - max - log(sum(exp(x - max)))."""
    wide = compute_type(storage)
    total = sum_pass(wide, _exp_shifted)
    log = Pass(
        total.types,
        total.init,
        total.step,
        lambda s, acc, count, earlier: s.unary(xmath.LogOp, acc[0]),
    )
    return Normalization(
        "log_softmax",
        [_largest(wide), log],
        lambda s, x, j, r, p: s.float_to(s.sub(s.sub(s.widen(x), r[0]), r[1]), storage),
    )


def _hardmax_rule(element: Attribute, storage: Attribute) -> Normalization:
    def write(s: Scalars, x: Scalar, j: Scalar, r: Sequence[Scalar], p: Sequence[Scalar]) -> Scalar:
        hit = s.cmp("eq", s.emit(arith.IndexCastOp(j, i64)), r[-1])
        return s.select(hit, s.const(1.0, storage), s.const(0.0, storage))

    return Normalization("hardmax", arg_extreme(element, largest=True, last=False).passes, write)


def _lp_rule(storage: Attribute, p: int) -> Normalization:
    wide = compute_type(storage)

    def term(s: Scalars, x: Scalar, earlier: Sequence[Scalar]) -> Scalar:
        return s.abs(x) if p == 1 else s.mul(x, x)

    total = sum_pass(wide, term)

    def finish(s: Scalars, acc: Sequence[Scalar], count: Scalar, earlier: Sequence[Scalar]) -> Scalar:
        return acc[0] if p == 1 else s.unary(xmath.SqrtOp, acc[0])

    def write(s: Scalars, x: Scalar, j: Scalar, r: Sequence[Scalar], params: Sequence[Scalar]) -> Scalar:
        zero = s.const(0.0, wide)
        value = s.select(s.cmp("eq", r[0], zero), zero, s.divf(s.widen(x), r[0]))
        return s.float_to(value, storage)

    return Normalization(f"lp{p}_norm", [Pass(total.types, total.init, total.step, finish)], write)


def lower_along_axis(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Softmax, LogSoftmax, Hardmax, LpNormalization."""
    (data,) = inputs
    assert data is not None
    storage = buffer_element(data.type)
    rank = rank_of(data)
    if rank == 0:
        raise Declined("an axis of a tensor without dims")
    axis = int_attr(op, "axis", -1) % rank
    if isinstance(op, onnx.SoftmaxOp):
        if storage == f32 and op.results[0].type == data.type:
            dims = builder.dims(data)
            if builder.multiply(dims[axis + 1 :]) is builder.index(1):
                return [softmax_rows(builder, data, builder.multiply(dims[:axis]), dims[axis])]
        rule = softmax_rule(storage)
    elif isinstance(op, onnx.LogSoftmaxOp):
        rule = log_softmax_rule(storage)
    elif isinstance(op, onnx.HardmaxOp):
        rule = _hardmax_rule(ranked(data.type, "the operand").element_type, storage)
    else:
        p = int_attr(op, "p", 2)
        if p not in (1, 2):
            raise Declined(f"LpNormalization with p = {p} has no kernel")
        rule = _lp_rule(storage, p)
    return [normalize_axis(builder, rule, data, op.results[0].type, axis)]


along_axis = lowering(onnx.SoftmaxOp, onnx.LogSoftmaxOp, onnx.HardmaxOp, onnx.LpNormalizationOp)(
    lower_along_axis
)
