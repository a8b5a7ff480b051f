"""How does a stretch of checked kernels run? Record by record, with a look at memory after each.

Before a record runs, its outputs hold what no kernel would leave there and the red zones a pattern. After it
the fault words and the red zones are looked at.
"""

from __future__ import annotations

import ctypes

from onnxloom.errors import KernelFault
from onnxloom.lowering.checked.fault import FAULT_BYTES, Fault
from onnxloom.lowering.plan.checked_records import CheckedRecord, CheckedStretch
from onnxloom.lowering.plan.node import Node
from onnxloom.lowering.plan.program import named
from onnxloom.lowering.plan.record import HEADER
from onnxloom.lowering.runtime.instance import Executor, Instance

UNWRITTEN = 0xFF
"""What memory that no kernel has written yet holds in every byte: NaN in all float types, -1 in integers."""

ZONE = 0xA5
"""What red zones hold in every byte."""


class CheckedInstance(Instance):
    """Table and arena of one stretch of checked kernels."""

    def __init__(self, node: Node, checked: CheckedStretch, executor: Executor) -> None:
        super().__init__(node, executor)
        self._records = checked.records
        self._arena[:] = UNWRITTEN
        end = checked.fault_at + FAULT_BYTES
        self._fault = self._arena[checked.fault_at : end].data.cast("q")
        self._slices = (self._run_checked,)

    def _run_checked(self) -> None:
        """Runs the records. Raises KernelFault."""
        for number, record in enumerate(self._records):
            self._prepare(number, record)
            self._executor(self._table_address, self._starts_address, number, number + 1)
            self._look(record)

    def _prepare(self, number: int, record: CheckedRecord) -> None:
        self._arena[-FAULT_BYTES:] = 0
        for begin, end, _ in record.zones:
            self._arena[begin:end] = ZONE
        first = int(self._starts[number]) + HEADER
        for buffer, nbytes in record.fresh:
            if nbytes:
                ctypes.memset(self._words[first + buffer], UNWRITTEN, nbytes)

    def _look(self, record: CheckedRecord) -> None:
        launch = record.launch
        fault = Fault.read(self._fault.tolist())
        if fault is not None:
            values = (*launch.ins, *launch.outs)
            sizes = [value.dtype.itemsize if value.dtype is not None else 0 for value in values]
            self._raise(record, fault.text(len(launch.ins), sizes))
        for begin, end, place in record.zones:
            zone = self._arena[begin:end]
            if (zone != ZONE).any():
                at = int((zone != ZONE).argmax())
                self._raise(
                    record, f"the byte at {at} {place} was written, and by no access that was checked"
                )

    def _raise(self, record: CheckedRecord, problem: str) -> None:
        raise KernelFault(named(record.launch.origin, f"kernel {record.launch.kernel}: {problem}"))
