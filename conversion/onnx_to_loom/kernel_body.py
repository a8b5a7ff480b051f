"""How is the inside of a kernel written? `KernelBody`: loops, loads, stores and index arithmetic.

Loops are context managers, so that a kernel reads like the loop nest it is:

    with body.loop(rows) as i:
        total = body.reduce(cols, [zero], lambda j, acc: [s.add(acc[0], body.load(x, body.at(i, cols, j)))])
        body.store(total[0], y, i)
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, UnitAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from onnxloom.dialects.loom.kernel import EndOp, KernelOp
from onnxloom.dialects.loom.tasks import TASKS, WorkerOp
from onnxloom.dialects.onnx.semantics import quick_ops
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, constant_of

PARALLEL = "loom.parallel"
"""Unit attribute of loops whose iterations do not depend on each other."""

LANES = "loom.lanes"
"""Unit attribute of loops whose iterations are the lanes of vectors."""

REASSOCIATE = "loom.reassociate"
"""Unit attribute of float additions and multiplications whose order may change."""


class KernelBody:
    """A kernel being written: buffers first (inputs, then outputs), then `index` sizes."""

    def __init__(
        self,
        name: str,
        ins: Sequence[Attribute],
        outs: Sequence[Attribute],
        sizes: int,
        out_access: str = "write",
    ):
        """`ins` and `outs` are storage types of elements; `sizes` is the number of index arguments."""
        buffers = [MemRefType(t, [DYNAMIC_INDEX]) for t in (*ins, *outs)]
        access = ["read"] * len(ins) + [out_access] * len(outs)
        self.op = KernelOp(name, [*buffers, *[quick_ops.INDEX] * sizes], access)
        self.block = self.op.body.block
        self.builder = Builder(InsertPoint.at_end(self.block))
        self.scalars = Scalars(self.builder, self.block)
        self.ins: Sequence[SSAValue] = self.block.args[: len(ins)]
        self.outs: Sequence[SSAValue] = self.block.args[len(ins) : len(buffers)]
        self.sizes: Sequence[SSAValue] = self.block.args[len(buffers) :]
        self._held: dict[SSAValue, Scalar] = {}

    def end(self) -> KernelOp:
        """The finished kernel."""
        self.builder.insert(EndOp.create())
        return self.op

    # Index arithmetic, folded where an operand is a constant

    def index(self, value: int) -> Scalar:
        """A constant of type index."""
        return self.scalars.index(value)

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        """a + b of indices."""
        ca, cb = constant_of(a), constant_of(b)
        if ca is not None and cb is not None:
            return self.index(int(ca + cb))
        if ca == 0:
            return b
        return a if cb == 0 else self.scalars.add(a, b)

    def sub(self, a: Scalar, b: Scalar) -> Scalar:
        """a - b of indices."""
        return a if constant_of(b) == 0 else self.scalars.sub(a, b)

    def mul(self, a: Scalar, b: Scalar) -> Scalar:
        """a * b of indices."""
        ca, cb = constant_of(a), constant_of(b)
        if ca is not None and cb is not None:
            return self.index(int(ca * cb))
        if ca == 0 or cb == 0:
            return self.index(0)
        if ca == 1:
            return b
        return a if cb == 1 else self.scalars.mul(a, b)

    def remainder(self, a: Scalar, b: Scalar) -> Scalar:
        """a % b of indices with the sign of a; b is not 0."""
        return self.scalars.emit(quick_ops.binary(arith.RemSIOp, a, b))

    def at(self, i: Scalar, size: Scalar, j: Scalar) -> Scalar:
        """i * size + j: the row-major offset of (i, j)."""
        return self.add(self.mul(i, size), j)

    def to_index(self, value: Scalar) -> Scalar:
        """A signed integer as an index."""
        return self.scalars.emit(arith.IndexCastOp(value, IndexType()))

    def from_index(self, value: Scalar, target: Attribute) -> Scalar:
        """An index as a signless integer."""
        return self.scalars.emit(arith.IndexCastOp(value, target))

    # Memory

    def load(self, buffer: SSAValue, offset: Scalar) -> Scalar:
        """The element at `offset`."""
        return self.scalars.emit(quick_ops.load(buffer, offset))

    def load_fixed(
        self, buffers: Sequence[SSAValue], offsets: Sequence[Scalar], strides: Sequence[int | None]
    ) -> list[Scalar | None]:
        """Before a loop: the elements of the buffers that do not move in it (stride 0), None for others.

        Stores of the loop may alias them as far as a compiler can tell; it would load them each time.
        """
        rows = zip(buffers, offsets, strides, strict=True)
        return [
            self._held[buffer] if buffer in self._held else self.load(buffer, at) if stride == 0 else None
            for buffer, at, stride in rows
        ]

    def hold(self, buffers: Sequence[SSAValue]) -> None:
        """Loads buffers of one element at once: `load_fixed` gives these elements, wherever it stands."""
        for buffer in buffers:
            self._held[buffer] = self.load(buffer, self.index(0))

    def store(self, value: Scalar, buffer: SSAValue, offset: Scalar) -> None:
        """Writes the element at `offset`."""
        element = cast("MemRefType[Attribute]", buffer.type).element_type
        if value.type != element:
            raise TypeError(f"cannot store a value of type {value.type} to a buffer of {element}")
        self.builder.insert(quick_ops.store(value, buffer, offset))

    def scratch(self, element: Attribute, size: int) -> SSAValue:
        """A small buffer of static size that lives as long as the kernel runs."""
        op = memref.AllocaOp.get(element, shape=[size])
        first = self.block.first_op
        if first is None:
            self.builder.insert(op)
        else:
            self.block.insert_op_before(op, first)
        return op.results[0]

    # Control flow

    @contextmanager
    def _inside(self, block: Block) -> Generator[None]:
        outer = self.builder.insertion_point
        self.builder.insertion_point = InsertPoint.at_end(block)
        yield
        self.builder.insertion_point = outer

    @contextmanager
    def loop(self, size: Scalar, *, parallel: bool = False, start: Scalar | None = None) -> Generator[Scalar]:
        """`for i in range(start or 0, size)`; `parallel` says that no iteration depends on another."""
        block = Block(arg_types=[quick_ops.INDEX])
        op = quick_ops.loop((start or self.index(0), size, self.index(1)), (), Region(block))
        if parallel:
            op.attributes[PARALLEL] = UnitAttr()
        with self._inside(block):
            yield block.args[0]
            self.builder.insert(quick_ops.end_of())
        self.builder.insert(op)

    @contextmanager
    def lanes(self, count: int) -> Generator[Scalar]:
        """`for i in range(count)`, all iterations at once: values that depend on `i` become vectors.

        Iterations do not depend on each other. Loops (`reduce` too) and branches inside are run once for all
        of them, so their bounds and conditions must not depend on `i`; else this is an ordinary loop.
        Elements at `base + i` are one load or store.
        """
        block = Block(arg_types=[quick_ops.INDEX])
        op = quick_ops.loop((self.index(0), self.index(count), self.index(1)), (), Region(block))
        op.attributes[LANES] = UnitAttr()
        with self._inside(block):
            yield block.args[0]
            self.builder.insert(quick_ops.end_of())
        self.builder.insert(op)

    @contextmanager
    def tasks(self, count: Scalar) -> Generator[Scalar]:
        """The outermost loop of a kernel, shared out among threads: no iteration touches what another writes.

        It stands alone in the kernel (before it come index arithmetic and loads of inputs only), and `count`
        follows from the sizes. Buffers of `scratch` belong to the thread; so does `private` memory.
        """
        with self.loop(count) as i:
            yield i
        op = self.block.last_op
        assert op is not None
        op.attributes[TASKS] = UnitAttr()

    @contextmanager
    def task_nest(self, *counts: Scalar) -> Generator[list[Scalar]]:
        """Nested loops over `counts` (the last one runs fastest) as one loop of tasks; gives the indices."""
        total = self.index(1)
        for count in counts:
            total = self.mul(total, count)
        with self.tasks(total) as task:
            yield self.split(task, counts)

    def split(self, index: Scalar, counts: Sequence[Scalar]) -> list[Scalar]:
        """The row-major position of `index` in an array of `counts`."""
        position: list[Scalar] = []
        for count in reversed(counts[1:]):
            if constant_of(count) == 1:
                position.append(self.index(0))
                continue
            position.append(self.remainder(index, count))
            index = self.scalars.emit(quick_ops.binary(arith.DivSIOp, index, count))
        return [*([index] if counts else []), *reversed(position)]

    def private(self, size: Scalar) -> Scalar:
        """Where this thread's `size` elements begin in a buffer made by `KernelBuilder.private`."""
        return self.mul(self.scalars.emit(WorkerOp()), size)

    def reduce(
        self,
        size: Scalar,
        init: Sequence[Scalar],
        step: Callable[[Scalar, Sequence[Scalar]], Sequence[Scalar]],
        *,
        start: Scalar | None = None,
        parallel: bool = False,
    ) -> Sequence[Scalar]:
        """A loop that carries values: `acc = step(i, acc)` for each i; gives the last `acc`.

        `parallel` says that no iteration reads what another one stores.
        """
        block = Block(arg_types=[quick_ops.INDEX, *(v.type for v in init)])
        begin = start or self.index(0)
        one = self.index(1)
        with self._inside(block):
            carried = step(block.args[0], block.args[1:])
            given, wanted = [v.type for v in carried], [v.type for v in init]
            if given != wanted:
                raise TypeError(f"the step of a reduction gives {_listed(given)}, init has {_listed(wanted)}")
            self.builder.insert(quick_ops.end_of(carried))
        op = quick_ops.loop((begin, size, one), init, Region(block))
        if parallel:
            op.attributes[PARALLEL] = UnitAttr()
        self.builder.insert(op)
        return op.results

    def repeat(
        self,
        init: Sequence[Scalar],
        condition: Callable[[Sequence[Scalar]], Scalar],
        step: Callable[[Sequence[Scalar]], Sequence[Scalar]],
    ) -> Sequence[Scalar]:
        """`while condition(acc): acc = step(acc)`; gives the last `acc`."""
        return repeated(self.builder, init, condition, step)

    def when(
        self, condition: Scalar, step: Callable[[], Sequence[Scalar]], otherwise: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        """What `step()` gives where the condition holds, else `otherwise`: an `scf.if` with results."""
        then, other = Block(), Block()
        with self._inside(then):
            self.builder.insert(quick_ops.end_of(step()))
        with self._inside(other):
            self.builder.insert(quick_ops.end_of(otherwise))
        op = scf.IfOp(condition, [v.type for v in otherwise], Region(then), Region(other))
        self.builder.insert(op)
        return op.results

    @contextmanager
    def branch(self, condition: Scalar) -> Generator[tuple[Block, Block]]:
        """An `scf.if` without results; write the two blocks with `inside`."""
        then, other = Block(), Block()
        yield then, other
        for block in (then, other):
            block.add_op(quick_ops.end_of())
        self.builder.insert(scf.IfOp(condition, [], Region(then), Region(other)))

    def inside(self, block: Block) -> AbstractContextManager[None]:
        """Writes to the end of `block` for the time of the `with` statement."""
        return self._inside(block)


def repeated(
    builder: Builder,
    init: Sequence[Scalar],
    condition: Callable[[Sequence[Scalar]], Scalar],
    step: Callable[[Sequence[Scalar]], Sequence[Scalar]],
) -> Sequence[Scalar]:
    """As `KernelBody.repeat`, where only scalars are written."""
    before, after = (Block(arg_types=[v.type for v in init]) for _ in range(2))
    outer = builder.insertion_point
    builder.insertion_point = InsertPoint.at_end(before)
    builder.insert(scf.ConditionOp(condition(before.args), *before.args))
    builder.insertion_point = InsertPoint.at_end(after)
    builder.insert(quick_ops.end_of(step(after.args)))
    builder.insertion_point = outer
    op = scf.WhileOp(list(init), [v.type for v in init], Region(before), Region(after))
    builder.insert(op)
    return op.results


def _listed(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"
