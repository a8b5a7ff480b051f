"""Where in the arena does each buffer of a stretch lie?"""

from __future__ import annotations

from collections.abc import Sequence

from onnxloom.lowering.plan.values import Buffer

ALIGNMENT = 64


def place(buffers: Sequence[Buffer], red_zone: int = 0) -> int:
    """Sets `offset` of every buffer and gives the bytes needed.

    Buffers whose ranges [first, last] overlap do not share memory. Largest first, each into the
    smallest gap that holds it. `red_zone` bytes, a multiple of ALIGNMENT, stay free before the first one and
    behind each.
    """
    placed: list[Buffer] = []
    total = red_zone
    for buffer in sorted(buffers, key=lambda b: (-b.nbytes, b.first)):
        rivals = sorted(
            (p for p in placed if p.first <= buffer.last and buffer.first <= p.last), key=lambda p: p.offset
        )
        buffer.offset = _best_gap(rivals, reserved(buffer.nbytes, red_zone), total, red_zone)
        total = max(total, buffer.offset + reserved(buffer.nbytes, red_zone))
        placed.append(buffer)
    return total


def reserved(nbytes: int, red_zone: int = 0) -> int:
    """Bytes that a buffer keeps from others."""
    return max(ALIGNMENT, -(-nbytes // ALIGNMENT) * ALIGNMENT) + red_zone


def _best_gap(rivals: Sequence[Buffer], size: int, total: int, red_zone: int) -> int:
    """Start of the tightest gap between `rivals` (sorted by offset); after the last one if none fits."""
    best, best_size, end = -1, total + 1, red_zone
    for rival in rivals:
        gap = rival.offset - end
        if size <= gap < best_size:
            best, best_size = end, gap
        end = max(end, rival.offset + reserved(rival.nbytes, red_zone))
    return end if best < 0 else best
