"""What does a compiled program look like as plain data?

A `Program` is a loom program without its IR: numbered slots and the steps that define them. It
holds nothing but tuples, strings, numbers and numpy arrays, so that it can be stored and read back
by a process that has neither xDSL nor onnx.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Slot: TypeAlias = int
"""Number of a value; unique within one program, its nested `If` branches included."""

DYNAMIC = -1


@dataclass(frozen=True)
class Spec:
    """The declared type of a slot.

    `kind` is `tensor`, `index`, `none`, or `object` (sequence, optional, map). `dtype` is a numpy or
    ml_dtypes name; `shape` is None when the rank is unknown and holds DYNAMIC for unknown dims.
    `text` is the type as ONNX spells it: `tensor(float)`, `seq(tensor(int64))`.
    """

    kind: str
    dtype: str = ""
    shape: tuple[int, ...] | None = None
    text: str = ""

    def accepts(self, shape: tuple[int, ...]) -> bool:
        """Whether a tensor of `shape` fits the declared rank and static dims."""
        if self.shape is None:
            return True
        if len(shape) != len(self.shape):
            return False
        return all(d in (DYNAMIC, s) for d, s in zip(self.shape, shape, strict=True))


@dataclass(frozen=True)
class EmptyStep:
    """A destination: `shape` with its DYNAMIC entries taken from `sizes` in order."""

    shape: tuple[int, ...]
    sizes: tuple[Slot, ...]
    result: Slot
    origin: str = ""
    """What messages call the op of the model this step is for, `Pad "p1"`; "" if there is none."""


@dataclass(frozen=True)
class ViewStep:
    """The memory of `source` from element `offset` on, under the shape `sizes`."""

    source: Slot
    offset: Slot
    sizes: tuple[Slot, ...]
    result: Slot


@dataclass(frozen=True)
class LaunchStep:
    """One record: kernel, buffers (`ins` then `outs`), sizes. `results` are the filled `outs`."""

    kernel: str
    ins: tuple[Slot, ...]
    outs: tuple[Slot, ...]
    sizes: tuple[Slot, ...]
    inplace: tuple[tuple[int, ...], ...]
    results: tuple[Slot, ...]


@dataclass(frozen=True)
class CheckStep:
    """The run fails unless `status` (a tensor a launch just filled, or an index) starts with 0."""

    status: Slot
    message: str
    origin: str = ""

    def text(self, words: Sequence[int]) -> str:
        """What is wrong, for a status of these words."""
        return named(self.origin, self.message.format(*words))


@dataclass(frozen=True)
class PackStep:
    """`source` in the memory layout of the packing function `layout`."""

    layout: str
    params: tuple[tuple[str, Any], ...]
    source: Slot
    result: Slot


@dataclass(frozen=True)
class IndexStep:
    """A plan-time op: `arith` on indices, or a `loom` op with `evaluate`. `props` are printed attributes."""

    op: str
    props: tuple[tuple[str, str], ...]
    operands: tuple[Slot, ...]
    results: tuple[Slot, ...]
    origin: str = ""


@dataclass(frozen=True)
class HostNode:
    """One ONNX node of a host step: a serialized NodeProto whose names are local to the step."""

    proto: bytes
    op: str
    domain: str
    name: str


@dataclass(frozen=True)
class HostStep:
    """Ops evaluated in Python. `arg_names[i]` is what the nodes call `args[i]`."""

    nodes: tuple[HostNode, ...]
    arg_names: tuple[str, ...]
    result_names: tuple[str, ...]
    args: tuple[Slot, ...]
    results: tuple[Slot, ...]
    shape_only: tuple[int, ...]
    volatile: bool
    reason: str
    dtypes: tuple[str, ...] = ()
    """Declared dtype of each result, "" where it is not a tensor."""
    constants: tuple[tuple[str, int], ...] = ()
    """Names the nodes use for constants, with the constants' numbers."""

    @cached_property
    def title(self) -> str:
        """`Resize "up1"`: what messages call this step."""
        node = self.nodes[-1] if self.nodes else None
        if node is None:
            return "empty host step"
        op = f"{node.domain}.{node.op}" if node.domain else node.op
        return f'{op} "{node.name}"' if node.name else op


@dataclass(frozen=True)
class Block:
    """Steps in order and the slots they hand to whoever entered the block."""

    steps: tuple[Step, ...]
    yields: tuple[Slot, ...]


@dataclass(frozen=True)
class IfStep:
    """One of two blocks, both of which read the slots of the enclosing program freely."""

    condition: Slot
    then_block: Block
    else_block: Block
    results: tuple[Slot, ...]
    origin: str = "If"


@dataclass(frozen=True)
class LoopStep:
    """ONNX Loop. The body's inputs: iteration number, condition, carried values, then `captures`."""

    trip_count: Slot
    condition: Slot
    carried: tuple[Slot, ...]
    captures: tuple[Slot, ...]
    body: Program
    results: tuple[Slot, ...]
    origin: str = "Loop"


@dataclass(frozen=True)
class ScanStep:
    """ONNX Scan. The body's inputs: states, slices of the scanned inputs, then `captures`."""

    states: tuple[Slot, ...]
    scanned: tuple[Slot, ...]
    input_axes: tuple[int, ...]
    input_reverse: tuple[int, ...]
    output_axes: tuple[int, ...]
    output_reverse: tuple[int, ...]
    captures: tuple[Slot, ...]
    body: Program
    results: tuple[Slot, ...]
    origin: str = "Scan"


Step: TypeAlias = (
    EmptyStep
    | ViewStep
    | LaunchStep
    | CheckStep
    | PackStep
    | IndexStep
    | HostStep
    | IfStep
    | LoopStep
    | ScanStep
)


@dataclass(frozen=True)
class Program:
    """A function: `args` are bound by the caller, `block.yields` are the results.

    `arg_dims` names the symbolic dims of each input ("" where static or anonymous). `constants` maps
    slots to numbers in the model's `Constants`. Programs of loop bodies share that table.
    """

    name: str
    args: tuple[Slot, ...]
    arg_names: tuple[str, ...]
    arg_dims: tuple[tuple[str, ...], ...]
    result_names: tuple[str, ...]
    result_dims: tuple[tuple[str, ...], ...]
    block: Block
    specs: dict[Slot, Spec]
    constants: dict[Slot, int]
    last_use: dict[Slot, int] = field(repr=False)
    """Per slot the position, in the block that defines it, of the last step that reads it; the
    number of steps if the block yields it."""


@dataclass(frozen=True)
class KernelWork:
    """How many tasks a launch has and how much work is in one, as code over the kernel's sizes.

    Values are numbered: sizes, `constants`, then the results of `code` (operation, two operands).
    """

    constants: tuple[int, ...]
    code: tuple[tuple[str, int, int], ...]
    tasks: int
    """Number of the value that counts the tasks."""
    cost: int
    """Number of the value that is the work in one."""


@dataclass(frozen=True)
class ShapeOf:
    """Stands for a constant of which only the shape is read any more."""

    dtype: str
    shape: tuple[int, ...]


@dataclass
class Constants:
    """Read-only arrays (or other host objects) that programs refer to by number."""

    values: list[Any]

    def add(self, value: Any) -> int:
        """The number of `value`, which must not be changed afterwards."""
        self.values.append(value)
        return len(self.values) - 1


def walk_steps(block: Block) -> Iterator[Step]:
    """All steps of a block, those of branches and loop bodies included."""
    for step in block.steps:
        yield step
        if isinstance(step, IfStep):
            yield from walk_steps(step.then_block)
            yield from walk_steps(step.else_block)
        elif isinstance(step, LoopStep | ScanStep):
            yield from walk_steps(step.body.block)


def named(origin: str, problem: str) -> str:
    """`problem`, said of the op `origin`."""
    return f"{origin}: {problem}" if origin else problem


def is_array(value: object) -> TypeGuard[Array]:
    """Whether a host object is an array (and not a sequence, dictionary or None)."""
    return isinstance(value, np.ndarray)


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype called `name`; ml_dtypes is imported for the names numpy lacks."""
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
