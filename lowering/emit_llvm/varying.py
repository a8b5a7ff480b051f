"""Which values of a loop body differ from one iteration to the next?"""

from __future__ import annotations

from xdsl.dialects import memref, scf
from xdsl.ir import Block, Operation, SSAValue

from onnxloom.dialects.loom.kernel import MicrokernelOp


class _Diverges(Exception):
    """Control flow differs between iterations, or nothing says what an op does."""


def varying_values(body: Block, index: SSAValue) -> set[SSAValue] | None:
    """The values inside `body` that depend on `index`; None where control flow does, too."""
    varying = {index}
    try:
        while True:
            before = len(varying)
            _visit(body, varying)
            if len(varying) == before:
                return varying
    except _Diverges:
        return None


def varying_from(body: Block) -> set[SSAValue]:
    """The values inside `body`, which has no control flow, that depend on its arguments."""
    varying: set[SSAValue] = set(body.args)
    _visit(body, varying)
    return varying


def _visit(block: Block, varying: set[SSAValue]) -> None:
    for op in block.ops:
        _visit_op(op, varying)


def _visit_op(op: Operation, varying: set[SSAValue]) -> None:
    if isinstance(op, scf.ForOp):
        if any(v in varying for v in (op.lb, op.ub, op.step)):
            raise _Diverges
        _visit(op.body.block, varying)
        last = op.body.block.last_op
        yields = last.operands if last is not None else ()
        rows = zip(op.iter_args, op.body.block.args[1:], yields, op.results, strict=True)
        for row in rows:
            if any(v in varying for v in row):
                varying.update(row[1:2], row[3:])
        return
    if isinstance(op, scf.IfOp):
        if op.cond in varying:
            raise _Diverges
        for region in (op.true_region, op.false_region):
            if region.blocks:
                _visit(region.block, varying)
        arms = [r.block.last_op for r in (op.true_region, op.false_region) if r.blocks]
        for i, result in enumerate(op.results):
            if any(end is not None and end.operands[i] in varying for end in arms):
                varying.add(result)
        return
    if op.regions or isinstance(op, (scf.WhileOp, memref.AllocaOp, MicrokernelOp)):
        raise _Diverges
    if isinstance(op, memref.StoreOp) and not any(v in varying for v in op.indices):
        raise _Diverges
    if any(v in varying for v in op.operands):
        varying.update(op.results)
