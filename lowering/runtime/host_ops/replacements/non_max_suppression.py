"""NonMaxSuppression: the reference implementation fails where a limit or a threshold is a scalar."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("NonMaxSuppression")
def non_max_suppression(
    attributes: Attributes,
    boxes: Array,
    scores: Array,
    limit: Array | None = None,
    overlap: Array | None = None,
    least: Array | None = None,
) -> list[Array]:
    """Rows of batch entry, class and box: the best boxes of each class, best first."""
    wanted = 0 if limit is None else int(np.reshape(limit, -1)[0])
    threshold = np.float32(0 if overlap is None else np.reshape(overlap, -1)[0])
    found: list[tuple[int, int, int]] = []
    for b, entry in enumerate(boxes):
        edges = _edges(entry, bool(attributes.get("center_point_box", 0)))
        for c, row in enumerate(scores[b]):
            candidates = (
                np.arange(len(row)) if least is None else np.flatnonzero(row > np.reshape(least, -1)[0])
            )
            order = candidates[np.argsort(-row[candidates], kind="stable")]
            found += [(b, c, int(i)) for i in _kept(edges, order, wanted, threshold)]
    return [np.array(found, np.int64).reshape(-1, 3)]


def _edges(boxes: Array, by_center: bool) -> Array:
    """`[4, boxes]`: left, right, top, bottom."""
    a, b, c, d = boxes.T
    if by_center:
        return np.stack([a - c / 2, a + c / 2, b - d / 2, b + d / 2])
    return np.stack([np.minimum(b, d), np.maximum(b, d), np.minimum(a, c), np.maximum(a, c)])


def _kept(edges: Array, order: Array, wanted: int, threshold: Any) -> list[int]:
    kept: list[int] = []
    for i in order:
        if len(kept) >= wanted:
            break
        if not _overlaps(edges, int(i), kept, threshold):
            kept.append(int(i))
    return kept


def _overlaps(edges: Array, i: int, kept: list[int], threshold: Any) -> bool:
    """Whether a box that was kept covers more than `threshold` of its union with box `i`."""
    left, right, top, bottom = edges[:, kept]
    x0, x1, y0, y1 = edges[:, i]
    width, height = np.minimum(right, x1) - np.maximum(left, x0), np.minimum(bottom, y1) - np.maximum(top, y0)
    shared = width * height
    union = (right - left) * (bottom - top) + (x1 - x0) * (y1 - y0) - shared
    meets = (width > 0) & (height > 0) & (union > 0)
    with np.errstate(all="ignore"):
        return bool((meets & (shared / union > threshold)).any())
