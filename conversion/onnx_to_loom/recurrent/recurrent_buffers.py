"""Which buffers does a recurrent op have, and how do they lie in memory?"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from onnxloom.dialects.loom.target import GemmTile

ROW_VECTORS = 8
"""Vectors that a tile of one row has at most: a fused multiply-add takes 4 cycles, two start per cycle."""


@dataclass(frozen=True)
class Layout:
    """Where things are in the buffers of a recurrent op; all numbers are known at compile time."""

    gates: int
    hidden: int
    directions: int
    batch_first: bool
    """X and Y are `[batch, time, ..]`, states `[batch, direction, hidden]`."""
    tile: GemmTile

    @property
    def row_tile(self) -> GemmTile:
        """The tile for a batch of one: as wide as a panel, which keeps enough sums in flight."""
        vectors = -(-self.hidden // self.tile.lanes)
        return GemmTile(1, -(-vectors // -(-vectors // ROW_VECTORS)), self.tile.lanes)

    @property
    def columns(self) -> int:
        """Width of a panel of packed R."""
        return self.row_tile.columns

    @property
    def panels(self) -> int:
        """Panels per gate of packed R, `[direction, gate, panel, hidden, columns]`."""
        return -(-self.hidden // self.columns)


@dataclass(frozen=True)
class Quantized:
    """The further buffers where X, the state and the weights are quantized; all f32."""

    x_scale: SSAValue
    w_scale: SSAValue
    r_scale: SSAValue
    """One scale per direction, or per direction, gate and hidden unit."""
    by_column: bool
    levels: SSAValue
    """Scratch, `[batch, hidden]`: the quantized state; in words of four, `[batch, ceil(hidden / 4)]`."""
    scales: SSAValue
    """Scratch, `[batch]`: the scales of the state."""
    words: WordCorrection | None = None
    """Where levels and weights are words of four bytes."""


@dataclass(frozen=True)
class WordCorrection:
    """What a sum of products of levels is too large by: zero point of the state times sum of the weights."""

    zeros: SSAValue
    """Scratch, `[batch]`: the zero points of the state."""
    sums: SSAValue
    """Per direction, gate and hidden unit the sum of the weights."""


@dataclass(frozen=True)
class Buffers:
    """The kernel's buffers; None for what the op omits."""

    projected: SSAValue
    weights: SSAValue
    bias: SSAValue | None
    lengths: SSAValue | None
    initial: tuple[SSAValue | None, ...]
    peepholes: SSAValue | None
    y: SSAValue | None
    states: tuple[SSAValue, ...]
    gates: SSAValue
    """Scratch, `[batch, gate, hidden]`."""
    quantized: Quantized | None = None
