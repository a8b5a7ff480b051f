"""ai.onnx.ml ZipMap: rows of numbers become dictionaries with the class labels as keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces


@replaces("ZipMap", domain="ai.onnx.ml", plain=True)
def zip_map(attributes: Attributes, x: Any) -> Sequence[Any]:
    """A list with one dictionary per row."""
    keys: list[Any] = attributes.get("classlabels_strings") or attributes.get("classlabels_int64s") or []
    width = x.shape[-1]
    if len(keys) != width:
        raise ValueError(f"{len(keys)} class labels for rows of {width} numbers")
    rows = x.tolist() if x.ndim == 2 else x.reshape(-1, width).tolist()
    return [[dict(zip(keys, row, strict=True)) for row in rows]]
