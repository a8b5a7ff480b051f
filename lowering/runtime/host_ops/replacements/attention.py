"""Attention: the reference counts the queries of a causal mask by a dim of the mask, which may be 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("Attention")
def attention(
    attributes: Attributes, q: Array, k: Array, v: Array, mask: Array | None = None, *more: Any
) -> Sequence[Any]:
    """What the reference computes, with a mask that has a row for each query."""
    from onnx.reference.ops import op_attention

    compute = cast(Callable[..., Sequence[Any]], op_attention._compute_attention)  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]
    if mask is not None and mask.ndim > 1 and mask.shape[-2] == 1 and attributes.get("is_causal"):
        mask = np.repeat(mask, q.shape[-2], axis=-2)
    return list(compute(q, k, v, mask, *more, **attributes.values))
