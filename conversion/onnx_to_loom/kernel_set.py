"""Which kernels has a conversion made? Each content once, named by a readable prefix and a digest."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import FloatAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.dialects.loom.target import Target


class KernelSet:
    """The kernels of one module, without duplicates."""

    def __init__(self, target: Target = Target(), *, winograd: bool = True):  # noqa: B008 (frozen)
        """`target` is what tiles are shaped for; `winograd`: whether that way of convolving may be chosen."""
        self.target = target
        self.winograd = winograd
        self._names: dict[Any, str] = {}
        self._kernels: dict[str, KernelOp] = {}
        self.by_author: dict[str, str] = {}
        """Names of kernels that are the same whatever they are launched for, by their authors' names."""

    def add(self, kernel: KernelOp) -> str:
        """Keeps the kernel unless one of the same content is there; gives the name to launch."""
        key = _content(kernel)
        if key not in self._names:
            digest = hashlib.sha256(repr(key).encode()).hexdigest()[:10]
            name = f"{kernel.sym_name.data}_{digest}"
            kernel.properties["sym_name"] = StringAttr(name)
            self._names[key] = name
            self._kernels[name] = kernel
        return self._names[key]

    def used(self, names: set[str]) -> Sequence[KernelOp]:
        """The kernels of these names, in the order they were made."""
        return [kernel for name, kernel in self._kernels.items() if name in names]


def _content(kernel: KernelOp) -> tuple[Any, ...]:
    """Equal for kernels that differ in nothing but their names."""
    numbers: dict[SSAValue, int] = {}
    access = tuple(a.data for a in kernel.access.data)
    return (access, _block(kernel.body.block, numbers))


def _block(block: Block, numbers: dict[SSAValue, int]) -> tuple[Any, ...]:
    for arg in block.args:
        numbers[arg] = len(numbers)
    types = tuple(_text(arg.type) for arg in block.args)
    return (types, tuple(_operation(op, numbers) for op in block.ops))


def _operation(op: Operation, numbers: dict[SSAValue, int]) -> tuple[Any, ...]:
    operands = tuple(numbers[v] for v in op.operands)
    attributes = tuple(
        (name, _attribute(value)) for name, value in sorted((*op.properties.items(), *op.attributes.items()))
    )
    regions = tuple(_block(block, numbers) for region in op.regions for block in region.blocks)
    for result in op.results:
        numbers[result] = len(numbers)
    return (op.name, operands, attributes, tuple(_text(r.type) for r in op.results), regions)


def _attribute(value: Attribute) -> str:
    if isinstance(value, FloatAttr):
        # Bits, not digits: 0.0 and -0.0 are different kernels, NaN equals itself.
        return f"{struct.pack('<d', value.value.data).hex()} : {value.get_type()}"
    return _text(value)


@lru_cache(maxsize=4096)
def _text(value: Attribute) -> str:
    return str(value)
