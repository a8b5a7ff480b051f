"""ai.onnx.ml CastMap, which the reference implementation lacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]

_CASTS = {"TO_FLOAT": (float, np.float32), "TO_INT64": (int, np.int64), "TO_STRING": (str, object)}


@replaces("CastMap", domain="ai.onnx.ml")
def cast_map(attributes: Attributes, x: dict[int, Any]) -> list[Array]:
    """The values of a map as `[1, n]`: in the order of the keys, or (SPARSE) at the places the keys say."""
    cast, dtype = _CASTS[attributes.get("cast_to", "TO_FLOAT")]
    if attributes.get("map_form", "DENSE") == "DENSE":
        row = [cast(x[key]) for key in sorted(x)]
    else:
        size = attributes.get("max_map", 1)
        outside = next((key for key in x if not 0 <= key < size), None)
        if outside is not None:
            raise ValueError(f"key {outside} of a sparse map of {size} places")
        row = [cast(x.get(key, "" if cast is str else 0)) for key in range(size)]
    return [np.array([row], dtype).reshape(1, len(row))]
