"""How the element types of kernels are spelled in emitted Python.

`index` is a plain int, `i1` a bool, `iN` a signed numpy integer (of 8 bits where there are fewer), floats of
16 bits and fewer are unsigned integers with their bits. `i128` is only moved, as a complex number.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType, IntegerType
from xdsl.ir import Attribute

from onnxloom.errors import PassError
from onnxloom.lowering.small_floats import small_float


def int_width(attribute: Attribute) -> int | None:
    """The bits of an integer or index type, None for every other type."""
    if isinstance(attribute, IndexType):
        return 64
    return cast("IntegerType", attribute).width.data if isinstance(attribute, IntegerType) else None


def numpy_name(attribute: Attribute) -> str:
    """The numpy scalar type a value has in emitted code: `np.float32`, `np.int8`, ..."""
    width = int_width(attribute)
    if width is not None:
        if width == 128:
            return "np.complex128"
        return "np.bool_" if width == 1 else f"np.int{max(width, 8)}"
    if isinstance(attribute, Float32Type):
        return "np.float32"
    if isinstance(attribute, Float64Type):
        return "np.float64"
    form = small_float(attribute)
    if form is None:
        raise PassError(f"emit-python: no Python form of type {attribute}")
    return f"np.uint{max(form.width, 8)}"


def narrow_width(attribute: Attribute) -> int | None:
    """The bits of a type that has fewer than 8 and is held in 8, but for i1; None for every other type."""
    form = small_float(attribute)
    width = form.width if form is not None else int_width(attribute)
    return width if width is not None and 1 < width < 8 else None
