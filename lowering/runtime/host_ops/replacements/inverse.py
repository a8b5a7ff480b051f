"""com.microsoft Inverse: the inverse of each matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces


@replaces("Inverse", domain="com.microsoft")
def inverse(attributes: Attributes, x: Any) -> Sequence[Any]:
    """In f32 at least. Raises ValueError where a matrix has none."""
    try:
        wide: npt.NDArray[Any] = x.astype(np.float32) if x.dtype.itemsize < 4 else x
        return [np.asarray(np.linalg.inv(wide), x.dtype)]
    except np.linalg.LinAlgError as error:
        raise ValueError(f"a matrix has no inverse: {error}") from error
