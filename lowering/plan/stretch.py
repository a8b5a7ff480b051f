"""How do the launches of one stretch become a table of records and a layout of the arena?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxloom.errors import ModelError
from onnxloom.lowering.checked.fault import FAULT_BYTES
from onnxloom.lowering.plan.arena import place
from onnxloom.lowering.plan.checked_records import RED_ZONE, CheckedStretch, checked_stretch
from onnxloom.lowering.plan.origins import origin_of
from onnxloom.lowering.plan.program import Array, CheckStep, Step
from onnxloom.lowering.plan.values import Buffer, Dims, Value
from onnxloom.lowering.plan.work import Share, worth_waking


@dataclass(frozen=True, eq=False)
class Launch:
    """One record: which kernel runs on which values."""

    kernel: str
    ins: tuple[Value, ...]
    outs: tuple[Value, ...]
    sizes: tuple[int, ...]
    inplace: tuple[tuple[int, ...], ...]
    steps: Sequence[Step] = ()
    """The block it was made from, and `at`, its place there."""
    at: int = 0

    @property
    def origin(self) -> str:
        """What messages call the op of the model it is for; "" if nothing tells."""
        return origin_of(self.steps, self.at) if self.steps else ""


class Stretch:
    """Collects launches, then lays them out."""

    def __init__(self, cells: int) -> None:
        self.cells = cells
        """Number of cells in use; grows with the arrays that outlive the stretch."""
        self.launches: list[Launch] = []
        self.buffers: list[Buffer] = []
        self.allocate: list[tuple[int, Dims, np.dtype[Any], int]] = []
        self.checks: list[tuple[Value, CheckStep]] = []

    def launch(
        self,
        kernel: str,
        ins: Sequence[Value],
        outs: Sequence[Value],
        sizes: Sequence[int],
        inplace: Sequence[Sequence[int]],
        steps: Sequence[Step] = (),
        step: int = 0,
    ) -> list[Value]:
        """Appends a record for step `step` of `steps`; gives the filled destinations."""
        at = len(self.launches)
        filled = [self._destination(out, at) for out in outs]
        for value in (*ins, *filled):
            if value.buffer is not None:
                value.buffer.last = at
        self.launches.append(
            Launch(
                kernel,
                tuple(ins),
                tuple(filled),
                tuple(sizes),
                tuple(tuple(row) for row in inplace),
                steps,
                step,
            )  # fmt: skip
        )
        return filled

    def _destination(self, out: Value, at: int) -> Value:
        if out.buffer is not None:
            return out
        buffer = Buffer(out.nbytes, first=at)
        self.buffers.append(buffer)
        return Value(out.dtype, out.shape, buffer=buffer)

    def check(self, status: Value, step: CheckStep) -> None:
        """Has a status that a launch of this stretch filled looked at once the stretch has run."""
        if status.buffer is None or all(status.buffer is not b for b in self.buffers):
            raise ModelError("loom.check reads a status that no launch before it filled")
        self.checks.append((status, step))

    def new_cell(self) -> int:
        self.cells += 1
        return self.cells - 1

    def share(self, escaping: Iterable[Value]) -> None:
        """Lets outputs take over the memory of dying inputs where the launch allows it."""
        kept = {id(v.buffer) for v in escaping}
        for at, launch in enumerate(self.launches):
            taken: set[int] = set()
            for out, allowed in zip(launch.outs, launch.inplace, strict=False):
                source = self._reusable(launch, out, allowed, at, kept, taken)
                if source is not None and out.buffer is not None:
                    taken.add(id(source))
                    source.host = out.buffer

    def _reusable(
        self, launch: Launch, out: Value, allowed: Sequence[int], at: int, kept: set[int], taken: set[int]
    ) -> Buffer | None:
        target = out.buffer
        if target is None or target.first != at or target.cell is not None:
            return None
        for position in allowed:
            value = launch.ins[position]
            source = value.buffer
            if source is None or source.cell is not None or source.last != at or id(source) in kept | taken:
                continue
            if source.nbytes != target.nbytes or value.offset or value.nbytes != source.nbytes:
                continue
            others = [i for i, v in enumerate(launch.ins) if v.buffer is source and i not in allowed]
            if not others:
                return source
        return None

    def escape(self, values: Iterable[Value]) -> None:
        """Gives buffers that outlive the stretch an array of their own."""
        for value in values:
            buffer = value.buffer
            if buffer is None or buffer.cell is not None:
                continue
            buffer.cell = self.new_cell()
            assert value.dtype is not None
            shape = value.shape
            if value.offset or value.nbytes != buffer.nbytes:
                shape = (buffer.nbytes // value.dtype.itemsize,)
            self.allocate.append((buffer.cell, shape, value.dtype, buffer.nbytes))

    def table(
        self,
        address: Callable[[str], int],
        share: Callable[[str, Sequence[int]], Share],
        checked: bool = False,
    ) -> Table:
        """The records. Buffers that outlive the stretch must have their cells by now.

        `share` says how a launch of a kernel with some sizes is shared out. Records of `checked` kernels end
        with the bytes of each buffer and the address of the fault words.
        """
        for status, _ in self.checks:
            assert status.buffer is not None
            status.buffer.last = len(self.launches)
        arena = self._arena(RED_ZONE if checked else 0)
        table = Table()
        shares = [share(launch.kernel, launch.sizes) for launch in self.launches]
        table.shared = any(s.chunks for s in shares)
        for launch, part, wake in zip(self.launches, shares, worth_waking(shares), strict=True):
            table.starts.append(len(table.words))
            table.words += [address(launch.kernel), part.chunks, part.size, int(wake)]
            for value in (*launch.ins, *launch.outs):
                table.pointer(value)
            table.words.extend(launch.sizes)
            if checked:
                table.extents((*launch.ins, *launch.outs), arena)
        table.arena_bytes = arena
        if checked:
            table.arena_bytes += FAULT_BYTES
            table.checked = checked_stretch(self.launches, self.buffers, arena)
        table.checks = tuple(_words(status, step) for status, step in self.checks)
        return table

    def _arena(self, red_zone: int) -> int:
        mine: dict[int, Buffer] = {}
        for buffer in self.buffers:
            storage = buffer.storage()
            if storage.cell is None:
                mine[id(storage)] = storage
                storage.first = min(storage.first, buffer.first)
                storage.last = max(storage.last, buffer.last)
        return place(list(mine.values()), red_zone)


def _words(status: Value, step: CheckStep) -> tuple[int, int, CheckStep]:
    """First word in the arena and number of words of a status."""
    buffer = status.buffer
    assert buffer is not None
    if buffer.storage().cell is not None:
        raise ModelError("a status is read by something else than loom.check")
    return (buffer.storage().offset + status.offset) // 8, status.nbytes // 8, step


class Table:
    """Records as words, and which words are addresses known only to an instance or a run."""

    def __init__(self) -> None:
        self.words: list[int] = []
        self.starts: list[int] = []
        self.shared = False
        """Whether several threads run some launch together."""
        self.arena_bytes = 0
        self.arena: list[tuple[int, int]] = []
        self.cells: dict[int, list[tuple[int, int]]] = {}
        self.keep: dict[int, Array] = {}
        self.checks: tuple[tuple[int, int, CheckStep], ...] = ()
        self.checked: CheckedStretch | None = None
        """What is needed to check the run, where kernels are checked."""

    def extents(self, values: Sequence[Value], fault_at: int) -> None:
        """The words that only checked kernels have; `fault_at` is where the arena has the fault words."""
        self.words.extend(value.nbytes for value in values)
        self.arena.append((len(self.words), fault_at))
        self.words.append(0)

    def pointer(self, value: Value) -> None:
        at = len(self.words)
        if value.is_known:
            array: Array = value.known
            self.keep[id(array)] = array
            self.words.append(array.__array_interface__["data"][0])
            return
        assert value.buffer is not None
        storage = value.buffer.storage()
        if storage.cell is None:
            self.arena.append((at, storage.offset + value.offset))
        else:
            self.cells.setdefault(storage.cell, []).append((at, value.offset))
        self.words.append(0)
