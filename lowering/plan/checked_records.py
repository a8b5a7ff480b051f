"""What does a plan know of the buffers of its records? What they hold at first, and what is around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxloom.lowering.plan.arena import ALIGNMENT, reserved

if TYPE_CHECKING:
    from onnxloom.lowering.plan.stretch import Launch
    from onnxloom.lowering.plan.values import Buffer, Value

RED_ZONE = ALIGNMENT
"""Bytes that nobody may touch, before the first buffer of the arena and behind each of them."""


@dataclass(frozen=True)
class CheckedRecord:
    """One record, as the checks of its run see it. Buffers are numbered, inputs first."""

    launch: Launch
    fresh: tuple[int, ...]
    """Outputs that hold nothing yet."""
    kept: tuple[int, ...]
    """Outputs that something reads later."""
    zones: tuple[tuple[int, int, str], ...]
    """Bytes of the arena that nobody may touch while the record runs: begin, end, where they lie."""

    def values(self) -> tuple[Value, ...]:
        """What its buffers hold."""
        return (*self.launch.ins, *self.launch.outs)


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
        zones = _zones(launch, live)
        records.append(CheckedRecord(launch, _fresh(launch, written), _kept(launch, at), zones))
        written.update(id(v.buffer) for v in launch.outs)
    return CheckedStretch(tuple(records), fault_at)


def _fresh(launch: Launch, written: set[int]) -> tuple[int, ...]:
    read = {id(v.buffer.storage()) for v in launch.ins if v.buffer is not None}
    return tuple(
        number
        for number, value in enumerate(launch.outs, len(launch.ins))
        if value.buffer is not None
        and id(value.buffer) not in written
        and id(value.buffer.storage()) not in read
    )


def _kept(launch: Launch, at: int) -> tuple[int, ...]:
    return tuple(
        number
        for number, value in enumerate(launch.outs, len(launch.ins))
        if value.buffer is not None and (value.buffer.last > at or value.buffer.storage().cell is not None)
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
