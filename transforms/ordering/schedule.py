"""What must come before what in a block, and how many bytes are alive at most in a given order?

An estimate from types: dims that are not known count as 1, what arguments and constants hold is there in any
order, and a result that only looks at its operand in another shape takes no memory of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.captures import captured_values
from onnxloom.dialects.onnx.op import NonDeterministic
from onnxloom.transforms.fusion.estimate import byte_count

_VIEWS: Final = (onnx.ReshapeOp, onnx.SqueezeOp, onnx.UnsqueezeOp, onnx.FlattenOp, onnx.IdentityOp)
"""Ops whose result is their first operand in another shape."""

FREE: Final = (onnx.ConstantOp, onnx.NoValueOp)
"""Ops that may stand anywhere before their readers."""


class Schedule:
    """The ops of a block that have a place in an order, by number: their number is their place now."""

    def __init__(self, block: Block) -> None:
        self.ops: list[Operation] = [op for op in block.ops if not _has_no_place(op)]
        self.makers: list[list[int]] = []
        """Op -> the ops that come before it."""

        self.readers: list[list[int]] = [[] for _ in self.ops]
        """Op -> the ops that come after it."""

        self.reads: list[list[int]] = []
        """Op -> the buffers it reads."""

        self.makes: list[list[int]] = []
        """Op -> the buffers it makes."""

        self.sizes: list[int] = []
        """Buffer -> bytes."""

        self.users: list[set[int]] = []
        """Buffer -> the ops that read it."""

        self.lasting: set[int] = set()
        """Buffers that are alive when the block ends."""

        self._buffers: dict[SSAValue, int] = {}
        self._number = {op: number for number, op in enumerate(self.ops)}
        for number, op in enumerate(self.ops):
            self._add(number, op)
        self._chain_random_ops()
        end = block.last_op
        if end is not None:
            self.lasting.update(self._buffers[value] for value in end.operands if value in self._buffers)

    def _add(self, number: int, op: Operation) -> None:
        values = dict.fromkeys((*op.operands, *captured_values(op)))
        owners = (value.owner for value in values)
        numbers = (self._number.get(owner) for owner in owners if isinstance(owner, Operation))
        self.makers.append(sorted({number for number in numbers if number is not None}))
        for maker in self.makers[-1]:
            self.readers[maker].append(number)
        buffers = list(dict.fromkeys(self._buffers[value] for value in values if value in self._buffers))
        self.reads.append(buffers)
        for buffer in buffers:
            self.users[buffer].add(number)
        self.makes.append([])
        if isinstance(op, _VIEWS):
            seen = self._buffers.get(op.operands[0])
            if seen is not None:
                self._buffers[op.results[0]] = seen
            return
        for result in op.results:
            self._buffers[result] = len(self.sizes)
            self.makes[-1].append(len(self.sizes))
            self.sizes.append(byte_count(result)[0])
            self.users.append(set())

    def _chain_random_ops(self) -> None:
        """Random ops draw in the order in which they stand; nobody knows what foreign ops do."""
        numbers = [number for number, op in enumerate(self.ops) if _draws(op)]
        for before, after in zip(numbers, numbers[1:], strict=False):
            self.makers[after].append(before)
            self.readers[before].append(after)

    def peak(self, order: Sequence[int]) -> int:
        """The most bytes alive at a time."""
        waiting = [len(users) for users in self.users]
        alive = peak = 0
        for number in order:
            alive += sum(self.sizes[buffer] for buffer in self.makes[number])
            peak = max(peak, alive)
            for buffer in self.reads[number]:
                waiting[buffer] -= 1
            for buffer in (*self.reads[number], *self.makes[number]):
                if waiting[buffer] == 0 and buffer not in self.lasting:
                    alive -= self.sizes[buffer]
        return peak


def _draws(op: Operation) -> bool:
    """Whether an op, or one in a body of it, is random or foreign."""
    return any(inner.has_trait(NonDeterministic) for inner in op.walk())


def _has_no_place(op: Operation) -> bool:
    return isinstance(op, FREE) or op.has_trait(IsTerminator)
