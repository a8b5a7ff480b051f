"""How is an attribute's class tested so that the type checker knows its parameters too?

`isinstance` narrows to `TensorType[Unknown]`; these narrow to `TensorType[Attribute]`, at the same cost.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeGuard

from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute

AnyTensor: TypeAlias = TensorType[Attribute]
AnyUnranked: TypeAlias = UnrankedTensorType[Attribute]
AnyDense: TypeAlias = DenseIntOrFPElementsAttr[Any]


def is_ranked(attr: object) -> TypeGuard[AnyTensor]:
    return isinstance(attr, TensorType)


def is_unranked(attr: object) -> TypeGuard[AnyUnranked]:
    return isinstance(attr, UnrankedTensorType)


def is_tensor(attr: object) -> TypeGuard[AnyTensor | AnyUnranked]:
    return isinstance(attr, TensorType | UnrankedTensorType)


def is_integer(attr: object) -> TypeGuard[IntegerType[Any, Any]]:
    return isinstance(attr, IntegerType)


def is_complex(attr: object) -> TypeGuard[ComplexType[Any]]:
    return isinstance(attr, ComplexType)


def is_array(attr: object) -> TypeGuard[ArrayAttr[Attribute]]:
    return isinstance(attr, ArrayAttr)


def is_int_attr(attr: object) -> TypeGuard[IntegerAttr[Any]]:
    return isinstance(attr, IntegerAttr)


def is_float_attr(attr: object) -> TypeGuard[FloatAttr[Any]]:
    return isinstance(attr, FloatAttr)


def is_dense(attr: object) -> TypeGuard[AnyDense]:
    """A builtin dense attribute of a ranked tensor (not of a vector or memref)."""
    return isinstance(attr, DenseIntOrFPElementsAttr) and isinstance(attr.type, TensorType)  # pyright: ignore[reportUnknownMemberType]


def is_dense_of_any_shape(attr: object) -> TypeGuard[AnyDense]:
    """A builtin dense attribute of a tensor, vector or memref."""
    return isinstance(attr, DenseIntOrFPElementsAttr)


def compatible(a: Attribute, b: Attribute) -> bool:
    """Whether one value can have both types: same element type, no two different known dims."""
    if a == b:
        return True
    if not is_tensor(a) or not is_tensor(b):
        return False
    if a.element_type != b.element_type:
        return False
    if not is_ranked(a) or not is_ranked(b):
        return True
    dims, others = a.get_shape(), b.get_shape()
    return len(dims) == len(others) and all(
        dim == other or dim < 0 or other < 0 for dim, other in zip(dims, others, strict=True)
    )
