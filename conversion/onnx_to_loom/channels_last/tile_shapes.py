"""Which sizes does a window over a channels-last image have, and which tiles fit its result?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, index_value
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.dialects import loom
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.loom.target import Target
from onnxloom.dialects.loom.window_space import window_dim
from onnxloom.dialects.onnx.semantics.scalars import bit_width

WIDTHS = (7, 8, 6, 5, 4)
"""Places of a tile, by preference; one sum each and the weights fit 16 registers."""

WIDE = 14
"""Places of a tile where many taps make up for fetching more columns; needs 32 registers."""

WIDE_TAPS = 5
"""Taps along the last dim from which on such tiles pay; measured by `benchmarks/depthwise.py`."""


@dataclass(frozen=True)
class WindowSizes:
    """Program-level sizes of a window over an image `[N, *spatial, C]`."""

    batch: SSAValue
    spatial: Sequence[SSAValue]
    channels: SSAValue
    places: Sequence[SSAValue]
    before: Sequence[SSAValue]
    after: Sequence[SSAValue]
    known: tuple[int, int, int] | None
    """Along the last spatial dim its size, places, and border before, if known at compile time."""

    @property
    def arguments(self) -> list[SSAValue]:
        """What `WindowTiles` takes, in order."""
        return [self.batch, *self.spatial, self.channels, *self.places, *self.before, *self.after]


def window_sizes(builder: KernelBuilder, source: SSAValue, window: Window) -> WindowSizes:
    """The sizes of `window` over `source` (`[N, *spatial, C]`)."""
    batch, *spatial, channels = builder.dims(source)
    rows = [
        (window.kernel[i], window.strides[i], window.dilations[i], *window.pads[i :: window.rank])
        for i in range(window.rank)
    ]
    planes = builder.view(source, [batch, channels, *spatial])
    op = loom.WindowSpaceOp.make(planes, rows, window.auto_pad, window.ceil, window.clips)
    results = list(builder.insert(op).results)
    size = index_value(spatial[-1])
    known = None if size is None else (size, *_last_dim(window, size))
    return WindowSizes(batch, spatial, channels, results[0::3], results[1::3], results[2::3], known)


def _last_dim(window: Window, size: int) -> tuple[int, int]:
    last = window.rank - 1
    pads = (window.pads[last], window.pads[-1])
    row = (window.kernel[last], window.strides[last], window.dilations[last], pads)
    try:
        places, before, _ = window_dim(size, *row, window.auto_pad, window.ceil, window.clips)
    except ValueError as error:
        raise Declined(str(error)) from error
    return places, before


def tile_shape(
    window: Window, sizes: WindowSizes, channels: int, multiplier: int, element: Attribute, target: Target
) -> TileShape:
    """The tiles of windows whose sums are of type `element`, for a result of so many channels."""
    lanes = target.lanes(max(1, bit_width(element) // 8))
    lanes = min(lanes, 1 << (max(channels, 1).bit_length() - 1))
    if sizes.known is None or sizes.known[0] == 0:
        return TileShape(channels, multiplier, lanes, WIDTHS[-1], None)
    size, places, before = sizes.known
    wide = window.kernel[-1] >= WIDE_TAPS and target.vector_registers >= 32
    widths = (WIDE, *WIDTHS) if wide else WIDTHS
    width = max(places, 1) if places <= max(WIDTHS) else min(widths, key=lambda w: -places % w)
    columns = range((width - 1) * window.strides[-1] + window.extents[-1])
    starts = range(-before, places * window.strides[-1] - before, width * window.strides[-1])
    beside = frozenset(column for column in columns for start in starts if not 0 <= start + column < size)
    return TileShape(channels, multiplier, lanes, width, beside, places % width == 0)


@dataclass(frozen=True)
class TileShape:
    """What kernels are specialised on besides the window."""

    channels: int
    """Channels of the result."""
    multiplier: int
    """Channels of the result per channel of the image."""
    lanes: int
    """Channels computed at once: a power of two, at most all."""
    width: int
    """Places of a tile."""
    beside: frozenset[int] | None
    """Columns of a tile that lie beside the image for some tile; None if that is not known."""
    full: bool = False
    """Whether no tile reaches beyond the end of its line."""
