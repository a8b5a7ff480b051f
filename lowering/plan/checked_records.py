"""What does a plan know of the buffers of its records? What they hold at first, and what is around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxloom.lowering.plan.arena import ALIGNMENT, reserved

if TYPE_CHECKING:
    from onnxloom.lowering.plan.stretch import Launch
    from onnxloom.lowering.plan.values import Buffer

RED_ZONE = ALIGNMENT
"""Bytes that nobody may touch, before the first buffer of the arena and behind each of them."""


@dataclass(frozen=True)
class CheckedRecord:
    """One record, as the checks of its run see it."""

    launch: Launch
    fresh: tuple[tuple[int, int], ...]
    """Outputs that hold nothing yet: number of the buffer, bytes."""
    zones: tuple[tuple[int, int, str], ...]
    """Bytes of the arena that nobody may touch while the record runs: begin, end, where they lie."""


@dataclass(frozen=True)
class CheckedStretch:
    """What the checks of one stretch need."""

    records: tuple[CheckedRecord, ...]
    fault_at: int
    """Byte of the arena where the fault words are."""


def checked_stretch(launches: Sequence[Launch], buffers: Sequence[Buffer], fault_at: int) -> CheckedStretch:
    """The checks of a stretch whose buffers have their places."""
    storages = {id(s): s for s in (b.storage() for b in buffers)}
    placed = [storage for storage in storages.values() if storage.cell is None]
    written: set[int] = set()
    records: list[CheckedRecord] = []
    for at, launch in enumerate(launches):
        live = [buffer for buffer in placed if buffer.first <= at <= buffer.last]
        records.append(CheckedRecord(launch, _fresh(launch, written), _zones(launch, live)))
        written.update(id(v.buffer) for v in launch.outs)
    return CheckedStretch(tuple(records), fault_at)


def _fresh(launch: Launch, written: set[int]) -> tuple[tuple[int, int], ...]:
    read = {id(v.buffer.storage()) for v in launch.ins if v.buffer is not None}
    return tuple(
        (number, value.nbytes)
        for number, value in enumerate(launch.outs, len(launch.ins))
        if value.buffer is not None
        and id(value.buffer) not in written
        and id(value.buffer.storage()) not in read
    )


def _zones(launch: Launch, live: Sequence[Buffer]) -> tuple[tuple[int, int, str], ...]:
    names = {
        id(value.buffer.storage()): f"behind buffer {number}"
        for number, value in enumerate((*launch.ins, *launch.outs))
        if value.buffer is not None
    }
    other = "behind a buffer that is not the kernel's"
    behind = (
        (b.offset + b.nbytes, b.offset + reserved(b.nbytes) + RED_ZONE, names.get(id(b), other)) for b in live
    )
    return ((0, RED_ZONE, "before all buffers"), *behind)
