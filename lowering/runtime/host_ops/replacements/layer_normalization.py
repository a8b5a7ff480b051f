"""LayerNormalization and RMSNormalization: the reference implementation knows no stash type.

It sums 16-bit numbers in 16 bits, refuses doubles, and gives RMSNormalization the type of `x`, not `scale`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.dialects.onnx.dtypes import dtype_of_element, element_of_proto
from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("LayerNormalization")
def layer_normalization(
    attributes: Attributes, x: Array, scale: Array, bias: Array | None = None
) -> Sequence[Array]:
    """The normalized value, then, if listed, mean and inverse deviation in the stash type."""
    wide, axes = _stashed(attributes, x)
    with np.errstate(all="ignore"):
        mean = _mean(wide, axes)
        centered = wide - mean
        inverse = 1 / np.sqrt(_mean(centered * centered, axes) + _epsilon(attributes, wide))
        y = (centered * inverse).astype(x.dtype) * scale
        y = y if bias is None else y + bias
    return [y, mean, inverse.astype(wide.dtype)][: attributes.outputs]


@replaces("RMSNormalization")
def rms_normalization(attributes: Attributes, x: Array, scale: Array) -> Sequence[Array]:
    """`x` over the root of its mean square, scaled; of the type of `scale`."""
    wide, axes = _stashed(attributes, x)
    with np.errstate(all="ignore"):
        root = np.sqrt(_mean(wide * wide, axes) + _epsilon(attributes, wide))
        return [(wide / root).astype(x.dtype).astype(scale.dtype) * scale]


def _stashed(attributes: Attributes, x: Array) -> tuple[Array, tuple[int, ...]]:
    """The input in the type to compute in, and the axes from `axis` to the last."""
    dtype = dtype_of_element(element_of_proto(attributes.get("stash_type", 1)))
    return x.astype(dtype), tuple(range(attributes.get("axis", -1) % x.ndim, x.ndim))


def _mean(x: Array, axes: tuple[int, ...]) -> Array:
    """Of no element: NaN, without the warning of `np.mean`."""
    count = np.prod([x.shape[axis] for axis in axes])
    return (x.sum(axis=axes, keepdims=True) / count).astype(x.dtype)


def _epsilon(attributes: Attributes, x: Array) -> Any:
    return x.dtype.type(attributes.get("epsilon", 1e-5))
