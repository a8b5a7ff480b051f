"""Which ops of other ONNX-dialect tools are ops of the standard under another name?

They exist while text is read only: `replace_foreign_ops` turns them into the standard's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from xdsl.dialects.builtin import ModuleOp, NoneType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import opt_prop_def, region_def, var_operand_def, var_result_def
from xdsl.rewriter import Rewriter

from onnxloom.dialects.onnx.fused import FusedOp
from onnxloom.dialects.onnx.op import OnnxOp, onnx_op
from onnxloom.dialects.onnx.ops import BatchNormalizationOp, MaxPoolOp
from onnxloom.dialects.onnx.structure import ReturnOp, YieldOp
from onnxloom.errors import ModelError


@onnx_op(since_version=1)
class _MaxPoolSingleOutOp(OnnxOp):
    """MaxPool without its second result."""

    name = "onnx.MaxPoolSingleOut"

    inputs = var_operand_def()
    outputs = var_result_def()
    auto_pad = opt_prop_def(Attribute)
    ceil_mode = opt_prop_def(Attribute)
    dilations = opt_prop_def(Attribute)
    kernel_shape = opt_prop_def(Attribute)
    pads = opt_prop_def(Attribute)
    storage_order = opt_prop_def(Attribute)
    strides = opt_prop_def(Attribute)


@onnx_op(since_version=1)
class _BatchNormalizationInferenceModeOp(OnnxOp):
    """BatchNormalization with one result."""

    name = "onnx.BatchNormalizationInferenceMode"

    inputs = var_operand_def()
    outputs = var_result_def()
    epsilon = opt_prop_def(Attribute)
    momentum = opt_prop_def(Attribute)


@onnx_op(since_version=1)
class _FusedOp(OnnxOp):
    """FusedOp under its shorter name."""

    name = "onnx.Fused"

    inputs = var_operand_def()
    outputs = var_result_def()
    kind = opt_prop_def(Attribute)
    body = region_def()


FOREIGN_OPS: Final[dict[str, type[Operation]]] = {
    op.name: op for op in (_MaxPoolSingleOutOp, _BatchNormalizationInferenceModeOp, _FusedOp)
}


def replace_foreign_ops(module: ModuleOp) -> None:
    """Replaces the ops above, and onnx.Return at the end of a region that is no function's body."""
    for op in list(module.walk()):
        replace = _REPLACEMENTS.get(op.name)
        if replace is not None:
            replace(op)


def _with_results(op: Operation, op_class: type[Operation], missing: int) -> None:
    made = op_class.create(
        operands=op.operands,
        result_types=[*op.result_types, *(NoneType() for _ in range(missing))],
        properties=op.properties,
        attributes=op.attributes,
        location=op.location,
        regions=[op.detach_region(region) for region in list(op.regions)],
    )
    for result, old in zip(made.results, op.results, strict=False):
        result.name_hint = old.name_hint
    Rewriter.replace_op(op, [made], list(made.results[: len(op.results)]))


def _max_pool(op: Operation) -> None:
    _with_results(op, MaxPoolOp, 1)


def _batch_normalization(op: Operation) -> None:
    _with_results(op, BatchNormalizationOp, 2)


def _fused(op: Operation) -> None:
    _with_results(op, FusedOp, 0)


def _return(op: Operation) -> None:
    parent = op.parent_op()
    if isinstance(op, ReturnOp) and isinstance(parent, OnnxOp):
        if op.results or op.regions:
            raise ModelError("onnx.Return has results or regions; expected operands only")
        made = YieldOp.create(operands=op.operands, attributes=op.attributes, location=op.location)
        Rewriter.replace_op(op, [made], [])


_REPLACEMENTS: Final[dict[str, Callable[[Operation], None]]] = {
    "onnx.MaxPoolSingleOut": _max_pool,
    "onnx.BatchNormalizationInferenceMode": _batch_normalization,
    "onnx.Fused": _fused,
    "onnx.Return": _return,
}
