"""Do the values of a module have the types that the module declares for them?"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Block, SSAValue

from onnxloom.dialects.onnx.dtypes import dtype_of_element
from onnxloom.transforms.describe import describe


class DeclaredTypes:
    """Watches an evaluation (`seen=declared.see`); `wrong` is the first contradiction."""

    def __init__(self) -> None:
        self.wrong = ""

    def see(self, value: SSAValue, observed: Any) -> None:
        if self.wrong or not isinstance(observed, np.ndarray):
            return
        array = cast("np.ndarray[Any, Any]", observed)
        declared = value.type
        if not isinstance(declared, TensorType | UnrankedTensorType):
            return
        element = cast("TensorType[Attribute]", declared).element_type
        fits = array.dtype.kind in "OUS" or array.dtype == dtype_of_element(element)
        if isinstance(declared, TensorType):
            dims = cast("TensorType[Attribute]", declared).get_shape()
            fits = fits and len(dims) == array.ndim
            fits = fits and all(d in (DYNAMIC_INDEX, s) for d, s in zip(dims, array.shape, strict=True))
        if not fits:
            where = "a block argument" if isinstance(value.owner, Block) else describe(value.owner)
            self.wrong = f"{where} is declared {declared}, but holds {array.dtype}{list(array.shape)}"
