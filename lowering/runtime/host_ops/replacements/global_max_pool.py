"""GlobalMaxPool: the reference implementation reduces the wrong axes unless there are two spatial ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("GlobalMaxPool")
def global_max_pool(attributes: Attributes, x: Array) -> list[Array]:
    return [x.max(axis=tuple(range(2, x.ndim)), keepdims=True)]
