"""How the element types of kernels are spelled in emitted Python.

`index` is a plain int, `i1` a bool, `iN` a signed numpy integer, f16, bf16 and fp8 are held as unsigned
integers with their bits.
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
        return "np.bool_" if width == 1 else f"np.int{width}"
    if isinstance(attribute, Float32Type):
        return "np.float32"
    if isinstance(attribute, Float64Type):
        return "np.float64"
    form = small_float(attribute)
    if form is None:
        raise PassError(f"emit-python: no Python form of type {attribute}")
    return f"np.uint{form.width}"
