"""Arithmetic on shapes and strides for the plan-time ops; plain Python, no IR."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def row_major_strides(shape: Sequence[int]) -> list[int]:
    """Element strides of a contiguous row-major tensor of `shape`."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    return strides


def broadcast_strides(shape: Sequence[int], target: Sequence[int]) -> list[int]:
    """Element strides with which a row-major tensor of `shape` is read as if broadcast to `target`."""
    pad = len(target) - len(shape)
    strides = [0] * pad + row_major_strides(shape)
    padded = [1] * pad + list(shape)
    return [0 if dim == 1 else stride for dim, stride in zip(padded, strides, strict=True)]


def merge_dims(sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """The same iteration space with adjacent dims merged where all strides allow it, unit dims dropped.

    `strides` has one row per operand. The order of iteration does not change.
    """
    merged: list[int] = []
    rows: list[list[int]] = [[] for _ in strides]
    for d, size in enumerate(sizes):
        if size == 1:
            continue
        if merged and all(row[-1] == s[d] * size for row, s in zip(rows, strides, strict=True)):
            merged[-1] *= size
            for row, s in zip(rows, strides, strict=True):
                row[-1] = s[d]
            continue
        merged.append(size)
        for row, s in zip(rows, strides, strict=True):
            row.append(s[d])
    return merged, rows


def pad_front(sizes: list[int], strides: list[list[int]], rank: int) -> tuple[list[int], list[list[int]]]:
    """The space with leading dims of size 1 added up to `rank`."""
    pad = rank - len(sizes)
    if pad < 0:
        raise ValueError(f"an iteration space of rank {len(sizes)} does not fit a kernel of rank {rank}")
    return [1] * pad + sizes, [[0] * pad + row for row in strides]


def broadcast_space(shapes: Sequence[Sequence[int]], rank: int) -> tuple[list[int], list[list[int]]]:
    """Sizes and per-operand strides of the broadcast of `shapes`, merged and padded to `rank` dims.

    Raises:
        ValueError: the shapes do not broadcast.
    """
    target = np.broadcast_shapes(*(tuple(s) for s in shapes))
    if 0 in target:
        return [0] * rank, [[0] * rank for _ in shapes]
    strides = [broadcast_strides(s, target) for s in shapes]
    return pad_front(*merge_dims(target, strides), rank)


def reshape_sizes(shape: Sequence[int], target: Sequence[int], allowzero: bool) -> list[int]:
    """The dims ONNX Reshape gives a tensor of `shape`.

    Raises:
        ValueError: the element counts cannot agree.
    """
    if not allowzero:
        if any(d == 0 and i >= len(shape) for i, d in enumerate(target)):
            raise ValueError(f"a 0 in target shape {list(target)} has no dim of {list(shape)} to copy")
        target = [shape[i] if d == 0 else d for i, d in enumerate(target)]
    sizes = list(target)
    total = math.prod(shape)
    if sizes.count(-1) > 1 or any(d < -1 for d in sizes):
        raise ValueError(f"target shape {sizes} is not valid")
    if -1 in sizes:
        whole, rest = total, math.prod(d for d in sizes if d != -1)
        if allowzero and rest == total == 0:
            # Exporters write [batch, -1] for a batch of 0, too; onnxruntime looks at the other dims.
            whole, rest = math.prod(filter(None, shape)), math.prod(d for d in sizes if d not in (0, -1))
        if rest == 0 or whole % rest:
            raise ValueError(f"cannot reshape {list(shape)} to {sizes}")
        sizes[sizes.index(-1)] = whole // rest
    if math.prod(sizes) != total:
        raise ValueError(f"cannot reshape {list(shape)} to {sizes}")
    return sizes
