"""MaxRoiPool, which the reference implementation lacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("MaxRoiPool")
def max_roi_pool(attributes: Attributes, x: Array, rois: Array) -> list[Array]:
    """The largest elements of a grid of cells per region; 0 for cells outside of the image.

    `x` is `[N, C, H, W]`; a region is a row `[image, x1, y1, x2, y2]`, its corners included.
    """
    rows, cols = attributes.values["pooled_shape"]
    scale = np.float32(attributes.get("spatial_scale", 1.0))
    y = np.zeros((len(rois), x.shape[1], rows, cols), x.dtype)
    for region, roi in enumerate(rois):
        image = int(roi[0])
        if not 0 <= image < x.shape[0]:
            raise ValueError(f"region {region} is of image {image}; there are {x.shape[0]}")
        x1, y1, x2, y2 = (_rounded(corner * scale) for corner in roi[1:])
        for i, (top, bottom) in enumerate(_cells(y1, y2, rows, x.shape[2])):
            for j, (left, right) in enumerate(_cells(x1, x2, cols, x.shape[3])):
                if top < bottom and left < right:
                    y[region, :, i, j] = x[image, :, top:bottom, left:right].max(axis=(1, 2))
    return [y]


def _rounded(value: np.floating[Any]) -> int:
    """The nearest whole number, halves away from zero."""
    return int(np.trunc(value + np.copysign(0.5, value)))


def _cells(first: int, last: int, count: int, size: int) -> list[tuple[int, int]]:
    """Begin and end of each cell of a region along one dim, inside of the image."""
    step = np.float32(max(last - first + 1, 1)) / np.float32(count)
    edges = [(int(np.floor(i * step)), int(np.ceil((i + 1) * step))) for i in range(count)]
    return [(min(max(a + first, 0), size), min(max(b + first, 0), size)) for a, b in edges]
