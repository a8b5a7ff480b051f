"""Do the regions of If, Loop, Scan and SequenceMap take and give as many values as the op says?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from xdsl.ir import Block, Operation
from xdsl.utils.exceptions import VerifyException


def verify_regions(op: Operation) -> None:
    """Raises VerifyException, naming the region, when its signature cannot be right."""
    check = _CHECKS.get(op.name)
    if check is not None:
        check(op)


def _region(op: Operation, name: str, index: int, arguments: int, results: int) -> None:
    block = op.regions[index].block
    if len(block.args) != arguments:
        raise VerifyException(f"{name} has {len(block.args)} block arguments; expected {arguments}")
    yielded = _yielded(block)
    if yielded is None:
        end = "nothing" if block.last_op is None else block.last_op.name
        raise VerifyException(f"{name} ends with {end}; expected onnx.Yield")
    if len(yielded) != results:
        raise VerifyException(f"{name} yields {len(yielded)} values; expected {results}")


def _yielded(block: Block) -> Sequence[object] | None:
    end = block.last_op
    return end.operands if end is not None and end.name == "onnx.Yield" else None


def _if(op: Operation) -> None:
    _region(op, "then_branch", 0, 0, len(op.results))
    _region(op, "else_branch", 1, 0, len(op.results))


def _loop(op: Operation) -> None:
    carried = len(op.operands) - 2  # after the trip count and the condition
    if len(op.results) < carried:
        raise VerifyException(
            f"has {len(op.results)} results; expected one per loop-carried value: {carried}"
        )
    _region(op, "body", 0, 2 + carried, 1 + len(op.results))


def _body(op: Operation) -> None:
    _region(op, "body", 0, len(op.operands), len(op.results))


_CHECKS: Final[dict[str, Callable[[Operation], None]]] = {
    "onnx.If": _if,
    "onnx.Loop": _loop,
    "onnx.Scan": _body,
    "onnx.SequenceMap": _body,
}
