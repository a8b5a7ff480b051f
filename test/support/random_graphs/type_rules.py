"""Which element types does the standard allow an op, at an opset?"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from onnx import defs

_NAMES = {"float32": "float", "float64": "double"}


def type_text(value: Any) -> str:
    """`tensor(float)` or `seq(tensor(float))`."""
    if isinstance(value, list):
        return f"seq({type_text(value[0])})" if value else "seq(tensor(float))"
    name = np.asarray(value).dtype.name
    return f"tensor({_NAMES.get(name, name)})"


@cache
def accepts(op: str, opset: int, types: tuple[str, ...]) -> bool:
    """Whether the op takes inputs of these types ("" where one is left out)."""
    try:
        schema: Any = defs.get_schema(op, opset)
    except defs.SchemaError:
        return False
    allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
    chosen: dict[str, str] = {}
    for place, given in enumerate(types):
        formal = schema.inputs[min(place, len(schema.inputs) - 1)]
        variable = formal.type_str
        if not given:
            continue
        if given not in allowed.get(variable, {variable}):
            return False
        if formal.is_homogeneous and chosen.setdefault(variable, given) != given:
            return False
    return True
