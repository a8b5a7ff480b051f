"""Why does a reader of a chain not compute element by element?"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.semantics import is_elementwise
from onnxloom.transforms.fusion.match import Miss


def not_elementwise(op: Operation) -> Miss:
    """The reason to give for an op without scalar semantics."""
    if op.has_trait(IsTerminator):
        return Miss("a value of the chain is a result of the graph")
    if isinstance(op, onnx.FusedOp):
        return Miss(f"its reader is fused already, as {op.kind.data}")
    if is_elementwise(op):
        return Miss(f"{op.name} with these types or attributes has no kernel")
    return Miss(f"{op.name} is not elementwise")
