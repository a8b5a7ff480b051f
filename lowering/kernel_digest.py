"""When are two kernels the same? When their ops, types, attributes and data flow are; names do not matter."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from onnxloom.dialects.loom.kernel import KernelOp


@lru_cache(maxsize=4096)
def _text(attribute: Attribute) -> str:
    return str(attribute)


def kernel_digest(kernel: KernelOp) -> str:
    """A digest of 32 hexadecimal digits of the content of `kernel`."""
    numbers: dict[SSAValue, int] = {}
    parts: list[str] = []
    _attributes(kernel, parts)
    _region(kernel.body, numbers, parts)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _region(region: Region, numbers: dict[SSAValue, int], parts: list[str]) -> None:
    parts.append("{")
    for block in region.blocks:
        _block(block, numbers, parts)
    parts.append("}")


def _block(block: Block, numbers: dict[SSAValue, int], parts: list[str]) -> None:
    parts.append("^")
    for argument in block.args:
        numbers[argument] = len(numbers)
        parts.append(_text(argument.type))
    for op in block.ops:
        parts.append(op.name)
        parts.append(",".join(str(numbers[operand]) for operand in op.operands))
        for result in op.results:
            numbers[result] = len(numbers)
            parts.append(_text(result.type))
        _attributes(op, parts)
        for region in op.regions:
            _region(region, numbers, parts)


def _attributes(op: Operation, parts: list[str]) -> None:
    for group in (op.properties, op.attributes):
        for name in sorted(group):
            if name != "sym_name":
                parts.append(f"{name}={_text(group[name])}")
