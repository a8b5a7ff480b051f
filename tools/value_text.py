"""How is an array shown in one line? Type, shape and a few values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

SHOWN = 6


def describe_value(value: Any) -> str:
    """`float32 [1, 3]  0.1 0.2 0.3`; sequences and maps by their length."""
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        return f"map of {len(cast('Mapping[Any, Any]', value))}"
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)
        return f"sequence of {len(items)}" + (f", first {describe_value(items[0])}" if items else "")
    array: np.ndarray[Any, Any] = np.asarray(value)
    dtype = "string" if array.dtype.kind in "OUS" else array.dtype.name
    flat = array.reshape(-1)[: SHOWN + 1]
    values = " ".join(_element(item) for item in flat[:SHOWN])
    more = " ..." if flat.size > SHOWN else ""
    return f"{dtype} {list(array.shape)}  {values}{more}".rstrip()


def _element(item: Any) -> str:
    if isinstance(item, str | bytes):
        return repr(str(item)[:20])
    if getattr(item, "dtype", np.dtype(bool)).kind in "fV":
        return f"{float(item):.5g}"
    return str(item)
