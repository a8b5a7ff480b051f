"""Conv, ConvTranspose and their integer forms, of any rank, as one matrix product per group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces
from onnxloom.lowering.runtime.host_ops.replacements.windows import Array, Window


@replaces("Conv")
def conv(attributes: Attributes, x: Array, w: Array, b: Array | None = None) -> Sequence[Any]:
    """Sums are taken in float64: equal kernels give equal maps, wherever BLAS cuts its tiles."""
    y = convolve(attributes, x.astype(np.float64), w.astype(np.float64), 0)
    if b is not None:
        y += b.astype(np.float64).reshape(-1, *(1,) * (x.ndim - 2))
    return [y.astype(x.dtype)]


def convolve(attributes: Attributes, x: Array, w: Array, fill: Any) -> Array:
    """The convolution itself; `fill` is the value of the padding."""
    groups = attributes.get("group", 1)
    window = Window.of(attributes, x.shape[2:], w.shape[2:])
    batch, maps = x.shape[0], w.shape[0]
    columns = _columns(window, x, fill, groups)
    kernels = w.reshape(groups, maps // groups, -1)
    return (kernels @ columns).reshape(batch, maps, *window.output)


def _columns(window: Window, x: Array, fill: Any, groups: int) -> Array:
    """`[batch, groups, channels per group * taps, outputs]`."""
    batch, channels = x.shape[:2]
    rank = len(window.kernel)
    views = window.view(window.padded(x, fill))
    order = (0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank))
    taps = math.prod(window.kernel)
    return views.transpose(order).reshape(batch, groups, channels // groups * taps, math.prod(window.output))


@replaces("ConvTranspose")
def conv_transpose(attributes: Attributes, x: Array, w: Array, b: Array | None = None) -> Sequence[Any]:
    """Each input element adds its scaled kernel to the output; then the padding is cut off."""
    rank = x.ndim - 2
    groups = attributes.get("group", 1)
    kernel = w.shape[2:]
    strides = attributes.get("strides") or [1] * rank
    dilations = attributes.get("dilations") or [1] * rank
    extra = attributes.get("output_padding") or [0] * rank
    full = [
        (n - 1) * s + d * (k - 1) + 1 + e
        for n, s, k, d, e in zip(x.shape[2:], strides, kernel, dilations, extra, strict=True)
    ]
    pads, output = _transpose_pads(attributes, x.shape[2:], strides, full)
    batch, maps = x.shape[0], w.shape[1] * groups
    wide = np.float32 if x.dtype.itemsize < 4 else x.dtype
    rows = x.astype(wide, copy=False).reshape(batch, groups, x.shape[1] // groups, -1)
    kernels = w.astype(wide, copy=False).reshape(groups, w.shape[0] // groups, -1)
    taps = (kernels.swapaxes(1, 2) @ rows).reshape(batch, maps, math.prod(kernel), *x.shape[2:])
    grown = [max(f, o + p) for f, o, p in zip(full, output, pads, strict=True)]
    y = np.zeros((batch, maps, *grown), wide)
    for number, tap in enumerate(np.ndindex(*kernel)):
        where = tuple(
            slice(t * d, t * d + (n - 1) * s + 1, s)
            for t, d, n, s in zip(tap, dilations, x.shape[2:], strides, strict=True)
        )
        y[(slice(None), slice(None), *where)] += taps[:, :, number]
    y = y[(slice(None), slice(None), *(slice(p, p + o) for p, o in zip(pads, output, strict=True)))]
    if b is not None:
        y = y + b.astype(wide, copy=False).reshape(-1, *(1,) * rank)
    return [y.astype(x.dtype, copy=False)]


def _transpose_pads(
    attributes: Attributes, spatial: Sequence[int], strides: Sequence[int], full: Sequence[int]
) -> tuple[list[int], list[int]]:
    """What is cut off in front per axis, and the output sizes."""
    rank = len(full)
    given = attributes.get("pads") or [0] * (2 * rank)
    begin = list(given[:rank])
    output = [f - b - e for f, b, e in zip(full, given[:rank], given[rank:], strict=True)]
    mode = attributes.get("auto_pad", "NOTSET")
    shape = attributes.get("output_shape")
    if mode in ("SAME_UPPER", "SAME_LOWER") and not shape:
        shape = [n * s for n, s in zip(spatial, strides, strict=True)]
    if shape:
        output = list(shape[-rank:])
        total = [max(0, f - o) for f, o in zip(full, output, strict=True)]
        begin = [t // 2 if mode == "SAME_UPPER" else t - t // 2 for t in total]
    return begin, output


@replaces("ConvInteger")
def conv_integer(
    attributes: Attributes, x: Array, w: Array, x_zero: Array | None = None, w_zero: Array | None = None
) -> Sequence[Any]:
    """int32 sums of the 8-bit differences to the zero points. Exact: float64 holds them."""
    xs = x.astype(np.float64) - (0 if x_zero is None else x_zero.astype(np.float64))
    return [convolve(attributes, xs, _centred(w, w_zero), 0).astype(np.int64).astype(np.int32)]


@replaces("QLinearConv")
def qlinear_conv(
    attributes: Attributes, x: Array, x_scale: Array, x_zero: Array, w: Array, w_scale: Array, w_zero: Array,
    y_scale: Array, y_zero: Array, b: Array | None = None,
) -> Sequence[Any]:  # fmt: skip
    """Integer convolution, then one rescale per output channel, half to even."""
    xs = x.astype(np.float64) - x_zero.astype(np.float64)
    y = convolve(attributes, xs, _centred(w, w_zero), 0)
    each = (-1, *(1,) * (x.ndim - 2))
    if b is not None:
        y = y + b.astype(np.float64).reshape(each)
    scale = (x_scale * w_scale / y_scale).astype(np.float32)
    scaled = np.rint(y.astype(np.float32) * (scale.reshape(each) if scale.ndim else scale))
    limits = np.iinfo(y_zero.dtype)
    return [np.clip(scaled + y_zero.astype(np.float32), limits.min, limits.max).astype(y_zero.dtype)]


def _centred(w: Array, zero: Array | None) -> Array:
    if zero is None:
        return w.astype(np.float64)
    each = zero.reshape(-1, *(1,) * (w.ndim - 1)) if zero.ndim else zero
    return w.astype(np.float64) - each.astype(np.float64)
