"""Pass `print-dims`: shows what dim analysis knows, for tests and for readers of IR.

Every op with a ranked tensor result gets `onnx.symbolic_shape` (one text per result) and, where
elements of small tensors are known, `onnx.known_values`; functions get those of their arguments.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from onnxloom.dialects import onnx
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.dim_analysis.facts import Element, Elements, Ratio

SHAPE = "onnx.symbolic_shape"
VALUES = "onnx.known_values"


@dataclass(frozen=True)
class PrintDimsPass(ModulePass):
    """Attaches symbolic shapes and known elements to ops as text."""

    name = "print-dims"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        dims = DimAnalysis.of(op)
        for inner in op.walk():
            if isinstance(inner, FuncOp):
                _annotate(inner, inner.body.block.args if inner.body.blocks else (), dims)
            elif not isinstance(inner, onnx.ConstantOp):
                _annotate(inner, inner.results, dims)


def _annotate(op: Operation, values: Iterable[SSAValue], dims: DimAnalysis) -> None:
    values = list(values)
    shapes = [_shape_text(dims, value) for value in values]
    if any(shape != "" for shape in shapes):
        op.attributes[SHAPE] = ArrayAttr([StringAttr(shape) for shape in shapes])
    elements = [dims.known_value(value) for value in values]
    if any(found is not None for found in elements):
        op.attributes[VALUES] = ArrayAttr([StringAttr(_elements_text(found)) for found in elements])


def _shape_text(dims: DimAnalysis, value: SSAValue) -> str:
    """`(batch, seq*2, 3)`; `*` for an unknown rank, nothing for what is no tensor."""
    shape = dims.shape(value)
    if shape is not None:
        return f"({', '.join(map(str, shape))})"
    return "*" if dims.is_tensor(value) else ""


def _elements_text(elements: Elements | None) -> str:
    return "" if elements is None else f"[{', '.join(map(_element_text, elements.reshape(-1).tolist()))}]"


def _element_text(element: Element) -> str:
    match element:
        case None:
            return "?"
        case bool():
            return str(element).lower()
        case Ratio(numerator, 1):
            return f"float({numerator})"
        case Ratio(numerator, denominator):
            return f"({numerator})/{denominator}"
        case _:
            return str(element)
