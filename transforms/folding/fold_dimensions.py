"""Pass `fold-dimensions`: a small tensor whose elements follow from shapes becomes a constant.

`Shape`, `Size`, and what is computed of them: as soon as the elements that matter are known, even if other
dims are not. `Gather(Shape(x), 1)` folds for `x : tensor<?x64xf32>`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.dtypes import dtype_of_element
from onnxloom.transforms.dim_analysis import DimAnalysis, DimExpr
from onnxloom.transforms.dim_analysis.facts import element_type
from onnxloom.transforms.dim_analysis.small_elements import is_integer
from onnxloom.transforms.folding.fold_op import fits, opted_out
from onnxloom.transforms.folding.folding import Fold, Rule
from onnxloom.transforms.folding.folding_pass import FoldingPass
from onnxloom.transforms.folding.numpy_op import Array
from onnxloom.transforms.folding.potential import Potential, mark
from onnxloom.transforms.miss import Miss

_SOURCES: Final = (onnx.ShapeOp, onnx.SizeOp, onnx.DimOp, onnx.IfOp, onnx.LoopOp, onnx.ScanOp)
"""What has known elements and is no constant, or brings elements together."""


@dataclass(frozen=True)
class FoldDimensionsPass(FoldingPass):
    """Folds small tensors that follow from shapes.

    A module without shape ops costs one look at each op.
    """

    name = "fold-dimensions"

    mark_only: bool = False
    """Keep the values aside, on the ops, instead of folding: they take effect in `fold-constants`."""

    def rule(self, module: ModuleOp) -> Rule | None:
        if not any(isinstance(op, _SOURCES) for op in module.walk()):
            return None
        dims = DimAnalysis.of(module)
        return (lambda op: _mark(op, dims)) if self.mark_only else (lambda op: fold_known_op(op, dims))


def fold_known_op(op: Operation, dims: DimAnalysis) -> Fold | Miss | None:
    """The results of an op whose elements are known; None when no result's are."""
    if isinstance(op, onnx.ConstantOp):
        return None
    values = [known_array(result, dims) for result in op.results]
    if all(
        value is None or result.first_use is None for value, result in zip(values, op.results, strict=True)
    ):
        return None
    return opted_out(op) or Fold(values)


def known_array(value: SSAValue, dims: DimAnalysis) -> Array | None:
    """The elements of an integer or bool tensor when all are numbers."""
    element = element_type(value.type)
    if element is None or (element != i1 and not is_integer(element)):
        return None
    elements = dims.known_value(value)
    if elements is None:
        return None
    numbers = [e.constant if isinstance(e, DimExpr) else e for e in elements.reshape(-1).tolist()]
    if any(number is None for number in numbers):
        return None
    array = np.array(numbers, dtype_of_element(element)).reshape(elements.shape)
    return array if fits(array, value) else None


def _mark(op: Operation, dims: DimAnalysis) -> None:
    fold = fold_known_op(op, dims)
    if not isinstance(fold, Fold):
        return
    values = [value for value in fold.values if value is not None and not isinstance(value, SSAValue)]
    if len(values) == len(op.results):
        mark(op, Potential(FoldDimensionsPass.name, values))
