"""Which constants are one number per channel of a tensor? Decided by position, never by size.

Trailing axes are aligned: on images `[C]` is a number per column, `[C, 1, 1]` one per channel.
"""

from __future__ import annotations

import numpy as np

from onnxloom.transforms.rewriting.constants import Array


def per_channel(constant: Array, rank: int, axis: int, channels: int) -> Array | None:
    """A constant as 64-bit floats, one per entry of `axis` of a tensor; None when it is anything else.

    The tensor has `rank` dims and `channels` entries along `axis`, and broadcasting must not enlarge it.
    """
    if constant.ndim > rank:
        return None
    dims = (1,) * (rank - constant.ndim) + constant.shape
    if any(dim != 1 for index, dim in enumerate(dims) if index != axis):
        return None
    if dims[axis] not in (1, channels):
        return None
    return np.broadcast_to(constant.reshape(-1).astype(np.float64), (channels,))
