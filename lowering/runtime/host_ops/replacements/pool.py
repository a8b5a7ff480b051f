"""Max, average and Lp pooling of any rank, over views of the windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces
from onnxloom.lowering.runtime.host_ops.replacements.windows import Array, Window


def _lowest(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


@replaces("MaxPool")
def max_pool(attributes: Attributes, x: Array) -> Sequence[Any]:
    """The maxima, and, if wanted, their positions in the flattened input."""
    window = Window.of(attributes, x.shape[2:], attributes.values["kernel_shape"], clips=True)
    rank = len(window.kernel)
    views = window.view(window.padded(x, _lowest(x.dtype)))
    taps = tuple(range(-rank, 0))
    y = views.max(axis=taps)
    if attributes.outputs < 2 or not attributes.wanted[1]:
        return [y]
    return [y, _positions(attributes, window, x, views)]


def _positions(attributes: Attributes, window: Window, x: Array, views: Array) -> Array:
    rank = len(window.kernel)
    best = views.reshape(*views.shape[:-rank], -1).argmax(axis=-1)
    tap = cast(Any, np.unravel_index(best, window.kernel))
    spatial = x.shape[2:]
    where: list[Array] = []
    for axis in range(rank):
        start = cast(Any, np.arange(window.output[axis])) * window.strides[axis] - window.pads[axis][0]
        shape = [1] * best.ndim
        shape[2 + axis] = -1
        where.append(start.reshape(shape) + tap[axis] * window.dilations[axis])
    weights = [1] * rank
    order = range(rank - 2, -1, -1) if not attributes.get("storage_order", 0) else range(1, rank)
    for axis in order:
        near = axis + 1 if not attributes.get("storage_order", 0) else axis - 1
        weights[axis] = weights[near] * spatial[near]
    flat = sum(w * weight for w, weight in zip(where, weights, strict=True))
    planes = cast(Any, np.arange(x.shape[0] * x.shape[1])).reshape(*x.shape[:2], *(1,) * rank)
    return (planes * int(np.prod(spatial)) + flat).astype(np.int64)


@replaces("AveragePool")
def average_pool(attributes: Attributes, x: Array) -> Sequence[Any]:
    """Sums over window elements, divided by how many there are (or lie in the padded input)."""
    window = Window.of(attributes, x.shape[2:], attributes.values["kernel_shape"], clips=True)
    rank = len(window.kernel)
    taps = tuple(range(-rank, 0))
    wide = x.astype(np.float32) if x.dtype.itemsize < 4 else x
    total = window.view(window.padded(wide, 0)).sum(axis=taps)
    if attributes.get("count_include_pad", 0):
        inside = np.pad(np.ones(x.shape[2:]), window.pads, constant_values=1)
        rest = Window(window.kernel, window.strides, window.dilations, ((0, 0),) * rank, window.output)
        count = rest.view(rest.padded(inside, 0)).sum(axis=taps)
    else:
        count = window.view(window.padded(np.ones(x.shape[2:]), 0)).sum(axis=taps)
    return [(total / count.astype(wide.dtype)).astype(x.dtype, copy=False)]


@replaces("LpPool")
def lp_pool(attributes: Attributes, x: Array) -> Sequence[Any]:
    """(sum |x|^p)^(1/p) over each window."""
    window = Window.of(attributes, x.shape[2:], attributes.values["kernel_shape"], clips=True)
    p = attributes.get("p", 2)
    taps = tuple(range(-len(window.kernel), 0))
    powers = np.abs(window.padded(x, 0)) ** p
    return [(window.view(powers).sum(axis=taps) ** (1.0 / p)).astype(x.dtype, copy=False)]
