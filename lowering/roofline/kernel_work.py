"""How much does one launch of a kernel compute and move? Counted on its IR for the actual sizes.

The walk follows control flow with index arithmetic evaluated, and multiplies by trip counts; a tuned tile
counts as its reference loop. Where the bounds inside a loop depend on its iteration (tails, triangles), the
first, the middle and the last iteration are looked at. What depends on data is not known: such a branch
counts as taken half of the time, such a loop as run once; of two sizes it chooses between, the larger counts
(taps of a convolution that may lie in the border).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from onnxloom.dialects.loom.kernel import KernelOp, MicrokernelOp
from onnxloom.lowering.plan.index_ops import ARITH, COMPARE

MATH_FUNCTION: Final = 20
"""Arithmetic operations that a function of the math dialect counts as: about what exp, erf or tanh become."""

_CHEAP: Final = {"math.absf": 1, "math.fma": 2, "math.copysign": 1, "math.floor": 1, "math.ceil": 1}
_FREE: Final = frozenset({"arith.constant", "arith.bitcast", "arith.index_cast", "arith.select"})


@dataclass
class Work:
    """Operations and accesses of one launch."""

    operations: float = 0.0
    """Arithmetic on elements, an FMA counting two; index arithmetic is not counted."""
    loads: dict[int, float] = field(default_factory=dict[int, float])
    """Elements loaded, by number of the buffer; from buffers the kernel reads."""
    stores: dict[int, float] = field(default_factory=dict[int, float])
    """Elements stored, likewise."""


def kernel_work(kernel: KernelOp, sizes: Sequence[int]) -> Work:
    """What a launch of `kernel` with these sizes does."""
    count = _Count()
    count.buffers.update({buffer: number for number, buffer in enumerate(kernel.buffers)})
    count.known.update(zip(kernel.sizes, sizes, strict=True))
    count.block(kernel.body.block, 1.0)
    for number, access in enumerate(kernel.access.data):
        if access.data == "write":  # what it reads back is its own, and in the cache
            count.work.loads.pop(number, None)
    return count.work


class _Count:
    """The state of one walk."""

    def __init__(self) -> None:
        self.work = Work()
        self.known: dict[SSAValue, int] = {}
        """Indices and conditions that do not depend on data."""
        self.buffers: dict[SSAValue, int] = {}
        self._handlers: Mapping[type[Operation], Callable[[Any, float], None]] = {
            scf.ForOp: self._for,
            scf.IfOp: self._if,
            scf.WhileOp: self._regions,
            MicrokernelOp: self._microkernel,
            memref.LoadOp: self._load,
            memref.StoreOp: self._store,
        }

    def block(self, block: Block, times: float) -> None:
        for op in block.ops:
            handler = self._handlers.get(type(op))
            if handler is not None:
                handler(op, times)
            elif op.regions:
                self._regions(op, times)
            else:
                self._plain(op, times)

    def _for(self, op: scf.ForOp, times: float) -> None:
        bounds = [self.known.get(value) for value in (op.lb, op.ub, op.step)]
        body = op.body.block
        index = body.args[0]
        if None in bounds:
            self.known.pop(index, None)
            self.block(body, times)
            return
        indices = range(*cast("list[int]", bounds))
        for at, share in _samples(len(indices), _decides(index)):
            self.known[index] = indices[at]
            self.block(body, times * share)

    def _if(self, op: scf.IfOp, times: float) -> None:
        condition = self.known.get(op.cond)
        if condition is None:
            self._regions(op, times / 2)
            return
        region = op.true_region if condition else op.false_region
        for block in region.blocks:
            self.block(block, times)

    def _regions(self, op: Operation, times: float) -> None:
        for region in op.regions:
            for block in region.blocks:
                self.block(block, times)

    def _microkernel(self, op: MicrokernelOp, times: float) -> None:
        block = op.reference.block
        for inner, outer in zip(block.args, op.args, strict=True):
            for table in (self.known, self.buffers):
                if outer in table:
                    table[inner] = table[outer]
        self.block(block, times)

    def _load(self, op: memref.LoadOp, times: float) -> None:
        self._access(self.work.loads, op.memref, times)

    def _store(self, op: memref.StoreOp, times: float) -> None:
        self._access(self.work.stores, op.memref, times)

    def _access(self, counts: dict[int, float], buffer: SSAValue, times: float) -> None:
        number = self.buffers.get(buffer)
        if number is not None:  # scratch stays in the cache
            counts[number] = counts.get(number, 0.0) + times

    def _plain(self, op: Operation, times: float) -> None:
        if op.name.startswith("vector.") and op.operands:
            self._vector_access(op, times)
            return
        if not op.results:
            return
        result = op.results[0]
        if isinstance(result.type, IndexType) or all(operand in self.known for operand in op.operands):
            self._evaluate(op, result)
            return
        self.work.operations += times * _lanes(result.type) * _operations(op)

    def _vector_access(self, op: Operation, times: float) -> None:
        moved = op.results[0] if op.results else op.operands[0]
        counts = self.work.loads if op.results else self.work.stores
        for operand in op.operands:
            if isinstance(operand.type, MemRefType):
                self._access(counts, operand, times * _lanes(moved.type))

    def _evaluate(self, op: Operation, result: SSAValue) -> None:
        value = self._value(op)
        if value is None:
            self.known.pop(result, None)
        else:
            self.known[result] = value

    def _value(self, op: Operation) -> int | None:
        if isinstance(op, arith.ConstantOp):
            return op.value.value.data if isinstance(op.value, IntegerAttr) else None
        operands = [self.known.get(operand) for operand in op.operands]
        if isinstance(op, arith.SelectOp) and operands[0] is None and None not in operands[1:]:
            return max(cast("list[int]", operands[1:]))
        if None in operands:
            return None
        if isinstance(op, arith.CmpiOp):
            return int(COMPARE[op.predicate.value.data](*operands))
        function = ARITH.get(op.name)
        try:
            return None if function is None else function(*cast("list[int]", operands))
        except ZeroDivisionError:  # in code that is not reached for these sizes
            return None


def _samples(count: int, differ: bool) -> Sequence[tuple[int, float]]:
    """Iterations to look at, and how many each stands for."""
    if not differ or count < 3:
        return [(0, float(count))] if count and not differ else [(at, 1.0) for at in range(count)]
    return [(0, 1.0), (count // 2, count - 2.0), (count - 1, 1.0)]


def _decides(index: SSAValue) -> bool:
    """Whether control flow of a loop's body depends on its index."""
    waiting, seen = [index], {index}
    while waiting:
        for use in waiting.pop().uses:
            op = use.operation
            if isinstance(op, scf.IfOp) or (isinstance(op, scf.ForOp) and use.index < 3):
                return True
            if isinstance(op, MicrokernelOp):
                made: Sequence[SSAValue] = [op.reference.block.args[use.index]]
            else:
                made = op.results if op.name in ARITH or isinstance(op, arith.CmpiOp) else ()
            waiting.extend(value for value in made if value not in seen)
            seen.update(made)
    return False


def _operations(op: Operation) -> int:
    if op.name in _FREE:
        return 0
    if op.name.startswith("math."):
        return _CHEAP.get(op.name, MATH_FUNCTION)
    return int(op.name.startswith("arith."))


def _lanes(type_: Attribute) -> int:
    if not isinstance(type_, VectorType):
        return 1
    count = 1
    for dim in cast("VectorType[Attribute]", type_).get_shape():
        count *= dim
    return count
