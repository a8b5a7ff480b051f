"""Unique: the reference implementation fails without `sorted` and `axis`."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("Unique")
def unique(attributes: Attributes, x: Array) -> list[Array]:
    """Values (or slices along `axis`), places of the first of each, which one each is, and counts."""
    axis, is_text = attributes.get("axis"), x.dtype == object
    x = x.astype(np.str_) if is_text else x  # slices of Python objects have no order in numpy
    values, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    values, inverse = values.astype(object) if is_text else values, inverse.reshape(-1)
    if not attributes.get("sorted", 1):
        order = np.argsort(first)
        values = np.take(values, order, axis=axis or 0)
        first, counts, inverse = first[order], counts[order], np.argsort(order)[inverse]
    return [values, *(found.astype(np.int64) for found in (first, inverse, counts))][: attributes.outputs]
