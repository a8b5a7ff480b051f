"""How does a stretch of checked kernels run? Record by record, with a look at memory after each.

Before a record runs, its outputs hold what no kernel would leave there and the red zones a pattern. After it
the fault words and the red zones are looked at. Then it runs once more with other memory in the place of what
nobody wrote (`undefined`): what a stretch hands on must not depend on it.
"""

from __future__ import annotations

import ctypes

import numpy as np

from onnxloom.errors import KernelFault
from onnxloom.lowering.checked.fault import FAULT_BYTES, FILL, Fault
from onnxloom.lowering.plan.checked_records import CheckedRecord, CheckedStretch
from onnxloom.lowering.plan.memory import address_of
from onnxloom.lowering.plan.node import Node, ReturnEnd, ValueEnd
from onnxloom.lowering.plan.program import Array, named
from onnxloom.lowering.plan.record import HEADER
from onnxloom.lowering.plan.stretch import Launch
from onnxloom.lowering.runtime.instance import Executor, Instance
from onnxloom.lowering.runtime.termination import check_terminated
from onnxloom.lowering.runtime.undefined import Undefined, UndefinedBytes

UNWRITTEN, OTHER = 0xFF, 0x5A
"""What memory that no kernel has written yet holds in every byte, in the first run of a record and in the
second. The first is NaN in all float types, -1 in integers."""

ZONE = 0xA5
"""What red zones hold in every byte."""


class CheckedInstance(Instance):
    """Table and arena of one stretch of checked kernels."""

    def __init__(self, node: Node, checked: CheckedStretch, executor: Executor) -> None:
        super().__init__(node, executor)
        self._records = checked.records
        self._end = node.end
        self._late = node.late
        self._arena[:] = UNWRITTEN
        end = checked.fault_at + FAULT_BYTES
        self._fault = self._arena[checked.fault_at : end].data.cast("q")
        self._starts_again = node.starts.copy()
        """Starts of the second run of a record. What stands in for an executor to count or time what it runs
        knows a stretch by the address of its starts, and is not to see a record twice."""

    def run_records(self) -> None:
        """Runs the records. Raises KernelFault."""
        undefined = UndefinedBytes()
        for number, record in enumerate(self._records):
            self._run_twice(number, record, undefined)
            check_terminated()
        self._check_what_is_handed_on(undefined)

    def _run_twice(self, number: int, record: CheckedRecord, undefined: UndefinedBytes) -> None:
        ins, values = len(record.launch.ins), record.values()
        held = {n: self._memory(number, n, values[n].nbytes) for n in range(ins, len(values))}
        before = {n: memory.copy() for n, memory in held.items() if n not in record.fresh}
        self._run_once(number, record, held, self._starts, UNWRITTEN)
        first = {n: held[n].copy() for n in record.kept}
        for n, contents in before.items():
            held[n][:] = contents
        changed = [(self._memory(number, n, v.nbytes), undefined.of(v)) for n, v in enumerate(values[:ins])]
        for memory, mask in changed:
            if mask is not None:
                memory[mask] = OTHER
        self._run_once(number, record, held, self._starts_again, OTHER)
        for memory, mask in changed:
            if mask is not None:
                memory[mask] = UNWRITTEN
        for n, contents in first.items():
            mask = contents != held[n]
            undefined.note(values[n], mask, record.launch, _problem(n - ins, mask, contents, held[n]))
            held[n][:] = contents

    def _run_once(
        self, number: int, record: CheckedRecord, held: dict[int, Array], starts: Array, fill: int
    ) -> None:
        self._arena[-FAULT_BYTES:] = 0
        self._fault[FILL] = fill
        for begin, end, _ in record.zones:
            self._arena[begin:end] = ZONE
        for n in record.fresh:
            held[n][:] = fill
        self._executor(self._table_address, address_of(starts), number, number + 1)
        self._look(record)

    def _memory(self, number: int, buffer: int, nbytes: int) -> Array:
        """The bytes of a buffer of record `number`."""
        address = self._words[int(self._starts[number]) + HEADER + buffer]
        return np.ctypeslib.as_array((ctypes.c_ubyte * nbytes).from_address(address))

    def _look(self, record: CheckedRecord) -> None:
        fault = Fault.read(self._fault.tolist())
        if fault is not None:
            sizes = [v.dtype.itemsize if v.dtype is not None else 0 for v in record.values()]
            raise _error(record.launch, fault.text(len(record.launch.ins), sizes))
        for begin, end, place in record.zones:
            wrong = self._arena[begin:end] != ZONE
            if wrong.any():
                at = int(wrong.argmax())
                raise _error(record.launch, f"byte {at} {place} was written, by no access that was checked")

    def _check_what_is_handed_on(self, undefined: UndefinedBytes) -> None:
        if not undefined.found:
            return
        end = self._end
        fetches = (
            end.results if isinstance(end, ReturnEnd) else end.args if not isinstance(end, ValueEnd) else ()
        )
        late = [fetch for step in self._late for fetch in step.args]
        for fetch in (*((end.fetch,) if isinstance(end, ValueEnd) else fetches), *late):
            _blame(undefined.in_cell(fetch))
        for word, _, _ in self._checks:
            _blame(undefined.in_arena(8 * word, 8))


def _problem(output: int, mask: Array, first: Array, second: Array) -> str:
    if not mask.any():
        return ""
    at = int(mask.argmax())
    if (first[mask] == UNWRITTEN).all() and (second[mask] == OTHER).all():
        return f"byte {at} of output {output} is read later and was not written"
    return f"byte {at} of output {output} depends on memory that nobody wrote"


def _blame(known: Undefined | None) -> None:
    if known is not None:
        raise _error(known.launch, known.problem)


def _error(launch: Launch, problem: str) -> KernelFault:
    return KernelFault(named(launch.origin, f"kernel {launch.kernel}: {problem}"))
