"""ai.onnx.ml ZipMap: rows of numbers become dictionaries with the class labels as keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces


@replaces("ZipMap", domain="ai.onnx.ml")
def zip_map(attributes: Attributes, x: Any) -> Sequence[Any]:
    """A list with one dictionary per row."""
    keys: list[Any] = attributes.get("classlabels_strings") or attributes.get("classlabels_int64s") or []
    rows = x.reshape(-1, x.shape[-1])
    if len(keys) != rows.shape[1]:
        raise ValueError(f"{len(keys)} class labels for rows of {rows.shape[1]} numbers")
    return [[dict(zip(keys, row.tolist(), strict=True)) for row in rows]]
