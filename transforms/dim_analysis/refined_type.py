"""Which type says what is known of a value?"""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneAttr, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, SSAValue

from onnxloom.transforms.dim_analysis.facts import TensorFacts, element_type

TypeCache = dict[tuple[Attribute, tuple[int, ...]], TensorType[Attribute]]


def refined_type(declared: Attribute, facts: TensorFacts, cache: TypeCache) -> Attribute | None:
    """The type to set; None when the declared one says the same."""
    same_element = element_type(declared) == facts.element
    if facts.shape is None:
        is_same = same_element and isinstance(declared, UnrankedTensorType)
        return None if is_same else UnrankedTensorType(facts.element)
    dims = tuple(DYNAMIC_INDEX if dim.constant is None else dim.constant for dim in facts.shape)
    if isinstance(declared, TensorType):
        if same_element and declared.get_shape() == dims:
            return None
        if declared.encoding != NoneAttr():
            return TensorType(facts.element, dims, declared.encoding)
    key = (facts.element, dims)
    if key not in cache:
        cache[key] = TensorType(facts.element, dims)
    return cache[key]


def set_type(value: SSAValue, value_type: Attribute) -> None:
    """Change a value's type in place: the value keeps its identity and its uses."""
    # xDSL's own way replaces the value by another one, which would invalidate every table of values.
    value._type = value_type  # pyright: ignore[reportPrivateUsage]
