"""Which tensors are small enough to have their elements tracked, and which elements are fit to be?"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from onnxloom.dialects.onnx.element_types import ELEMENT_TYPES
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.facts import Element, Elements, object_array

MAX_ELEMENTS: Final = 256
"""Larger integer tensors are data, not shapes."""

MAX_FLOATS: Final = 16
"""Larger float tensors are data, not scale factors."""

MAX_SYMBOLIC_ELEMENTS: Final = 8
"""Unknown integer tensors up to this size get a symbol per element."""

MAX_TERMS: Final = 32
"""An expression with more terms is replaced by a symbol."""

_FLOATS: Final = frozenset(ELEMENT_TYPES[name] for name in ("float", "double", "float16"))
_SHAPE_TYPES: Final = frozenset(ELEMENT_TYPES[name] for name in ("int32", "int64"))
INTEGER_RANGES: Final[dict[Attribute, tuple[int, int]]] = {
    **{
        ELEMENT_TYPES[f"int{width}"]: (-(2 ** (width - 1)), 2 ** (width - 1) - 1) for width in (8, 16, 32, 64)
    },
    **{ELEMENT_TYPES[f"uint{width}"]: (0, 2**width - 1) for width in (8, 16, 32, 64)},
}


def is_integer(element: Attribute) -> bool:
    return element in INTEGER_RANGES


def is_small(element: Attribute, size: int) -> bool:
    if element == i1 or element in INTEGER_RANGES:
        return size <= MAX_ELEMENTS
    return element in _FLOATS and size <= MAX_FLOATS


def is_manageable(element: Element, kind: Attribute) -> bool:
    """Whether an integer element is worth keeping, and what its element type would hold.

    Expressions are kept for the types shapes are computed in; narrow and unsigned ones wrap too easily.
    """
    if not isinstance(element, DimExpr):
        return False
    if element.constant is not None:
        low, high = INTEGER_RANGES[kind]
        return low <= element.constant <= high
    return kind in _SHAPE_TYPES and len(element.terms) <= MAX_TERMS


def constant_elements(array: np.ndarray[Any, Any]) -> Elements:
    values = array.reshape(-1).tolist()
    flat = [v if isinstance(v, bool | float) else DimExpr.of(int(v)) for v in values]
    return object_array(flat, array.shape)
