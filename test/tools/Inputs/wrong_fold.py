"""A wrong fold: sums of constants are taken for differences. The test puts the table right again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from onnxloom.dialects import onnx
from onnxloom.transforms.folding.evaluator import numpy_ops


def difference(op: Operation, inputs: Sequence[Any]) -> Sequence[Any]:
    return [inputs[0] - inputs[1]]


cast(Any, numpy_ops())[onnx.AddOp] = difference


@dataclass(frozen=True)
class PlantedPass(ModulePass):
    """Does nothing: a plug-in defines something."""

    name = "planted-nothing"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass
