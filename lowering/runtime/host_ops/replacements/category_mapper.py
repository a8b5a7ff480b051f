"""ai.onnx.ml CategoryMapper, which the reference implementation lacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("CategoryMapper", domain="ai.onnx.ml")
def category_mapper(attributes: Attributes, x: Array) -> list[Array]:
    """Strings as their int64 categories, or integers as their strings; others as the default."""
    strings, numbers = attributes.values["cats_strings"], attributes.values["cats_int64s"]
    table: dict[Any, Any]
    if x.dtype.kind in "iu":
        table = dict(zip(numbers, strings, strict=True))
        default, dtype = attributes.get("default_string", "_Unused"), object
    else:
        table = dict(zip(strings, numbers, strict=True))
        default, dtype = attributes.get("default_int64", -1), np.int64
    y = np.empty(x.shape, dtype)
    y.reshape(-1)[:] = [table.get(key, default) for key in x.reshape(-1).tolist()]
    return [y]
