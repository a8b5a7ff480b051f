"""How does an op without a kernel stay in a program? As a `loom.host` step that holds it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, NoneType, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from onnxloom.conversion.onnx_to_loom.plan_known import SHAPE_READERS, is_volatile
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.attributes import int_value
from onnxloom.dialects.onnx.captures import captured_values


def host_step(op: Operation, arguments: Sequence[tuple[SSAValue, SSAValue]], reason: str) -> loom.HostOp:
    """A step that evaluates a copy of `op`.

    `arguments` pairs each outer value the op reads (operands and captures, each once) with the
    program-level value that stands for it. Omitted operands are recreated inside.
    """
    block = Block(arg_types=[outer.type for _, outer in arguments])
    mapping: dict[SSAValue, SSAValue] = {
        inner: arg for (inner, _), arg in zip(arguments, block.args, strict=True)
    }
    for operand in (*op.operands, *captured_values(op)):
        if operand not in mapping and isinstance(operand.type, NoneType):
            absent = onnx.NoValueOp.make()
            block.add_op(absent)
            mapping[operand] = absent.results[0]
    copy = _as_standard(op, mapping)
    block.add_op(copy)
    # Omitted optional results have type none and no value.
    kept = [r for r in copy.results if not isinstance(r.type, NoneType)]
    block.add_op(loom.YieldOp.create(operands=kept))
    properties: dict[str, Attribute] = {"reason": StringAttr(reason)}
    if isinstance(op, SHAPE_READERS):
        properties["shape_only"] = ArrayAttr([IntegerAttr(0, 64)])
    if _volatile(op):
        properties["volatile"] = UnitAttr()
    return loom.HostOp.create(
        operands=[outer for _, outer in arguments],
        result_types=[r.type for r in kept],
        properties=properties,
        regions=[Region(block)],
    )


def _as_standard(op: Operation, mapping: dict[SSAValue, SSAValue]) -> Operation:
    if isinstance(op, onnx.DimOp):
        start = int_attr(op, "axis")
        return onnx.ShapeOp.create(
            operands=[mapping[op.data]],
            result_types=[op.dim.type],
            properties={"start": int_value(start), "end": int_value(start + 1)},
        )
    return op.clone(mapping)


def _volatile(op: Operation) -> bool:
    if is_volatile(op) or isinstance(op, onnx.CustomOp):
        return True
    return any(_volatile(nested) for region in op.regions for nested in region.walk())
