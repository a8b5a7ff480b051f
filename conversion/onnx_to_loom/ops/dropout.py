"""Dropout: what it drops is drawn on the host; where it drops nothing, nothing is drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import NoneType, TensorType, i1
from xdsl.ir import Block, Region, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, program_constant, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.host import host_step
from onnxloom.conversion.onnx_to_loom.moving.copying import fill
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.semantics.scalars import KERNEL_FLOATS, Scalar, Scalars

REASON = "what is dropped is drawn in Python, as the seed asks for"


@lowering(onnx.DropoutOp)
def lower_dropout(op: onnx.DropoutOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """The data and a mask of ones; drawn where an operand says so when the plan runs."""
    data, ratio, training = [*inputs, None, None][:3]
    assert data is not None
    ratios = np.full(1, 0.5) if ratio is None else program_constant(ratio)
    modes = np.zeros(1, np.bool_) if training is None else program_constant(training)
    if (modes is not None and not modes.any()) or (ratios is not None and not ratios.any()):
        return _kept(op, builder, data)
    if modes is not None and ratios is not None:
        raise Declined(REASON)
    drops = _drops(builder, ratio if ratios is None else None, training if modes is None else None)
    drawn, kept = Block(), Block()
    present = [r for r in op.results if not isinstance(r.type, NoneType)]
    pairs = [(o, v) for o, v in zip(op.operands, inputs, strict=True) if v is not None]
    step = host_step(op, list(dict(pairs).items()), REASON)
    drawn.add_op(step)
    drawn.add_op(loom.YieldOp.create(operands=step.results))
    nothing = _kept(op, builder.nested(kept), data)
    kept.add_op(loom.YieldOp.create(operands=nothing[: len(present)]))
    branches = loom.IfOp.create(
        operands=[drops],
        result_types=[r.type for r in present],
        regions=[Region(drawn), Region(kept)],
    )
    return builder.insert(branches).results


def _kept(op: onnx.DropoutOp, builder: KernelBuilder, data: SSAValue) -> list[SSAValue]:
    if isinstance(op.mask.type, NoneType):
        return [data]
    dims = builder.dims(data)
    mask = builder.empty(ranked(op.mask.type, "the mask"), dims)
    return [data, fill(builder, mask, dims, builder.constant(np.ones((), np.bool_)))]


def _drops(builder: KernelBuilder, ratio: SSAValue | None, training: SSAValue | None) -> SSAValue:
    """One boolean: whether the operands that are not known ask for drops."""
    values = [builder.view(v, []) for v in (ratio, training) if v is not None]
    if ratio is not None and not isinstance(ranked(ratio.type, "the ratio").element_type, KERNEL_FLOATS):
        raise Declined(REASON)

    def body(s: Scalars, x: Sequence[Scalar]) -> Sequence[Scalar]:
        found = s.to_bool(s.widen(x[0]))
        for value in x[1:]:
            found = s.and_(found, s.to_bool(value))
        return [found]

    return builder.map("drops", values, [TensorType(i1, [])], body)[0]
