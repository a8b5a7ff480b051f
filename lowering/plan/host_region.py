"""How does the region of a `loom.host` op become ONNX nodes that need no IR?"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import NoneType, StringAttr
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import loom
from onnxloom.dialects.onnx.constant import ConstantOp, constant_value
from onnxloom.dialects.onnx.structure import NoValueOp
from onnxloom.errors import ModelError
from onnxloom.lowering.plan.program import Array, HostNode


@dataclass(frozen=True)
class HostParts:
    """The nodes of a host step, the names they use for its operands and results, its own constants."""

    nodes: tuple[HostNode, ...]
    arg_names: tuple[str, ...]
    result_names: tuple[str, ...]
    constants: tuple[tuple[str, Array], ...]


def host_parts(op: loom.HostOp) -> HostParts:
    """The region of `op` as serialized nodes."""
    from onnxloom.conversion.onnx_export.node import op_to_node

    names: dict[SSAValue, str] = {arg: f"a{i}" for i, arg in enumerate(op.body.block.args)}
    nodes: list[HostNode] = []
    constants: list[tuple[str, Array]] = []
    for inner in op.body.block.ops:
        if isinstance(inner, loom.YieldOp):
            args = tuple(names[arg] for arg in op.body.block.args)
            results = tuple(names[value] for value in inner.values)
            return HostParts(tuple(nodes), args, results, tuple(constants))
        if isinstance(inner, NoValueOp):
            names[inner.results[0]] = ""
            continue
        for result in inner.results:
            names[result] = "" if isinstance(result.type, NoneType) else f"v{len(names)}"
        array = constant_value(inner.results[0]) if isinstance(inner, ConstantOp) else None
        if array is not None:
            constants.append((names[inner.results[0]], array))
            continue
        operands, results = [names[v] for v in inner.operands], [names[r] for r in inner.results]
        node = op_to_node(inner, operands, results, captured=names)
        nodes.append(HostNode(node.SerializeToString(), node.op_type, node.domain, node_name(inner)))
    raise ModelError("a loom.host region does not end in loom.yield")


def node_name(op: Operation) -> str:
    """The model's own name for an op, "" when it has none."""
    name = op.attributes.get("onnx_node_name")
    return name.data if isinstance(name, StringAttr) else ""
