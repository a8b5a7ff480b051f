"""Do the values of a module have the types that the module declares for them?"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Block, SSAValue

from onnxloom.dialects.onnx.dtypes import dtype_of_element
from onnxloom.lowering.plan.program import is_array
from onnxloom.testing.elements import Array
from onnxloom.transforms.describe import describe


class DeclaredTypes:
    """Watches an evaluation (`seen=declared.see`); `wrong` is the first contradiction."""

    def __init__(self) -> None:
        self.wrong = ""

    def see(self, value: SSAValue, observed: Any) -> None:
        declared: Attribute = value.type
        if self.wrong or not isinstance(declared, TensorType | UnrankedTensorType):
            return
        held = type(observed).__name__
        if is_array(observed):
            if _fits(cast(Attribute, declared), observed):
                return
            held = f"{observed.dtype}{list(observed.shape)}"
        where = "a block argument" if isinstance(value.owner, Block) else describe(value.owner)
        self.wrong = f"{where} is declared {cast(Attribute, declared)}, but holds {held}"


def _fits(declared: Attribute, array: Array) -> bool:
    tensor = cast("TensorType[Attribute]", declared)
    if array.dtype.kind not in "OUS" and array.dtype != dtype_of_element(tensor.element_type):
        return False
    if not isinstance(declared, TensorType):
        return True
    dims = tensor.get_shape()
    if len(dims) != array.ndim:
        return False
    return all(d in (DYNAMIC_INDEX, s) for d, s in zip(dims, array.shape, strict=True))
