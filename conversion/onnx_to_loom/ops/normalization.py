"""Ops that center and scale: LayerNormalization, RMSNormalization, Instance-, GroupNormalization."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import Float64Type, TensorType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    rank_of,
    ranked,
    reassociated,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.reductions.normalizing import Normalization, Parameter, normalize_rows
from onnxloom.conversion.onnx_to_loom.reductions.reducing import Pass
from onnxloom.conversion.onnx_to_loom.reductions.reductions import count_as
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, int_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars


def _wide(storage: Attribute) -> Attribute:
    return storage if isinstance(storage, Float64Type) else f32


def _mean_pass(wide: Attribute) -> Pass:
    return Pass(
        [wide],
        lambda s: [s.const(0.0, wide)],
        lambda s, acc, x, j, earlier: [reassociated(s.add(acc[0], s.widen(x)))],
        lambda s, acc, count, earlier: s.divf(acc[0], count_as(s, count, wide)),
    )


def _inverse_deviation_pass(wide: Attribute, epsilon: float, centered: bool) -> Pass:
    """1 / sqrt(mean((x - mean)^2) + epsilon), or of x^2 where nothing is subtracted."""

    def step(
        s: Scalars, acc: Sequence[Scalar], x: Scalar, j: Scalar, earlier: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        value = s.sub(s.widen(x), earlier[0]) if centered else s.widen(x)
        return [reassociated(s.add(acc[0], s.mul(value, value)))]

    def finish(s: Scalars, acc: Sequence[Scalar], count: Scalar, earlier: Sequence[Scalar]) -> Scalar:
        variance = s.divf(acc[0], count_as(s, count, wide))
        root = s.unary(xmath.SqrtOp, s.add_const(variance, epsilon))
        return s.divf(s.const(1.0, wide), root)

    return Pass([wide], lambda s: [s.const(0.0, wide)], step, finish)


def norm_rule(
    name: str, storage: Attribute, result: Attribute, epsilon: float, centered: bool, parameters: int
) -> Normalization:
    """(x - mean) * inverse deviation * scale + bias, with as many `parameters` of these as there are."""
    wide = _wide(storage)
    passes = [_mean_pass(wide)] if centered else []
    passes.append(_inverse_deviation_pass(wide, epsilon, centered))

    def write(s: Scalars, x: Scalar, j: Scalar, r: Sequence[Scalar], params: Sequence[Scalar]) -> Scalar:
        value = s.sub(s.widen(x), r[0]) if centered else s.widen(x)
        value = s.mul(value, r[-1])
        if parameters > 0:
            value = s.mul(value, s.float_to(params[0], wide))
        if parameters > 1:
            value = s.add(value, s.float_to(params[1], wide))
        return s.float_to(value, result)

    return Normalization(name, passes, write)


def _covers(builder: KernelBuilder, parameter: SSAValue, data: SSAValue, axis: int) -> None:
    if list(builder.dim_keys(parameter)) != list(builder.dim_keys(data)[axis:]):
        raise Declined("scale or bias is not proven to have the normalized dims")


def lower_layer_norm(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """LayerNormalization with its optional outputs, RMSNormalization."""
    data, *rest = inputs
    assert data is not None
    parameters = [p for p in rest if p is not None]
    storage, result = buffer_element(data.type), buffer_element(op.results[0].type)
    rank = rank_of(data)
    axis = int_attr(op, "axis", -1) % rank
    for parameter in parameters:
        _covers(builder, parameter, data, axis)
    if int_attr(op, "stash_type", 1) not in (1, 11):
        raise Declined("a stash type other than float has no kernel")
    centered = isinstance(op, onnx.LayerNormalizationOp)
    name = "layer_norm" if centered else "rms_norm"
    rule = norm_rule(name, storage, result, float_attr(op, "epsilon", 1e-5), centered, len(parameters))
    dims, one = builder.dims(data), builder.index(1)
    extra = [i for i, r in enumerate(op.results) if i and isinstance(r.type, TensorType) and r.uses]
    row_outputs: list[tuple[Attribute, Sequence[SSAValue]]] = []
    for i in extra:
        type_ = ranked(op.results[i].type, "a result")
        if buffer_element(type_) != _wide(storage):
            raise Declined("Mean and InvStdDev of a type other than the stash type have no kernel")
        row_dims = [*dims[:axis], *[one] * (rank - axis)]
        row_outputs.append((type_, exact_dims(builder, type_, row_dims)))
    rule = Normalization(rule.name, rule.passes, rule.write, row_results=[i - 1 for i in extra])
    filled = normalize_rows(
        builder, rule, data, op.results[0].type,
        rows=builder.multiply(dims[:axis]), channels=one, chunks=one, chunk=builder.multiply(dims[axis:]),
        parameters=[Parameter(p, per_channel=False) for p in parameters], row_outputs=row_outputs,
    )  # fmt: skip
    # Outputs that nothing reads stand for themselves.
    made = dict(zip([0, *extra], filled, strict=True))
    return [made.get(i, filled[0]) for i in range(len(op.results))]


def lower_channel_norm(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """InstanceNormalization and GroupNormalization: scale and bias per channel."""
    data, scale, bias = inputs
    assert data is not None and scale is not None and bias is not None
    storage, result = buffer_element(data.type), buffer_element(op.results[0].type)
    n, c, *space = builder.dims(data)
    one = builder.index(1)
    for parameter in (scale, bias):
        if rank_of(parameter) != 1:
            raise Declined("scale or bias is no vector")
        size = builder.dim(parameter, 0)
        refuse_where(builder, size, "ne", c, "scale or bias does not have an element per channel")
    grouped = isinstance(op, onnx.GroupNormalizationOp)
    groups = builder.index(int_attr(op, "num_groups")) if grouped else c
    chunks = builder.divide(c, int_attr(op, "num_groups")) if grouped else one
    if grouped:
        message = f"the channels are not {int_attr(op, 'num_groups')} groups of one size"
        refuse_where(builder, builder.multiply([groups, chunks]), "ne", c, message)
    name = "group_norm" if grouped else "instance_norm"
    rule = norm_rule(name, storage, result, float_attr(op, "epsilon", 1e-5), True, 2)
    return normalize_rows(
        builder, rule, data, op.results[0].type,
        rows=builder.multiply([n, groups]), channels=groups, chunks=chunks, chunk=builder.multiply(space),
        parameters=[Parameter(scale, per_channel=True), Parameter(bias, per_channel=True)],
    )  # fmt: skip


layer_norm = lowering(onnx.LayerNormalizationOp, onnx.RMSNormalizationOp)(lower_layer_norm)
channel_norm = lowering(onnx.InstanceNormalizationOp, onnx.GroupNormalizationOp)(lower_channel_norm)
