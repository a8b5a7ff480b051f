"""Sliding windows of any rank: sizes, padding, and views of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from onnxloom.lowering.runtime.host_ops.registry import Attributes

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class Window:
    """Kernel size, strides, dilations and padding (begin, end) per spatial axis."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    output: tuple[int, ...]

    @staticmethod
    def of(
        attributes: Attributes, spatial: Sequence[int], kernel: Sequence[int], *, clips: bool = False
    ) -> Window:
        """The window that Conv and pooling attributes describe for an input of size `spatial`.

        One that `clips` has a place where less than a stride of the padded input is missing for it.

        Raises:
            ValueError: the window does not fit.
        """
        rank = len(kernel)
        strides = tuple(attributes.get("strides") or (1,) * rank)
        dilations = tuple(attributes.get("dilations") or (1,) * rank)
        mode = attributes.get("auto_pad", "NOTSET")
        extents = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
        given = attributes.get("pads") or (0,) * (2 * rank)
        pads = [(given[i], given[i + rank]) for i in range(rank)]
        if mode in ("SAME_UPPER", "SAME_LOWER"):
            pads = [
                _same(size, s, e, mode == "SAME_UPPER")
                for size, s, e in zip(spatial, strides, extents, strict=True)
            ]
        elif mode == "VALID":
            pads = [(0, 0)] * rank
        ceil = bool(attributes.get("ceil_mode", 0)) and not mode.startswith("SAME")
        output = tuple(
            -(-size // s) if mode.startswith("SAME") else _positions(size, p, s, e, ceil, clips)
            for size, p, s, e in zip(spatial, pads, strides, extents, strict=True)
        )
        return Window(tuple(kernel), strides, dilations, tuple(pads), output)

    def padded(self, x: Array, fill: Any) -> Array:
        """`x` with its spatial axes padded so far that every window lies inside."""
        widths = [(0, 0)] * (x.ndim - len(self.kernel))
        for size, (begin, end), k, s, d, o in zip(
            x.shape[-len(self.kernel) :], self.pads, self.kernel, self.strides, self.dilations, self.output,
            strict=True,
        ):  # fmt: skip
            needed = (o - 1) * s + d * (k - 1) + 1 - size - begin
            widths.append((begin, max(end, needed, 0)))
        return np.pad(x, widths, constant_values=fill) if any(w != (0, 0) for w in widths) else x

    def view(self, x: Array) -> Array:
        """Windows of a padded `x`: `[..., *output, *kernel]`, without copying."""
        rank = len(self.kernel)
        spatial = x.strides[-rank:]
        return np.lib.stride_tricks.as_strided(
            x,
            (*x.shape[:-rank], *self.output, *self.kernel),
            (
                *x.strides[:-rank],
                *(st * s for st, s in zip(spatial, self.strides, strict=True)),
                *(st * d for st, d in zip(spatial, self.dilations, strict=True)),
            ),
            writeable=False,
        )


def _same(size: int, stride: int, extent: int, upper: bool) -> tuple[int, int]:
    total = max(0, (math.ceil(size / stride) - 1) * stride + extent - size)
    small = total // 2
    return (small, total - small) if upper else (total - small, small)


def _positions(size: int, pads: tuple[int, int], stride: int, extent: int, ceil: bool, clips: bool) -> int:
    room = size + sum(pads) - extent
    if room < 0 and not (-stride < room and (ceil or (clips and size > 0))):
        raise ValueError(
            f"a window of {extent} does not fit a dim of {size} with pads {pads[0]} and {pads[1]}"
        )
    if room < 0 and not ceil:
        return 1
    count = (math.ceil(room / stride) if ceil else room // stride) + 1
    # A last window that starts in the end padding is left out.
    return count - 1 if ceil and (count - 1) * stride >= size + pads[0] else count
