"""How do the iterations of a loop run whose body is one stretch? In native code, many at a call."""

from __future__ import annotations

import ctypes
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from onnxloom.errors import InputError
from onnxloom.lowering.loop_code import (
    ADDRESS_WORDS,
    AT_END,
    CHECK_FAILED,
    CONDITION_FALSE,
    COPY_WORDS,
    HEADER_WORDS,
    REASON_BITS,
)
from onnxloom.lowering.plan.memory import address_of
from onnxloom.lowering.plan.node import Node, ReturnEnd
from onnxloom.lowering.plan.program import Array
from onnxloom.lowering.plan.values import check_size
from onnxloom.lowering.runtime.instance import Instance, give_back, take
from onnxloom.lowering.runtime.loop_places import BodyLayout, Place, Places, signature_of
from onnxloom.lowering.runtime.recycling import fresh_array
from onnxloom.lowering.runtime.termination import check_terminated

if TYPE_CHECKING:
    from onnxloom.lowering.runtime.tree import Engine

NativeLoop: TypeAlias = Callable[[int, int, int, int, int, int], int]
"""`loop_code.loop`: table, starts, number of records, moves, first iteration, end."""

FIRST_ROWS: Final = 64
"""Rows that scan outputs begin with where nothing tells how many iterations there will be."""

SLICE_SECONDS: Final = 0.01
"""Work between two chances for Ctrl-C."""


@dataclass(frozen=True)
class Outcome:
    """Carried values and scan outputs, and how many iterations there were."""

    carried: list[Array]
    outputs: list[Array]
    iterations: int


@dataclass(frozen=True)
class MovingLoop:
    """A loop to run, of `total` iterations; None where only the condition ends it. See `Places`."""

    engine: Engine
    node: Node
    layout: BodyLayout
    args: Sequence[Any]
    total: int | None
    slices: Sequence[Place]
    reverse: Sequence[bool]
    origin: str

    def run(self) -> Outcome:
        """Runs at least one iteration.

        Raises:
            InputError: a kernel met a value that it cannot accept.
            ModelError: the scan outputs do not fit in memory.
        """
        node = self.node
        executor = self.engine.executor
        if node.shared and self.engine.team_executor is not None:
            executor = self.engine.team_executor
        instance = take(node, executor)
        try:
            return self._run(instance, getattr(executor, "loop", None))
        finally:
            give_back(node, instance, self.engine.arenas)

    def _run(self, instance: Instance, native: NativeLoop | None) -> Outcome:
        rows = self._first_rows()
        places = Places(self.node, self.layout, self.args, self.slices, self._outputs(rows), self.reverse)
        stretch = _Stretch(instance, native or python_loop(instance))
        total = sys.maxsize if self.total is None else self.total
        if places.condition is not None and places.condition.cell < 0 and not places.condition.known.item():
            total = 1
        stretch.begin(places)
        done, reason = stretch.run(0, 1)
        stretch.go_on(places)
        while reason == AT_END and done < total:
            if places.outputs and done == rows:
                rows = min(2 * rows, total)
                places = self._with_rows(places, rows)
                stretch.go_on(places)
            done, reason = stretch.run(done, min(total, rows) if places.outputs else total)
        if reason == CHECK_FAILED:
            raise InputError(instance.failure() or self.origin)
        carried = [places.final(i, done) for i in range(self.layout.carried)]
        return Outcome(carried, [o if len(o) == done else o[:done].copy() for o in places.outputs], done)

    def _first_rows(self) -> int:
        """Rows to begin with: all there will be, unless the condition may end the loop before."""
        if self.total is None:
            return FIRST_ROWS
        return min(self.total, FIRST_ROWS) if self.layout.condition >= 0 else self.total

    def _outputs(self, rows: int) -> list[Array]:
        assert isinstance(self.node.end, ReturnEnd)
        begin = self.layout.results_before + self.layout.carried
        outputs: list[Array] = []
        for result in self.node.end.results[begin:]:
            shape, dtype = signature_of(result)
            check_size(dtype, (rows, *shape), self.origin)
            nbytes = rows * math.prod(shape) * dtype.itemsize
            outputs.append(fresh_array((rows, *shape), dtype, nbytes))
        return outputs

    def _with_rows(self, places: Places, rows: int) -> Places:
        """The same places with more rows for the scan outputs; what is in the rows so far stays."""
        outputs = self._outputs(rows)
        for new, old in zip(outputs, places.outputs, strict=True):
            new[: len(old)] = old
        return replace(places, outputs=outputs)


class _Stretch:
    """The table of an instance, run iteration by iteration."""

    def __init__(self, instance: Instance, loop: NativeLoop) -> None:
        self._instance, self._loop = instance, loop
        self._chunk = 1

    def begin(self, places: Places) -> None:
        """Sets the addresses of the first iteration."""
        self._moves = places.moves(True, self._instance.statuses)

    def go_on(self, places: Places) -> None:
        """Sets the addresses of the iterations that follow."""
        self._moves = places.moves(False, self._instance.statuses)

    def run(self, begin: int, end: int) -> tuple[int, int]:
        """Runs some iterations, `end` not included: the one to run next, and why it stopped there."""
        end = min(end, begin + self._chunk)
        start = time.perf_counter()
        code = self._loop(*self._instance.addresses, address_of(self._moves), begin, end)
        spent = time.perf_counter() - start
        check_terminated()
        if spent < SLICE_SECONDS / 4 and end - begin == self._chunk:
            self._chunk *= 4
        elif end - begin == 1 and spent > SLICE_SECONDS:
            # Not even one iteration is over soon: its records are run in slices.
            self._loop = python_loop(self._instance)
        return code >> REASON_BITS, code & ((1 << REASON_BITS) - 1)


def python_loop(instance: Instance) -> NativeLoop:
    """What `loop_code` does in Python: for stretches that threads share, or that are long."""

    def loop(table: int, starts: int, records: int, moves: int, begin: int, end: int) -> int:
        words = list((ctypes.c_int64 * HEADER_WORDS).from_address(moves))
        counter, condition, (addresses, statuses, copies) = words[0], words[1:4], words[4:]
        count = HEADER_WORDS + addresses * ADDRESS_WORDS + statuses + copies * COPY_WORDS
        words = list((ctypes.c_int64 * count).from_address(moves))
        first_status = HEADER_WORDS + addresses * ADDRESS_WORDS
        first_copy = first_status + statuses
        word_at = ctypes.c_int64.from_address
        for i in range(begin, end):
            for at in range(HEADER_WORDS, first_status, ADDRESS_WORDS):
                word_at(table + 8 * words[at]).value = Place(*words[at + 1 : at + 4]).at(i)
            if counter:
                word_at(counter).value = i
            instance.run_records()
            if any(word_at(status).value for status in words[first_status:first_copy]):
                return i << REASON_BITS | CHECK_FAILED
            for at in range(first_copy, count, COPY_WORDS):
                source, target = Place(*words[at : at + 3]), Place(*words[at + 3 : at + 6])
                ctypes.memmove(target.at(i), source.at(i), words[at + 6])
            if condition[0] and not ctypes.c_uint8.from_address(Place(*condition).at(i)).value:
                return (i + 1) << REASON_BITS | CONDITION_FALSE
        return max(begin, end) << REASON_BITS | AT_END

    return loop
