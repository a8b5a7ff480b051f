"""What is an op called in messages and reports?"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation


def describe(op: Operation) -> str:
    """`onnx.Add "encoder/add"`, with the type of the result where the node has no name."""
    name = op.attributes.get("onnx_node_name")
    if isinstance(name, StringAttr) and name.data:
        return f'{op.name} "{name.data}"'
    return f"{op.name} -> {op.results[0].type}" if op.results else op.name
