"""What does a plan depend on in a value whose contents it does not look at?"""

from __future__ import annotations

from typing import Any

from onnxloom.lowering.plan.program import is_array


def observation(value: Any) -> Any:
    """Element type and shape of an array, a size, or nothing."""
    if is_array(value):
        return (value.dtype, value.shape)
    return value if type(value) is int else None
