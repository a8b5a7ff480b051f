"""Ops whose results nobody reads are removed, and those that only they read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.transforms.dead_code_elimination import would_be_trivially_dead

from onnxloom.dialects.onnx.annotations import OVERRIDABLE
from onnxloom.transforms.rewriting.cleanup.removal import Removal
from onnxloom.transforms.rewriting.graph_index import GraphIndex


class DeadOps:
    """`y = Op(x)`, y not read -> nothing. Ops without results, and kept ones, stay."""

    name: ClassVar[str] = "dead-ops"

    def __init__(self, index: GraphIndex):
        self.index = index

    def find(self, work: Sequence[Operation]) -> Sequence[Removal]:
        """Linear: every use is counted once."""
        readers: dict[SSAValue, int] = {}
        found: dict[Operation, None] = {}
        pending = list(work)
        while pending:
            op = pending.pop()
            if op in found or not self._is_dead(op, readers):
                continue
            found[op] = None
            for value in self._read_by(op):
                producer = self.index.producer(value)
                if producer is None:
                    continue
                if value in readers:
                    readers[value] -= 1
                else:
                    readers[value] = self._count(value) - 1
                if readers[value] == 0:
                    pending.append(producer)
        return [Removal(op) for op in found]

    def _is_dead(self, op: Operation, readers: dict[SSAValue, int]) -> bool:
        if not op.results:
            return False
        for result in op.results:
            left = readers.get(result)
            if self.index.is_used(result) if left is None else left > 0:
                return False
        return not self.index.is_kept(op) and OVERRIDABLE not in op.attributes and would_be_trivially_dead(op)

    def _count(self, value: SSAValue) -> int:
        return sum(1 for _ in self.index.readers(value))

    def _read_by(self, op: Operation) -> list[SSAValue]:
        """Operands, and what regions read, once per use."""
        values = list(op.operands)
        for region in op.regions:
            for nested in region.walk():
                values.extend(nested.operands)
        return values
