"""Which blocks of a module are rewritten? Bodies of functions and of control flow, not of fused ops."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from onnxloom.dialects.onnx import FusedOp


def function_bodies(module: ModuleOp) -> Iterator[tuple[FuncOp, Block]]:
    """The functions that have a body, in order."""
    for function in module.ops:
        if isinstance(function, FuncOp) and not function.is_declaration:
            yield function, function.body.block


def inner_blocks(op: Operation) -> Iterator[tuple[int, Block]]:
    """(number of the region, block) of what an op holds; nothing for a fused op."""
    if isinstance(op, FusedOp):
        return
    for number, region in enumerate(op.regions):
        for block in region.blocks:
            yield number, block


def blocks_inside_out(module: ModuleOp) -> Iterator[Block]:
    """All blocks, each after those inside it. Ops of a block may be removed once it is given."""
    for _, body in function_bodies(module):
        yield from _with_inner(body)


def _with_inner(block: Block) -> Iterator[Block]:
    for op in block.ops:
        for _, inner in inner_blocks(op):
            yield from _with_inner(inner)
    yield block
