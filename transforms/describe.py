"""What is an op called in messages and reports?"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from onnxloom.dialects.onnx import CustomOp


def describe(op: Operation) -> str:
    """`onnx.Add "encoder/add"`, with the type of the result where the node has no name.

    An op of another domain is called by that: `my.domain.Scale "n1"`.
    """
    kind = _foreign_name(op) if isinstance(op, CustomOp) else op.name
    name = op.attributes.get("onnx_node_name")
    if isinstance(name, StringAttr) and name.data:
        return f'{kind} "{name.data}"'
    return f"{kind} -> {op.results[0].type}" if op.results else kind


def _foreign_name(op: CustomOp) -> str:
    return ".".join(part for part in (op.domain_name.data, op.function_name.data) if part)
