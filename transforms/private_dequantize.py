"""Pass `private-dequantize`: each reader of a dequantized tensor dequantizes for itself.

    x -> DequantizeLinear -> Conv, Add      becomes      x -> DequantizeLinear -> Conv
                                                         x -> DequantizeLinear -> Add

So each can be fused with its reader: a product then reads the integers, and no tensor of floats is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.annotations import is_kept
from onnxloom.transforms.control_flow.report import FlowReport
from onnxloom.transforms.describe import describe
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.budget import may_rewrite


@dataclass(frozen=True)
class PrivateDequantizePass(ModulePass):
    """Copies dequantizations that several ops read."""

    name = "private-dequantize"

    report: FlowReport = field(default_factory=FlowReport, init=False, compare=False, repr=False)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.report.clear()
        for shared in [inner for inner in op.walk() if isinstance(inner, onnx.DequantizeLinearOp)]:
            readers = _readers(shared)
            if len(readers) < 2:
                continue
            if is_kept(shared):
                self.report.decline(shared, Miss("it is marked to be kept"))
            elif may_rewrite(self.name, "DequantizeLinear", shared):
                self.report.done.append(f"{describe(shared)}: {len(readers)} readers have one each")
                for reader in readers[1:]:
                    _copy_for(shared, reader)


def _readers(op: onnx.DequantizeLinearOp) -> list[Operation]:
    """The ops of the same block that read the result; what is read from a region stays shared."""
    readers = dict.fromkeys(use.operation for use in op.y.uses)
    ends = onnx.ReturnOp | onnx.YieldOp
    return [r for r in readers if r.parent is op.parent and not isinstance(r, ends)]


def _copy_for(op: onnx.DequantizeLinearOp, reader: Operation) -> None:
    block = op.parent
    assert block is not None
    copy = op.clone()
    copy.y.name_hint = op.y.name_hint
    # At the reader: what stands in between need not be passed by when the two are fused.
    block.insert_op_before(copy, reader)
    for index, operand in enumerate(reader.operands):
        if operand is op.y:
            reader.operands[index] = copy.y
