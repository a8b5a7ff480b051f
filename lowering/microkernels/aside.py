"""Where do tiles put sums aside? In memory of the kernel's frame, one place per accumulator.

Many small terms on top of a large sum would lose what the sum's last digit does not hold, so that long sums
of floats are added up in chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

PTR = ir.PointerType()


def memory_aside(builder: ir.IRBuilder, element: ir.Type, params: dict[str, Any]) -> ir.Value:
    """Memory for the accumulators of the largest tile.

    It is the caller's: LLVM would hold that of the tile's own function in registers.
    """
    count = params["rows"] * params["vectors"] * params["lanes"]
    entry = builder.function.entry_basic_block
    with builder.goto_block(entry):
        builder.position_at_start(entry)
        memory = builder.alloca(ir.ArrayType(element, count))
        memory.align = 64
    return builder.bitcast(memory, PTR)


def merged(b: ir.IRBuilder, values: Sequence[ir.Value], blocks: Sequence[ir.Block]) -> ir.PhiInstr:
    """The value of the block that control comes from."""
    phi = b.phi(values[0].type)
    for value, block in zip(values, blocks, strict=True):
        phi.add_incoming(value, block)
    return phi
