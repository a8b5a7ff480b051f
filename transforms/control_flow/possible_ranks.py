"""Which ranks may a value have, and which rank must it have for its readers to give a result?

Both are known for few ops. What is not known is no answer; what is further away than `_FAR` values is not
looked at.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from xdsl.ir import Block, Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import ints_attr
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.transforms.control_flow.bodies import yields_of
from onnxloom.transforms.dim_analysis.facts import static_dims

_FAR: Final = 64

_SAME_RANK: Final = (
    onnx.IdentityOp, onnx.CastOp, onnx.ReluOp, onnx.SigmoidOp, onnx.TanhOp, onnx.NegOp, onnx.AbsOp,
    onnx.SqrtOp, onnx.ExpOp, onnx.SoftmaxOp,
)  # fmt: skip

_RECURRENT: Final = (onnx.LSTMOp, onnx.GRUOp, onnx.RNNOp)
_RECURRENT_INPUTS: Final = ("X", "initial_h", "initial_c")


def rank_of(value: SSAValue) -> int | None:
    dims = static_dims(value)
    return None if dims is None else len(dims)


def possible_ranks(value: SSAValue) -> frozenset[int] | None:
    """Ranks the value may have; None if nothing is known."""
    found: set[int] = set()
    waiting: list[tuple[SSAValue, int]] = [(value, 0)]
    for _ in range(_FAR):
        if not waiting:
            return frozenset(found)
        current, shift = waiting.pop()
        rank, owner = rank_of(current), current.owner
        if rank is not None:
            found.add(rank + shift)
        elif isinstance(owner, onnx.IfOp):
            index = owner.results.index(current)
            blocks = (owner.then_branch.block, owner.else_branch.block)
            waiting += [(yields_of(block)[index], shift) for block in blocks]
        elif isinstance(owner, Operation) and (step := _rank_step(owner)) is not None:
            waiting.append((owner.operands[0], shift + step))
        else:
            return None
    return None


def needed_rank(value: SSAValue, block: Block) -> int | None:
    """The rank without which an op of `block` that reads the value, or what is made of it, fails."""
    waiting: deque[tuple[SSAValue, int]] = deque([(value, 0)])
    for _ in range(_FAR):
        if not waiting:
            return None
        current, shift = waiting.popleft()
        for use in current.uses:
            op = use.operation
            if op.parent is not block or all(result.first_use is None for result in op.results):
                continue  # it may not run
            needed = _needed_by(op, use.index)
            if needed is not None:
                return needed - shift
            step = _rank_step(op)
            if step is not None:  # what only tells axes is no constant, so it has no step
                waiting.append((op.results[0], shift + step))
    return None


def _rank_step(op: Operation) -> int | None:
    """By how much the rank of the result differs from that of the first operand."""
    if isinstance(op, _SAME_RANK):
        return 0
    if isinstance(op, onnx.UnsqueezeOp | onnx.SqueezeOp):
        axes = constant_value(op.axes)
        if axes is not None:
            return axes.size if isinstance(op, onnx.UnsqueezeOp) else -axes.size
    return None


def _needed_by(op: Operation, index: int) -> int | None:
    if isinstance(op, _RECURRENT):
        wanted = [getattr(op, name) for name in _RECURRENT_INPUTS if hasattr(op, name)]
        return 3 if op.operands[index] in wanted else None
    if isinstance(op, onnx.ConvOp | onnx.ConvTransposeOp) and index == 0:
        return rank_of(op.W)
    if isinstance(op, onnx.TransposeOp):
        perm = ints_attr(op, "perm")
        return None if perm is None else len(perm)
    return None
