"""How does one stretch of a plan run? An instance is a private copy of its table with an arena.

Several threads may run the same plan; each takes an instance of its own for the time of the call.
"""

from __future__ import annotations

import ctypes
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

from onnxloom.lowering.plan.memory import address_of, aligned_bytes
from onnxloom.lowering.plan.node import Node
from onnxloom.lowering.plan.record import ALL_TASKS, HEADER, KERNEL_TYPE
from onnxloom.lowering.runtime.termination import check_terminated

Executor: TypeAlias = Callable[[int, int, int, int], int]
"""Runs records `begin` to `end` of a table: (table address, starts address, begin, end)."""

SLICE_SECONDS = 0.02
"""Work between two chances for Ctrl-C: signals are handled between slices only."""

MAX_FREE = 4
"""Idle instances kept per stretch."""

MAX_ARENA_BYTES = 1 << 28
"""Arenas kept per model; where there are more, those made longest ago go (but for the last)."""


class Arenas:
    """Which instances of a model's plans hold memory. Each new input shape brings an arena of its own."""

    def __init__(self) -> None:
        self._made: deque[tuple[int, weakref.ref[Instance], weakref.ref[Node]]] = deque()
        self._lock = threading.Lock()
        self._look_at = 64
        self.nbytes = 0

    def add(self, instance: Instance, node: Node) -> None:
        """Counts the arena of an instance; those made before may go."""
        with self._lock:
            instance.counted = True
            self._made.append((instance.arena_bytes, weakref.ref(instance), weakref.ref(node)))
            self.nbytes += instance.arena_bytes
            if len(self._made) > self._look_at:
                self._forget_gone()
            while self.nbytes > MAX_ARENA_BYTES and len(self._made) > 1:
                self._drop(*self._made.popleft())

    def _forget_gone(self) -> None:
        """Drops the entries of instances that went with their plans."""
        self._made = deque(entry for entry in self._made if entry[1]() is not None)
        self._look_at = 2 * len(self._made) + 64
        self.nbytes = sum(nbytes for nbytes, _, _ in self._made)

    def _drop(self, nbytes: int, made: weakref.ref[Instance], of: weakref.ref[Node]) -> None:
        self.nbytes -= nbytes
        instance, node = made(), of()
        if instance is None or node is None:
            return
        instance.counted = False  # if it is running, it is counted again when it is given back
        with suppress(ValueError):
            node.free.remove(instance)


class Instance:
    """Table and arena of one stretch, ready to run."""

    def __init__(self, node: Node, executor: Executor) -> None:
        self._executor = executor
        self._table = node.table.copy()
        self._starts = node.starts
        self._arena = aligned_bytes(node.arena_bytes)
        self.arena_bytes = node.arena_bytes
        self.counted = False
        """Whether `Arenas` counts it."""
        positions, offsets = node.arena_at
        if positions.size:
            self._table[positions] = offsets + address_of(self._arena)
        self._words = self._table.data
        self._table_address = address_of(self._table) if self._table.size else 0
        self._starts_address = node.starts.__array_interface__["data"][0]
        self._cells_at = node.cells_at
        self._checks = node.checks
        self._statuses = self._arena.data.cast("q") if node.checks else None
        self._slices: tuple[Callable[[], object], ...] | None = None
        if not node.starts.size:
            self._slices = ()
        elif node.starts.size == 1:
            self._slices = (self._slice(0, 1),)

    def run(self, cells: dict[int, Any]) -> None:
        """Runs the records on the arrays in `cells`."""
        words = self._words
        for cell, places in self._cells_at:
            address = address_of(cells[cell])
            for position, offset in places:
                words[position] = address + offset
        self.run_records()

    @property
    def addresses(self) -> tuple[int, int, int]:
        """Of the table and of the starts of its records; and their number."""
        return self._table_address, self._starts_address, self._starts.size

    @property
    def statuses(self) -> list[int]:
        """Addresses of the statuses that checks look at."""
        return [address_of(self._arena) + 8 * at for at, _, _ in self._checks]

    def run_records(self) -> None:
        """Runs the records on the addresses that are in the table."""
        if self._slices is None:
            self._slices = self._run_timed()
            return
        if len(self._slices) == 1:
            self._slices[0]()
            return
        for run in self._slices:
            run()
            check_terminated()

    def _slice(self, begin: int, end: int) -> Callable[[], object]:
        """A run of these records. Arguments of a foreign function are converted once, not in each run."""
        words = (self._table_address, self._starts_address, begin, end)
        types: Any = getattr(self._executor, "argtypes", None)
        return partial(
            self._executor, *(words if types is None else (t(w) for t, w in zip(types, words, strict=True)))
        )

    def failure(self) -> str | None:
        """What a check of the stretch that just ran has to say; None if all is well."""
        words = self._statuses
        if words is not None:
            for at, count, step in self._checks:
                if words[at]:
                    return step.text(words[at : at + count].tolist())
        return None

    def _run_timed(self) -> tuple[Callable[[], object], ...]:
        """Runs record by record, and cuts the table into slices by the time each took."""
        slices: list[Callable[[], object]] = []
        begin, spent, count = 0, 0.0, self._starts.size
        for record in range(count):
            start = time.perf_counter()
            self._executor(self._table_address, self._starts_address, record, record + 1)
            spent += time.perf_counter() - start
            check_terminated()
            if spent > SLICE_SECONDS or record + 1 == count:
                slices.append(self._slice(begin, record + 1))
                begin, spent = record + 1, 0.0
        return tuple(slices)


def take(node: Node, executor: Executor) -> Instance:
    """An instance nobody else uses."""
    try:
        return node.free.pop()
    except IndexError:
        if node.checked is None:
            return Instance(node, executor)
        from onnxloom.lowering.runtime.checked_instance import CheckedInstance

        return CheckedInstance(node, node.checked, executor)


def give_back(node: Node, instance: Instance, arenas: Arenas) -> None:
    """Keeps an instance for the next run of the stretch, if it has not too many."""
    if len(node.free) < MAX_FREE:
        node.free.append(instance)
        if not instance.counted:
            arenas.add(instance, node)


def python_executor(table: int, starts: int, begin: int, end: int) -> int:
    """Walks the records in Python: for kernels whose native executor is not there."""
    word = ctypes.sizeof(ctypes.c_int64)
    for record in range(begin, end):
        at = table + word * ctypes.c_int64.from_address(starts + word * record).value
        KERNEL_TYPE(ctypes.c_int64.from_address(at).value)(at + HEADER * word, 0, ALL_TASKS, 0)
    return 0
