"""Where in the arena does each buffer of a stretch lie?"""

from __future__ import annotations

from collections.abc import Sequence

from onnxloom.lowering.plan.values import Buffer

ALIGNMENT = 64


def place(buffers: Sequence[Buffer]) -> int:
    """Sets `offset` of every buffer and gives the bytes needed.

    Buffers whose ranges [first, last] overlap do not share memory. Largest first, each into the
    smallest gap that holds it.
    """
    placed: list[Buffer] = []
    total = 0
    for buffer in sorted(buffers, key=lambda b: (-b.nbytes, b.first)):
        rivals = sorted(
            (p for p in placed if p.first <= buffer.last and buffer.first <= p.last), key=lambda p: p.offset
        )
        buffer.offset = _best_gap(rivals, _rounded(buffer.nbytes), total)
        total = max(total, buffer.offset + _rounded(buffer.nbytes))
        placed.append(buffer)
    return total


def _rounded(nbytes: int) -> int:
    return max(ALIGNMENT, -(-nbytes // ALIGNMENT) * ALIGNMENT)


def _best_gap(rivals: Sequence[Buffer], size: int, total: int) -> int:
    """Start of the tightest gap between `rivals` (sorted by offset); after the last one if none fits."""
    best, best_size, end = -1, total + 1, 0
    for rival in rivals:
        gap = rival.offset - end
        if size <= gap < best_size:
            best, best_size = end, gap
        end = max(end, rival.offset + _rounded(rival.nbytes))
    return end if best < 0 else best
