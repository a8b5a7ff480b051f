"""A pass that turns the first Exp into an Abs, without asking for the rewrite."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import make


@dataclass(frozen=True)
class PlantedAbsPass(ModulePass):
    name = "planted-abs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        old = next((inner for inner in op.walk() if isinstance(inner, onnx.ExpOp)), None)
        if old is None or old.parent is None:
            return
        fresh = make(onnx.AbsOp, [old.operands[0]], [old.results[0].type])
        old.parent.insert_op_before(fresh, old)
        old.results[0].replace_all_uses_with(fresh.results[0])
        old.detach()
        old.erase()
