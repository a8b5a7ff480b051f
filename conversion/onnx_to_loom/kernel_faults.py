"""What did the author of a kernel get wrong that only shows once the kernel is complete?"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from onnxloom.dialects.loom.kernel import KernelOp


def kernel_fault(kernel: KernelOp) -> str | None:
    """An output that is never stored to, or a value from outside; None for a sound kernel."""
    name = kernel.sym_name.data
    unwritten = kernel.unwritten_output()
    if unwritten is not None:
        reads = sum(access.data == "read" for access in kernel.access.data)
        return f"kernel {name} stores nothing to its output {unwritten - reads}"
    foreign = _foreign_value(kernel.body.block, set())
    if foreign is None:
        return None
    if _root(foreign) is kernel:
        return f"kernel {name} uses a value outside the loop or branch it is made in"
    return f"kernel {name} uses a program-level value; pass it as a size or an input"


def _foreign_value(block: Block, outer: set[SSAValue]) -> SSAValue | None:
    """The first operand in `block` that neither it nor an enclosing block has made before."""
    made = {*outer, *block.args}
    for op in block.ops:
        for operand in op.operands:
            if operand not in made:
                return operand
        for region in op.regions:
            for inner in region.blocks:
                foreign = _foreign_value(inner, made)
                if foreign is not None:
                    return foreign
        made.update(op.results)
    return None


def _root(value: SSAValue) -> Operation | Block | None:
    owner = value.owner
    at = owner if isinstance(owner, Operation) else owner.parent_op()
    while at is not None and (parent := at.parent_op()) is not None and not isinstance(at, KernelOp):
        at = parent
    return at
