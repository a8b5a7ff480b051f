"""Of two ops that compute the same, the later one is removed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from onnxloom.dialects.onnx import ConstantOp
from onnxloom.transforms.dim_analysis.facts import element_type
from onnxloom.transforms.rewriting.attribute_key import attributes_key
from onnxloom.transforms.rewriting.cleanup.removal import Removal
from onnxloom.transforms.rewriting.graph_index import GraphIndex


class CommonSubexpressions:
    """`Op(x), Op(x) -> Op(x)` for pure ops of one block, attributes compared bit by bit.

    Not merged: random ops, ops with regions, constants (there is a step for them), kept ops.
    """

    name: ClassVar[str] = "common-subexpressions"

    def __init__(self, index: GraphIndex):
        self.index = index
        self._table: dict[Hashable, Operation] | None = None

    def find(self, work: Sequence[Operation]) -> Sequence[Removal]:
        renamed: dict[SSAValue, SSAValue] = {}
        if self._table is None:
            self._table = {}
            work = list(self.index.block.ops)
        found: list[Removal] = []
        gone: set[Operation] = set()
        for op in work:
            if op in gone or not self._may_merge(op):
                continue
            key = self._key(op, renamed)
            other = self._table.get(key)
            if other is None or other is op or not self._still_is(other, key, renamed):
                self._table[key] = op
                continue
            first, second = (other, op) if self._comes_first(other, op) else (op, other)
            self._table[key] = first
            values: dict[SSAValue, SSAValue] = dict(zip(second.results, first.results, strict=True))
            renamed.update(values)
            gone.add(second)
            found.append(Removal(second, values))
        return found

    def _may_merge(self, op: Operation) -> bool:
        return (
            not op.regions
            and not isinstance(op, ConstantOp)
            and not self.index.is_kept(op)
            and is_side_effect_free(op)
        )

    def _key(self, op: Operation, renamed: dict[SSAValue, SSAValue]) -> Hashable:
        operands = tuple(_final(operand, renamed) for operand in op.operands)
        # Shapes may be known differently well; an absent result has no element type.
        elements = tuple(element_type(result.type) for result in op.results)
        return (type(op), operands, attributes_key(op), elements)

    def _still_is(self, op: Operation, key: Hashable, renamed: dict[SSAValue, SSAValue]) -> bool:
        """Whether an op noted earlier is still there and still computes what was noted."""
        return op.parent is self.index.block and self._key(op, renamed) == key

    def _comes_first(self, first: Operation, second: Operation) -> bool:
        return self.index.position(first) < self.index.position(second)


def _final(value: SSAValue, renamed: dict[SSAValue, SSAValue]) -> SSAValue:
    while value in renamed:
        value = renamed[value]
    return value
