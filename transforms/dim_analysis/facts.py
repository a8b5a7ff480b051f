"""What is known of one tensor before the model runs: element type, dims, and sometimes elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, SSAValue

from onnxloom.transforms.dim_analysis.dim_expr import DimExpr

if TYPE_CHECKING:
    from onnxloom.transforms.dim_analysis.query import OpQuery

Shape: TypeAlias = tuple[DimExpr, ...]
AnyTensorType: TypeAlias = TensorType[Attribute] | UnrankedTensorType[Attribute]


@dataclass(frozen=True)
class Ratio:
    """`numerator / denominator` exactly: an element of a float tensor that is computed from dims."""

    numerator: DimExpr
    denominator: int = 1
    """A power of two, so that floats below 2**24 hold the value exactly."""


Element: TypeAlias = DimExpr | bool | float | Ratio | None
"""Integers are `DimExpr`; truth values and floats are themselves when known, None when not."""

Elements: TypeAlias = np.ndarray[Any, np.dtype[np.object_]]
"""The elements of a small tensor, in an array of its shape."""


@dataclass(frozen=True)
class TensorFacts:
    """What an analysis holds of a tensor value."""

    element: Attribute
    shape: Shape | None
    """None: not even the rank is known."""

    elements: Elements | None = None


@dataclass(frozen=True)
class Inferred:
    """What a rule says of a tensor result. None: nothing is said."""

    dims: Sequence[DimExpr | None] | None
    element: Attribute | None = None


Result: TypeAlias = Inferred | Attribute | None
"""Of a result that is not a tensor: its type."""

Rule: TypeAlias = "Callable[[OpQuery], Sequence[Result]]"
"""The results of an op, as many as it has; raises `Impossible` when no input of these shapes is legal."""

ElementRule: TypeAlias = "Callable[[OpQuery], Sequence[Elements | None]]"
"""The elements of the results of an op; called when all of them are small and of static shape."""


class Impossible(Exception):
    """The shapes of an op's inputs contradict each other; the message says which and how."""


def element_type(value_type: Attribute) -> Attribute | None:
    """Element type of a tensor type, None for any other."""
    if isinstance(value_type, TensorType | UnrankedTensorType):
        return value_type.element_type  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return None


def static_dims(value: SSAValue) -> tuple[int | None, ...] | None:
    """The dims of a value's type, None for dynamic ones; None when it is not a ranked tensor."""
    value_type = value.type
    if not isinstance(value_type, TensorType):
        return None
    return tuple(None if dim == DYNAMIC_INDEX else dim for dim in value_type.get_shape())


def numbers(shape: Shape | None) -> tuple[int, ...] | None:
    """The dims when all of them are numbers."""
    if shape is None:
        return None
    constants = [dim.constant for dim in shape]
    return None if None in constants else tuple(c for c in constants if c is not None)


def object_array(elements: Sequence[Element], shape: Sequence[int]) -> Elements:
    array = np.empty(len(elements), dtype=np.object_)
    array[:] = elements
    return array.reshape(tuple(shape))
