"""How often does the body of a Loop run?"""

from __future__ import annotations

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.transforms.control_flow.bodies import known_scalar, through_identities, yields_of
from onnxloom.transforms.miss import Miss


def trip_count(op: onnx.LoopOp) -> int | Miss:
    """The number of iterations, where constants decide it."""
    begins = True if is_none(op.cond) else known_scalar(op.cond)
    if begins is None:
        return Miss("its first condition is not constant")
    if not begins:
        return 0
    count = None if is_none(op.M) else known_scalar(op.M)
    if count is None and not is_none(op.M):
        return Miss("its trip count is not constant")
    goes_on = _goes_on(op)
    if goes_on is None:
        return Miss("its condition is computed in the body")
    if goes_on and count is None:
        return Miss("it never ends")
    return min(1, 1 if count is None else max(0, count)) if not goes_on else max(0, count or 0)


def runs_at_least_once(op: onnx.LoopOp) -> bool:
    """Whether constants say that the first iteration takes place."""
    begins = is_none(op.cond) or bool(known_scalar(op.cond))
    count = 1 if is_none(op.M) else known_scalar(op.M)
    return begins and count is not None and count >= 1


def _goes_on(op: onnx.LoopOp) -> bool | None:
    """The condition after each iteration; None when it is not always the same."""
    block = op.body.block
    condition = through_identities(yields_of(block)[0])
    if condition is block.args[1]:
        return True  # what let the iteration begin lets the next one begin
    found = known_scalar(condition)
    return None if found is None else bool(found)
