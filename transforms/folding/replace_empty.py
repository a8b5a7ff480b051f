"""Pass `replace-empty`: a result without elements becomes an empty constant, and an op without others goes.

Types say which (run `shape-inference` first). Control flow, random ops, ops with effects and ops without
results stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.dtypes import dtype_of_element
from onnxloom.dialects.onnx.narrow import is_ranked
from onnxloom.transforms.folding.fold_op import why_not_foldable
from onnxloom.transforms.folding.folding import Fold, Rule
from onnxloom.transforms.folding.folding_pass import FoldingPass
from onnxloom.transforms.folding.numpy_op import Array
from onnxloom.transforms.miss import Miss


@dataclass(frozen=True)
class ReplaceEmptyPass(FoldingPass):
    """A result without elements becomes an empty constant, in one sweep."""

    name = "replace-empty"

    def rule(self, module: ModuleOp) -> Rule:
        return empty_op


def empty_op(op: Operation) -> Fold | Miss | None:
    """Empty constants for the results of an op that are read and have no elements; None without any."""
    if isinstance(op, onnx.ConstantOp):
        return None
    values = [None if result.first_use is None else empty_array(result) for result in op.results]
    if all(value is None for value in values):
        return None
    return why_not_foldable(op) or Fold(values)


def empty_array(value: SSAValue) -> Array | None:
    """The only array of a type with a dim of 0."""
    if not is_ranked(value.type):
        return None
    shape = value.type.get_shape()
    if 0 not in shape or DYNAMIC_INDEX in shape:
        return None
    return np.empty(shape, dtype_of_element(value.type.element_type))
