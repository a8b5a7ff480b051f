"""ai.onnx.ml OneHotEncoder for any rank; the reference knows tensors of two dims at most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces


@replaces("OneHotEncoder", domain="ai.onnx.ml")
def one_hot_encoder(attributes: Attributes, x: Any) -> Sequence[Any]:
    """f32 `[.., categories]`. Raises ValueError for an unknown category where `zeros` is 0."""
    strings = attributes.get("cats_strings")
    categories = np.array(strings, object) if strings else np.array(attributes.get("cats_int64s"), np.int64)
    values = x if strings else x.astype(np.int64)
    hot = values[..., None] == categories
    if not attributes.get("zeros", 1) and not hot.any(axis=-1).all():
        raise ValueError("a value is none of the categories, and zeros are not allowed")
    return [hot.astype(np.float32)]
