"""Which packing and host steps can be evaluated once, when the program is built?"""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.plan.arena import ALIGNMENT
from onnxloom.lowering.plan.last_use import direct_reads
from onnxloom.lowering.plan.memory import address_of, aligned_array
from onnxloom.lowering.plan.program import (
    Array,
    Block,
    Constants,
    HostStep,
    IfStep,
    IndexStep,
    LoopStep,
    PackStep,
    Program,
    ScanStep,
    ShapeOf,
    Slot,
    is_array,
    walk_steps,
)
from onnxloom.lowering.runtime.host_step import HostRunner

GROWTH_LIMIT = 64 << 20
"""A folded result may be this many bytes larger than what it is made from."""


SMALL = 64 << 10
"""Constants of up to this many bytes are copied onto a cache line."""


def fold_pack(step: PackStep, source: Array) -> Array:
    """The packed array."""
    from onnxloom.dialects.loom.packing import pack

    return read_only(pack(step.layout, source, dict(step.params)))


def fold_host(step: HostStep, known: dict[Slot, int], table: Constants) -> list[Any] | None:
    """The results of a host step that reads constants only; None when it cannot be folded.

    An op that fails here may stand in a branch that is never taken: it fails when it is reached.
    """
    if step.volatile or any(slot not in known for slot in step.args):
        return None
    inputs = [table.values[known[slot]] for slot in step.args]
    try:
        results = HostRunner(table).run(step, inputs)
    except Exception:  # whatever the op raises, it raises again, with its name, at run time
        return None
    if _nbytes(results) > _nbytes(inputs) + GROWTH_LIMIT:
        return None
    return [read_only(r) for r in results]


LARGE = 4096
"""Plan-time ops read the contents of small tensors (shapes, scales) and of lists of integers (axes, lengths
of parts): bytes above which none reads any other."""


def drop_unused(program: Program, table: Constants) -> None:
    """Lets go of constants whose contents no step reads any more, such as weights that were packed."""
    read, shapes = set[int](), set[int]()
    _readers(program, read, shapes)
    for number, value in enumerate(table.values):
        if number in read:
            continue
        if number not in shapes:
            table.values[number] = None
        elif is_array(value) and value.nbytes > LARGE and not (value.ndim <= 1 and value.dtype.kind == "i"):
            table.values[number] = ShapeOf(value.dtype.name, value.shape)


def _readers(program: Program, read: set[int], shapes: set[int]) -> None:
    """Adds the numbers of constants by how they are read."""
    _block_readers(program.block, program.constants, read, shapes)
    for step in walk_steps(program.block):
        if isinstance(step, HostStep):
            read.update(number for _, number in step.constants)
        elif isinstance(step, LoopStep | ScanStep):
            _readers(step.body, read, shapes)


def _block_readers(block: Block, known: dict[Slot, int], read: set[int], shapes: set[int]) -> None:
    for step in block.steps:
        kind = shapes if isinstance(step, IndexStep) else read
        kind.update(known[slot] for slot in direct_reads(step) if slot in known)
        if isinstance(step, IfStep):
            _block_readers(step.then_block, known, read, shapes)
            _block_readers(step.else_block, known, read, shapes)
    read.update(known[slot] for slot in block.yields if slot in known)


def placed(array: Array) -> Array:
    """A constant where kernels read it well: weights lie anywhere in a mapped file.

    Elements must be aligned; small arrays, which are read again and again, start on a cache line.
    """
    if array.flags.aligned and (array.nbytes > SMALL or address_of(array) % ALIGNMENT == 0):
        return array
    copy = aligned_array(array.shape, array.dtype, array.nbytes)
    copy[...] = array
    return read_only(copy)


def read_only(value: Any) -> Any:
    """`value` as an array that cannot be written and is laid out as kernels read it."""
    if not is_array(value):
        return value
    array: Array = np.array(value, order="C") if not value.flags.c_contiguous else value
    array = array.view() if array.flags.writeable else array
    array.flags.writeable = False
    return array


def _nbytes(values: list[Any]) -> int:
    return sum(v.nbytes for v in values if is_array(v))
