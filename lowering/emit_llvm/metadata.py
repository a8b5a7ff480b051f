"""LLVM metadata that tells the loop vectoriser which loops are parallel.

Each memory access of a parallel loop is a member of the loop's *access group*, and the loop's back edge
lists the groups whose accesses carry no dependence. Both kinds of node must be `distinct`, which
llvmlite has no constructor for.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir


class MetadataNode(ir.values.MDValue):
    """A `distinct` metadata node; `with_self` makes the node its own first operand (a loop id)."""

    def __init__(self, module: ir.Module, operands: tuple[MetadataNode, ...], *, with_self: bool = False):
        self._with_self = with_self
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            module, operands, name=str(len(module.metadata))
        )

    def descr(self, buf: Any) -> None:
        references = [operand.get_reference() for operand in self.operands]
        if self._with_self:
            references.insert(0, self.get_reference())
        buf += (f"distinct !{{ {', '.join(references)} }}", "\n")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def access_group(module: ir.Module) -> MetadataNode:
    """A fresh access group."""
    return MetadataNode(module, ())


def mark_access(instruction: ir.Instruction, groups: list[MetadataNode]) -> None:
    """Makes a load or store a member of `groups`."""
    if not groups:
        return
    node = groups[0] if len(groups) == 1 else instruction.module.add_metadata(groups)
    instruction.set_metadata("llvm.access.group", node)


def mark_parallel(back_edge: ir.Instruction, group: MetadataNode) -> None:
    """Declares the loop of `back_edge` parallel in the accesses of `group`.

    A loop of few iterations would be unrolled to scalar code before the vectoriser sees it.
    """
    module = back_edge.module
    accesses = module.add_metadata([ir.MetaDataString(module, "llvm.loop.parallel_accesses"), group])
    whole = module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])
    back_edge.set_metadata("llvm.loop", MetadataNode(module, (accesses, whole), with_self=True))
