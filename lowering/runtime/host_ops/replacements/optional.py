"""Optional values: one that is there is the value itself, one that is absent is None."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces


@replaces("Optional")
def optional(attributes: Attributes, x: Any = None) -> Sequence[Any]:
    """`x` as an optional value."""
    return [x]


@replaces("OptionalHasElement")
def optional_has_element(attributes: Attributes, x: Any = None) -> Sequence[Any]:
    """Whether the value is there."""
    return [np.array(x is not None)]


@replaces("OptionalGetElement")
def optional_get_element(attributes: Attributes, x: Any) -> Sequence[Any]:
    """The value. Raises ValueError if it is absent."""
    if x is None:
        raise ValueError("the optional value is absent")
    return [x]
