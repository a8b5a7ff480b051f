"""Do patterns leave the graph alone while they look and build? Asked by brute force, to debug patterns."""

from __future__ import annotations

from collections.abc import Generator, Hashable
from contextlib import contextmanager

from xdsl.ir import Block

from onnxloom.errors import PassError
from onnxloom.transforms.rewriting.attribute_key import attributes_key


@contextmanager
def left_alone(block: Block, who: str, hook: str, *, wanted: bool) -> Generator[None]:
    """Within this nothing of a block may change.

    Args:
        who: whose code runs, for the message.
        hook: `match` or `apply`.
        wanted: whether to look at all; it takes the time to read the block twice.

    Raises:
        PassError: something has changed, which cannot be taken back.
    """
    if not wanted:
        yield
        return
    before = _state(block)
    yield
    if _state(block) != before:
        raise PassError(f"{who} changed the graph in {hook}; expected what is to change in a Replacement")


def _state(block: Block) -> list[Hashable]:
    """The ops of a block and those inside them, with what they read and are."""
    return [
        (op, op.parent, tuple(op.operands), attributes_key(op), tuple([result.type for result in op.results]))
        for op in block.walk()
    ]
