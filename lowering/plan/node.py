"""What is a filled plan? A tree of stretches of records, each ended by something only a run can tell.

A node holds the records of one stretch, ready but for the addresses of the arena and of the arrays
of a particular run, and what ends it: the program's return, a value that decides how to go on, or a
step that Python runs. Its children are the stretches that follow, by what was observed.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np

from onnxloom.errors import ModelError
from onnxloom.lowering.plan.checked_records import CheckedStretch
from onnxloom.lowering.plan.program import Array, Block, CheckStep, HostStep, LoopStep, ScanStep, Slot
from onnxloom.lowering.plan.stretch import Launch
from onnxloom.lowering.plan.values import Dims, Value

if TYPE_CHECKING:
    from onnxloom.lowering.runtime.instance import Instance

MAX_CHILDREN = 64
"""Shape keys, or observations at one point, whose plans are kept; the least recently used goes."""

_V = TypeVar("_V")


class Recent(Generic[_V]):
    """The most recently used entries, at most `limit` of them."""

    def __init__(self, limit: int = MAX_CHILDREN) -> None:
        self._entries: OrderedDict[Any, _V] = OrderedDict()
        self._limit = limit

    def get(self, key: Any) -> _V | None:
        found = self._entries.get(key)
        if found is not None and len(self._entries) > 1:
            with suppress(KeyError):  # another thread just dropped it
                self._entries.move_to_end(key)
        return found

    def put(self, key: Any, value: _V) -> None:
        self._entries[key] = value
        while len(self._entries) > self._limit:
            self._entries.popitem(last=False)

    def clear(self) -> None:
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> list[_V]:
        return list(self._entries.values())


@dataclass(frozen=True)
class Fetch:
    """Where to find a value at run time: known, or part of the array in a cell."""

    known: Any = None
    cell: int = -1
    offset: int = 0
    shape: Dims = ()
    dtype: np.dtype[Any] | None = None

    def __call__(self, cells: dict[int, Any]) -> Any:
        if self.cell < 0:
            return self.known
        array = cells[self.cell]
        if self.dtype is None or (array.shape == self.shape and not self.offset):
            return array
        first = self.offset // self.dtype.itemsize
        return array.reshape(-1)[first : first + math.prod(self.shape)].reshape(self.shape)


def fetch(value: Value) -> Fetch:
    """How a run finds `value`, which is known or has a cell by now."""
    if value.is_known:
        return Fetch(known=value.known)
    if value.buffer is None or value.buffer.cell is None:
        raise ModelError("a step reads a value that nothing was written to")
    return Fetch(None, value.buffer.cell, value.offset, value.shape, value.dtype)


@dataclass(frozen=True)
class Frame:
    """A block being walked: `pc` is the next step, `slots` those it has defined so far."""

    block: Block
    pc: int
    slots: tuple[Slot, ...]
    results: tuple[Slot, ...]
    """Slots of the enclosing block that take the yielded values."""


@dataclass(frozen=True)
class State:
    """Where the filler stands: enough to go on from here once something was observed."""

    frames: tuple[Frame, ...]
    env: dict[Slot, Value | int]
    cells: int
    """Number of cells in use so far."""
    covered: int
    expected: int
    """Steps done, and steps of the blocks entered: equal at the return."""


@dataclass(frozen=True)
class ReturnEnd:
    """The program is done."""

    results: tuple[Fetch, ...]


@dataclass(frozen=True)
class ValueEnd:
    """The contents of `value` decide how to go on."""

    fetch: Fetch
    value: Value
    branch: bool
    """It is the condition of an `If`."""
    origin: str = ""
    """What messages call the op that needs it."""


@dataclass(frozen=True)
class LateStep:
    """A step that Python runs and that no plan depends on; its results go to `cells`."""

    step: HostStep
    args: tuple[Fetch, ...]
    cells: tuple[int, ...]


@dataclass(frozen=True)
class StepEnd:
    """Python runs `step`; its results go to `cells`."""

    step: HostStep | LoopStep | ScanStep
    args: tuple[Fetch, ...]
    cells: tuple[int, ...]


End: TypeAlias = ReturnEnd | ValueEnd | StepEnd


@dataclass(eq=False)
class Node:
    """One stretch. All of it is read-only after filling, but for `children`, `whole` and `free`."""

    table: Array
    """The records, addresses of arena and cells left at 0."""
    starts: Array
    """Position of each record in `table`."""
    launches: tuple[Launch, ...]
    arena_bytes: int
    arena_at: tuple[Array, Array]
    """Positions in `table` and byte offsets in the arena."""
    cells_at: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    """Per cell: positions in `table` and byte offsets in its array."""
    allocate: tuple[tuple[int, Dims, np.dtype[Any], int], ...]
    """Cells whose arrays the stretch fills: shape, dtype, bytes."""
    drop: tuple[int, ...]
    """Cells nobody reads after the stretch and its end."""
    keep: list[Any]
    """Arrays whose addresses are in `table`."""
    checks: tuple[tuple[int, int, CheckStep], ...]
    """Statuses to look at once the stretch has run: first 8-byte word in the arena, number of words."""
    shared: bool
    """Whether several threads run some record together."""
    end: End
    state: State
    late: tuple[LateStep, ...] = ()
    """What Python runs once the records ran, before the end."""
    children: Recent[Node] = field(default_factory=lambda: Recent[Node]())
    checked: CheckedStretch | None = None
    """What is needed to check a run; None where kernels are not checked."""
    whole: tuple[int, ...] | None = None
    """Cells whose arrays are the results of a run as they are, once that is known of all results."""
    free: list[Instance] = field(default_factory=list["Instance"])
    """Instances no run uses at the moment."""

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernel of each record."""
        return tuple(launch.kernel for launch in self.launches)
