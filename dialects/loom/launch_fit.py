"""Does a launch give a kernel what it takes? Compiled kernels cannot ask: they read whatever stands there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    ComplexType,
    FixedBitwidthType,
    IntegerType,
    MemRefType,
    TensorType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.dialects.loom.kernel import KernelOp

Operands = tuple[Sequence[SSAValue], Sequence[SSAValue], Sequence[SSAValue]]
"""Inputs, outputs and sizes."""


def launch_fault(name: str, kernel: KernelOp, given: Operands) -> str | None:
    """What is wrong with launching `kernel` on these operands; messages call it `name`."""
    buffers = kernel.buffers
    split = input_count(kernel)
    if any(access.data == "read" for access in kernel.access.data[split:]):
        return f"{name} cannot be launched: buffers that it only reads must come before those it writes"
    fault = _count_fault(name, (split, len(buffers) - split, len(kernel.sizes)), given)
    if fault is not None:
        return fault
    for i, (buffer, value) in enumerate(zip(buffers, (*given[0], *given[1]), strict=True)):
        what = f"input {i}" if i < split else f"output {i - split}"
        fault = _element_fault(name, what, buffer.type, value.type)
        if fault is not None:
            return fault
    return None


def input_count(kernel: KernelOp) -> int:
    """How many leading buffers the kernel only reads."""
    accesses = [access.data for access in kernel.access.data]
    return next((i for i, access in enumerate(accesses) if access != "read"), len(accesses))


def kernels_by_name(ops: Iterable[Operation]) -> dict[str, KernelOp]:
    """Name -> kernel, of the ops of a module."""
    return {op.sym_name.data: op for op in ops if isinstance(op, KernelOp)}


def _count_fault(name: str, takes: tuple[int, int, int], given: Operands) -> str | None:
    counts = [len(values) for values in given]
    if list(takes) == counts:
        return None
    shown = [0, 2] if takes[1] == counts[1] else [0, 1, 2]
    nouns = ("input", "output", "size")
    wanted = [f"{takes[i]} {nouns[i]}{'' if takes[i] == 1 else 's'}" for i in shown]
    return f"{name} takes {_listed(wanted)}, got {_listed([str(counts[i]) for i in shown])}"


def _listed(items: Sequence[str]) -> str:
    return f"{', '.join(items[:-1])} and {items[-1]}"


def _element_fault(name: str, what: str, buffer: Attribute, given: Attribute) -> str | None:
    stored: Attribute = cast(Any, buffer).element_type if isinstance(buffer, MemRefType) else buffer
    by_size = isinstance(stored, IntegerType)
    if not isinstance(given, TensorType | UnrankedTensorType):
        return f"{name}: {what} is a {given}; expected a tensor of {stored}"
    element = cast(Attribute, cast(Any, given).element_type)
    if element == stored or (by_size and _bytes(element) == _bytes(cast(Attribute, stored))):
        return None
    return f"{name}: {what} has elements of type {element}; the kernel's are {stored}"


def _bytes(element: Attribute) -> int | None:
    """Kernels store integers without a sign, booleans as bytes, and copy any element as an integer."""
    if isinstance(element, ComplexType):
        part = _bytes(cast(Any, element).element_type)
        return None if part is None else 2 * part
    return (element.bitwidth + 7) // 8 if isinstance(element, FixedBitwidthType) else None
