"""How does the filler get from one observation to the next?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from onnxloom.errors import InputError, ModelError
from onnxloom.lowering.plan.fold import fold_pack, placed, read_only
from onnxloom.lowering.plan.index_ops import evaluate
from onnxloom.lowering.plan.memo import signature
from onnxloom.lowering.plan.node import (
    End,
    Frame,
    LateStep,
    Node,
    ReturnEnd,
    State,
    StepEnd,
    ValueEnd,
    fetch,
)
from onnxloom.lowering.plan.origins import origin_of
from onnxloom.lowering.plan.program import (
    DYNAMIC,
    Block,
    CheckStep,
    EmptyStep,
    HostStep,
    IfStep,
    IndexStep,
    LaunchStep,
    LoopStep,
    PackStep,
    ScanStep,
    Slot,
    Step,
    ViewStep,
    is_array,
    named,
)
from onnxloom.lowering.plan.stretch import Stretch
from onnxloom.lowering.plan.values import (
    Buffer,
    NeedValue,
    Value,
    check_size,
    dims_text,
    known_value,
    only_element,
)

if TYPE_CHECKING:
    from onnxloom.lowering.plan.fill import Filler


_LARGEST = (1 << 63) - 1
"""Sizes are passed to kernels as 64-bit words."""


@dataclass
class _Open:
    """A block being walked."""

    block: Block
    pc: int
    slots: list[Slot]
    results: tuple[Slot, ...]


class Walk:
    """One stretch being filled, from `state` to the next observation or the return."""

    def __init__(self, filler: Filler, state: State) -> None:
        self.filler = filler
        self.frames = [_Open(f.block, f.pc, list(f.slots), f.results) for f in state.frames]
        self.env = dict(state.env)
        self.covered = state.covered
        self.expected = state.expected
        self.stretch = Stretch(state.cells)
        self.late: list[tuple[HostStep, list[Value], tuple[int, ...]]] = []
        """Steps with their arguments, and the cells of their results."""

    def node(self) -> Node:
        """Walks to the end of the stretch."""
        while True:
            frame = self.frames[-1]
            if frame.pc == len(frame.block.steps):
                if len(self.frames) == 1:
                    return self._finish_return()
                self._leave()
                continue
            step = frame.block.steps[frame.pc]
            try:
                ended = self._step(step)
            except NeedValue as need:
                return self._finish_value(need.value, step)
            if ended:
                assert isinstance(step, HostStep | LoopStep | ScanStep)
                return self._finish_step(step)

    # Slots and blocks

    def get(self, slot: Slot) -> Value | int:
        value = self.env.get(slot)
        if value is None:
            value = self.filler.constant(slot)
        if value is None:
            raise ModelError(f"program {self.filler.program.name}: slot {slot} is read before it is set")
        return value

    def value(self, slot: Slot) -> Value:
        value = self.get(slot)
        assert isinstance(value, Value)
        return value

    def values(self, slots: Sequence[Slot]) -> list[Value]:
        return [self.value(s) for s in slots]

    def ints(self, slots: Sequence[Slot]) -> list[int]:
        found = [self.get(slot) for slot in slots]
        sizes = [v for v in found if isinstance(v, int)]
        if len(sizes) != len(found):
            raise ModelError("the program uses a tensor as a size")
        return sizes

    def bind(self, slot: Slot, value: Value | int) -> None:
        """Sets a slot of the innermost block. Kernels trust declared types, so these are checked here."""
        if isinstance(value, Value):
            self._check_declared(slot, value)
        self.env[slot] = value
        self.frames[-1].slots.append(slot)

    def _check_declared(self, slot: Slot, value: Value) -> None:
        program, dtype = self.filler.program, self.filler.dtypes[slot]
        spec = program.specs[slot]
        if spec.kind != "tensor":
            return
        if value.dtype is None:  # a sequence, which no kernel reads where the rank is not known
            if spec.shape is None:
                return
            problem = f"is no tensor; the model declares a tensor of shape {dims_text(spec.shape)}"
            raise self._error(f"a value of {program.name} {problem}")
        if value.dtype != dtype:
            problem = f"has elements of type {value.dtype}; the model declares {dtype}"
            raise self._error(f"a value of {program.name} {problem}")
        if not spec.accepts(value.shape):
            problem = f"has shape {list(value.shape)}; the model declares {dims_text(spec.shape)}"
            raise self._error(f"a value of {program.name} {problem}")

    def _error(self, problem: str) -> ModelError:
        """`problem`, said of the op of the model that the current step is for."""
        frame = self.frames[-1]
        known = frame.pc < len(frame.block.steps)
        return ModelError(named(origin_of(frame.block.steps, frame.pc) if known else "", problem))

    def advance(self) -> None:
        self.frames[-1].pc += 1
        self.covered += 1

    def _enter(self, block: Block, results: tuple[Slot, ...]) -> None:
        self.frames.append(_Open(block, 0, [], results))
        self.expected += len(block.steps)

    def _leave(self) -> None:
        frame = self.frames.pop()
        values = [self.get(slot) for slot in frame.block.yields]
        for slot in frame.slots:
            self.env.pop(slot, None)
        for slot, value in zip(frame.results, values, strict=True):
            self.bind(slot, value)
        self.advance()

    # Steps

    def _step(self, step: Step) -> bool:
        """Does one step; True when Python must run it first."""
        match step:
            case IndexStep(op="loom.workers"):
                self.bind(step.results[0], self.filler.threads)
            case IndexStep():
                operands = [self.get(s) for s in step.operands]
                for slot, result in zip(
                    step.results, evaluate(step, operands, self.filler.memo), strict=True
                ):
                    self.bind(slot, result)
            case EmptyStep():
                self.bind(step.result, self._empty(step))
            case ViewStep():
                self.bind(step.result, self._view(step))
            case LaunchStep():
                self._launch(step)
            case CheckStep():
                self._check(step)
            case PackStep():
                self.bind(step.result, self._pack(step))
            case HostStep():
                if not self._host(step):
                    if not _is_unobserved(step):
                        return True
                    self._put_off(step)
            case IfStep():
                condition = self.get(step.condition)
                if isinstance(condition, Value):
                    condition = only_element(condition.array(), step.origin, "its condition")
                taken = bool(condition)
                self._enter(step.then_block if taken else step.else_block, step.results)
                return False
            case LoopStep() | ScanStep():
                return True
        self.advance()
        return False

    def _empty(self, step: EmptyStep) -> Value:
        sizes = iter(self.ints(step.sizes))
        shape = tuple(next(sizes) if d == DYNAMIC else d for d in step.shape)
        if any(d < 0 for d in shape):
            raise ModelError(named(step.origin, f"a result would have shape {list(shape)}"))
        dtype = self.filler.dtypes[step.result]
        check_size(dtype, shape, step.origin)
        return Value(dtype, shape)

    def _view(self, step: ViewStep) -> Value:
        source = self.value(step.source)
        shape = tuple(self.ints(step.sizes))
        offset = self.ints([step.offset])[0]
        dtype = self.filler.dtypes[step.result]
        assert source.dtype is not None and dtype is not None
        view = Value(dtype, shape, buffer=source.buffer, offset=source.offset + offset * dtype.itemsize)
        if offset < 0 or offset * dtype.itemsize + view.nbytes > source.nbytes or any(d < 0 for d in shape):
            problem = f"a view of shape {list(shape)} does not fit a value of {list(source.shape)}"
            raise self._error(problem)
        if source.is_known:
            flat = source.known.reshape(-1)
            size = int(np.prod(shape, dtype=np.int64))
            known = known_value(flat[offset : offset + size].reshape(shape))
            known.part = source.part_from(offset * dtype.itemsize, shape)
            return known
        return view

    def _launch(self, step: LaunchStep) -> None:
        ins, outs = self.values(step.ins), self.values(step.outs)
        if any(v.buffer is not None and v.buffer.cell is not None or v.is_known for v in outs):
            raise self._error(f"loom.launch @{step.kernel} would write to a value that is not its own")
        if any(not v.is_known and v.buffer is None for v in ins):
            raise self._error(f"loom.launch @{step.kernel} reads a value that nothing was written to")
        for value in ins:
            if value.is_known:
                value.known = placed(value.known)
        sizes = self.ints(step.sizes)
        if sizes and (max(sizes) > _LARGEST or min(sizes) < ~_LARGEST):
            raise self._error(
                f"loom.launch @{step.kernel}: a size of {max(sizes, key=abs):,} is out of range"
            )
        frame = self.frames[-1]
        filled = self.stretch.launch(step.kernel, ins, outs, sizes, step.inplace, frame.block.steps, frame.pc)
        for slot, result, value in zip(step.outs, step.results, filled, strict=True):
            self.env[slot] = value
            self.bind(result, value)

    def _check(self, step: CheckStep) -> None:
        status = self.get(step.status)
        if isinstance(status, Value):
            self.stretch.check(status, step)
        elif status:
            raise InputError(step.text([status]))

    def _pack(self, step: PackStep) -> Value:
        source = self.value(step.source)
        array = source.array()
        key = ("pack", step.layout, step.params, signature(source))
        packed = self.filler.memo.get(key)
        if packed is None:
            packed = fold_pack(step, array)
            self.filler.memo.put(key, packed)
        return known_value(packed)

    def _host(self, step: HostStep) -> bool:
        """Evaluates a host step here and now if all it reads is known."""
        args = self.values(step.args)
        only_shape = [i in step.shape_only for i in range(len(args))]
        if step.volatile or not all(a.is_known or s for a, s in zip(args, only_shape, strict=True)):
            return False
        signatures = tuple(signature(a, s) for a, s in zip(args, only_shape, strict=True))
        key = ("host", tuple(n.proto for n in step.nodes), step.arg_names, step.constants, signatures)
        results = self.filler.memo.get(key)
        if results is None:
            inputs = [a.known if a.is_known else a.stand_in() for a in args]
            results = [read_only(r) for r in self.filler.run_host(step, inputs)]
            if all(is_array(r) for r in results):
                self.filler.memo.put(key, results)
        for slot, result in zip(step.results, results, strict=True):
            self.bind(slot, known_value(result))
        return True

    def _put_off(self, step: HostStep) -> None:
        """Has a step run behind the records of the stretch."""
        args = [self._argument(slot, i in step.shape_only) for i, slot in enumerate(step.args)]
        cells = tuple(self.stretch.new_cell() for _ in step.results)
        self.late.append((step, args, cells))
        for slot, cell in zip(step.results, cells, strict=True):
            self.bind(slot, Value(None, (), buffer=Buffer(0, cell)))

    # Ends

    def _live(self) -> dict[Slot, Value | int]:
        """The slots that steps to come may read."""
        last_use = self.filler.program.last_use
        return {
            slot: self.env[slot]
            for frame in self.frames
            for slot in frame.slots
            if slot in self.env and last_use.get(slot, -1) >= frame.pc
        }

    def _finish_return(self) -> Node:
        if self.covered != self.expected:
            raise AssertionError(f"a plan covers {self.covered} of {self.expected} steps")
        results = self.values(self.frames[0].block.yields)
        return self._build(results, {}, lambda: ReturnEnd(tuple(fetch(v) for v in results)))

    def _finish_value(self, value: Value, step: Step) -> Node:
        live = self._live()
        branch = isinstance(step, IfStep)
        origin = step.origin if isinstance(step, IfStep | IndexStep) else ""
        return self._build([value], live, lambda: ValueEnd(fetch(value), value, branch, origin))

    def _finish_step(self, step: HostStep | LoopStep | ScanStep) -> Node:
        shape_only = step.shape_only if isinstance(step, HostStep) else ()
        args = [self._argument(slot, i in shape_only) for i, slot in enumerate(_operands(step))]
        self.frames[-1].pc += 1
        live = self._live()
        self.frames[-1].pc -= 1

        def end() -> StepEnd:
            cells = tuple(self.stretch.new_cell() for _ in step.results)
            return StepEnd(step, tuple(fetch(a) for a in args), cells)

        return self._build(args, live, end)

    def _argument(self, slot: Slot, shape_only: bool) -> Value:
        """What Python is given for a slot."""
        value = self.get(slot)
        if isinstance(value, int):  # a size that a loop's body captures
            return known_value(value)
        return known_value(value.stand_in()) if shape_only and not value.is_known else value

    def _build(self, fetched: Sequence[Value], live: dict[Slot, Value | int], end: Callable[[], End]) -> Node:
        """The node of what was walked; `fetched` is what its end reads, `live` what its children may."""
        late = [arg for _, args, _ in self.late for arg in args]
        kept = [v for v in (*fetched, *live.values(), *late) if isinstance(v, Value)]
        self.stretch.share(kept)
        self.stretch.escape(kept)
        table = self.stretch.table(self.filler.kernel_address, self.filler.share, self.filler.checked)
        made = end()
        frames = tuple(
            Frame(f.block, f.pc, tuple(s for s in f.slots if s in live), f.results) for f in self.frames
        )
        return Node(
            table=np.array(table.words, np.int64),
            starts=np.array(table.starts, np.int64),
            launches=tuple(self.stretch.launches),
            arena_bytes=table.arena_bytes,
            arena_at=(
                np.array([at for at, _ in table.arena], np.int64),
                np.array([offset for _, offset in table.arena], np.int64),
            ),
            cells_at=tuple((cell, tuple(places)) for cell, places in table.cells.items()),
            allocate=tuple(self.stretch.allocate),
            drop=tuple(sorted((_cells(self.env.values()) | _cells(kept)) - _cells(live.values()))),
            keep=list(table.keep.values()),
            checks=table.checks,
            checked=table.checked,
            shared=table.shared,
            end=made,
            late=tuple(LateStep(step, tuple(map(fetch, args)), cells) for step, args, cells in self.late),
            state=State(frames, live, self.stretch.cells, self.covered, self.expected),
        )


def _is_unobserved(step: HostStep) -> bool:
    """Whether plans do not depend on what a step gives: nothing is asked about what is no tensor."""
    return bool(step.dtypes) and not any(step.dtypes)


def _cells(values: Iterable[Value | int]) -> set[int]:
    buffers = [v.buffer for v in values if isinstance(v, Value)]
    return {b.cell for b in buffers if b is not None and b.cell is not None}


def _operands(step: HostStep | LoopStep | ScanStep) -> tuple[Slot, ...]:
    if isinstance(step, HostStep):
        return step.args
    if isinstance(step, LoopStep):
        return (step.trip_count, step.condition, *step.carried, *step.captures)
    return (*step.states, *step.scanned, *step.captures)
