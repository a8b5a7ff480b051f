"""When do two ops have the same attributes, bit for bit?

Equality of attributes is not enough: 0.0 equals -0.0, and NaN not even itself.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Mapping
from typing import Final, cast

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute, Operation

from onnxloom.dialects.onnx.narrow import is_array, is_dense_of_any_shape, is_float_attr, is_int_attr

_NAMES: Final = frozenset({"onnx_node_name"})
"""Attributes that say nothing about what an op does."""


def attributes_key(op: Operation) -> Hashable:
    """Equal for ops of one class exactly when they have the same attributes but for names."""
    if not op.attributes:
        return _entries(op.properties)
    kept = {name: value for name, value in op.attributes.items() if name not in _NAMES}
    return (_entries(op.properties), _entries(kept))


def _entries(attributes: Mapping[str, Attribute]) -> Hashable:
    return tuple((name, attribute_key(value)) for name, value in sorted(attributes.items()))


def attribute_key(attribute: Attribute) -> Hashable:
    """Equal exactly for attributes that are the same bits."""
    if is_float_attr(attribute):
        return (struct.pack("<d", attribute.value.data), cast(Attribute, attribute.type))
    if is_int_attr(attribute):
        return (int(attribute.value.data), cast(Attribute, attribute.type))
    if is_array(attribute):
        return tuple(attribute_key(element) for element in attribute.data)
    if isinstance(attribute, DictionaryAttr):
        return _entries(attribute.data)
    if is_dense_of_any_shape(attribute):
        return (attribute.type, attribute.data.data)
    return (type(attribute), attribute)
