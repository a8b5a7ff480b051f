"""How do If, Loop and Scan look in a program? Ops of the same meaning whose bodies are converted too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr

if TYPE_CHECKING:
    from onnxloom.conversion.onnx_to_loom.block_converter import BlockConverter

CONTROL_FLOW = (onnx.IfOp, onnx.LoopOp, onnx.ScanOp)


def control_flow_op(
    op: Operation, inputs: Sequence[SSAValue | None], converter: BlockConverter
) -> Sequence[SSAValue]:
    """The results of an If, Loop or Scan as program values."""
    regions = [Region(_converted(region.block, converter)) for region in op.regions]
    types = [r.type for r in op.results]
    if isinstance(op, onnx.IfOp):
        branches = {"then": op.then_branch, "else": op.else_branch}
        order = [list(op.regions).index(branches[b]) for b in ("then", "else")]
        made = loom.IfOp.create(
            operands=_values(inputs), result_types=types, regions=[regions[i] for i in order]
        )
    elif isinstance(op, onnx.LoopOp):
        absent = [converter.absent() if v is None else v for v in inputs[:2]]
        made = loom.LoopOp.create(
            operands=[*absent, *_values(inputs[2:])], result_types=types, regions=regions
        )
    else:
        made = loom.ScanOp.create(
            operands=_values(inputs),
            result_types=types,
            regions=regions,
            properties={"params": _scan_params(op)},
        )
    return converter.builder.insert(made).results


def _values(inputs: Sequence[SSAValue | None]) -> list[SSAValue]:
    return [v for v in inputs if v is not None]


def _converted(block: Block, converter: BlockConverter) -> Block:
    result = Block(arg_types=[a.type for a in block.args])
    nested = converter.nested(result)
    for old, new in zip(block.args, result.args, strict=True):
        nested.bind(old, new)
    result.add_op(loom.YieldOp.create(operands=nested.block(block)))
    return result


def _scan_params(op: Operation) -> DictionaryAttr:
    params = {"num_scan_inputs": IntegerAttr(int_attr(op, "num_scan_inputs"), 64)}
    lists = ("scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions")
    arrays = {
        name: ArrayAttr([IntegerAttr(v, 64) for v in values])
        for name in lists
        if (values := ints_attr(op, name)) is not None
    }
    return DictionaryAttr({**params, **arrays})
