"""How far does a chain reach? It grows from its head in block order, taking what may join.

One forward walk gives everything the decision needs without a position map: which values are still
read by ops that did not join, and which producers come after the first of those readers and are
therefore out of reach for a fused op that must stand before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from xdsl.ir import Block, Operation, SSAValue

from onnxloom.dialects.onnx import ConstantOp, NoValueOp
from onnxloom.transforms.fusion.body import is_cloned
from onnxloom.transforms.fusion.match import Miss
from onnxloom.transforms.fusion.order import producer_in, user_in
from onnxloom.transforms.fusion.spaces import shape_of

_LOOKAHEAD: Final = 128
"""Ops without one that joins after which the walk ends: keeps detection linear."""


@dataclass(frozen=True)
class Step:
    """The state of a chain after one op joined."""

    op_count: int
    open_values: int
    """How many values of the chain have readers that are not in it."""


@dataclass
class Chain:
    """A chain that grows."""

    block: Block
    ops: list[Operation] = field(default_factory=list[Operation])
    """In the order they joined; producers taken in along with an op come right before it."""

    steps: list[Step] = field(default_factory=list[Step])
    stops: list[Miss] = field(default_factory=list[Miss])
    """Why readers of the chain did not join, in order."""

    late: set[Operation] = field(default_factory=set[Operation])
    """Ops at or after the first reader that did not join."""

    inputs: set[SSAValue] = field(default_factory=set[SSAValue])
    """Tensors read from outside, constants of more than one element included."""

    _inside: set[Operation] = field(default_factory=set[Operation])
    _open: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    _readers: set[Operation] = field(default_factory=set[Operation])

    def __contains__(self, op: object) -> bool:
        return op in self._inside

    def __len__(self) -> int:
        return len(self.ops)

    def add(self, op: Operation) -> None:
        self.ops.append(op)
        self._inside.add(op)
        self.late.discard(op)
        self._readers.discard(op)
        self.inputs.difference_update(op.results)
        for operand in op.operands:
            if operand.owner not in self._inside and is_tensor_input(operand):
                self.inputs.add(operand)
            left = self._open.get(operand)
            if left is not None:
                self._set_open(operand, left - 1)
        for result in op.results:
            uses = 0
            for use in result.uses:
                # An op taken in as a producer may be read by a member only.
                uses += use.operation not in self._inside
                reader = user_in(self.block, use.operation)
                if reader not in self._inside:
                    self._readers.add(reader)
            self._set_open(result, uses)

    def close_step(self) -> None:
        self.steps.append(Step(len(self.ops), len(self._open)))

    def reads(self, op: Operation) -> bool:
        """Whether `op`, or an op nested in it, reads a value of the chain."""
        return op in self._readers

    def pass_by(self, op: Operation) -> None:
        """`op` does not join."""
        if op in self._readers:
            self._readers.discard(op)
            self.late.add(op)
        elif self.late:
            self.late.add(op)

    def has_readers_ahead(self) -> bool:
        return bool(self._readers)

    def input_count_with(self, taken: Sequence[Operation]) -> int:
        """How many inputs there are once `taken` have joined."""
        made = {result for op in taken for result in op.results}
        extra = {
            operand
            for op in taken
            for operand in op.operands
            if operand not in made and operand.owner not in self._inside and is_tensor_input(operand)
        }
        return len((self.inputs | extra) - made)

    def is_late(self, value: SSAValue) -> bool:
        """Whether the value is made where a fused op of this chain can no longer stand."""
        producer = producer_in(self.block, value)
        return producer is not None and producer in self.late

    def _set_open(self, value: SSAValue, uses: int) -> None:
        if uses:
            self._open[value] = uses
        else:
            # Kept out of the count: every reader is inside.
            self._open.pop(value, None)

    def best(self, is_legal: Callable[[Step], bool]) -> Sequence[Operation]:
        """The longest beginning of the chain that is legal."""
        for step in reversed(self.steps):
            if is_legal(step):
                return self.ops[: step.op_count]
        return ()


Join = Callable[[Chain, Operation], "Sequence[Operation] | Miss"]
"""(chain, op that reads from it) -> the ops that join: producers to take in, then the op itself."""


def is_tensor_input(value: SSAValue) -> bool:
    """Whether a kernel needs a buffer for the value: not for absent values and scalar constants."""
    return not is_cloned(value) or math.prod(shape_of(value) or (1,)) != 1


def grow(
    head: Operation,
    join: Join,
    *,
    lead: Sequence[Operation] = (),
    until: Operation | None = None,
    visit: Callable[[Chain, Operation], None] | None = None,
) -> Chain:
    """The chain that starts with `head`: all later readers of it that `join` accepts.

    `lead` are producers taken in along with the head. Ends after `until`. `visit` is told every op
    that stays outside.
    """
    block = head.parent
    assert block is not None
    chain = Chain(block)
    for member in (*lead, head):
        chain.add(member)
    chain.close_step()
    patience = _LOOKAHEAD
    op = head.next_op
    while op is not None and patience and chain.has_readers_ahead():
        if chain.reads(op):
            taken = join(chain, op)
            if isinstance(taken, Miss):
                chain.stops.append(taken)
                chain.pass_by(op)
                if visit is not None:
                    visit(chain, op)
            else:
                for member in taken:
                    chain.add(member)
                chain.close_step()
                patience = _LOOKAHEAD + 1
        elif not isinstance(op, ConstantOp | NoValueOp):
            chain.pass_by(op)
            if visit is not None:
                visit(chain, op)
        patience -= not isinstance(op, ConstantOp | NoValueOp)
        op = op.next_op if op is not until else None
    return chain


def results_of(ops: Sequence[Operation]) -> list[SSAValue]:
    """The values that anything outside reads, in order of the ops."""
    inside = set(ops)
    return [
        result
        for op in ops
        for result in op.results
        if any(use.operation not in inside for use in result.uses)
    ]
