"""What do the regions of an op read from outside of it?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation, SSAValue


def captured_values(op: Operation) -> Sequence[SSAValue]:
    """The values from outside that the regions of an op read, in order of first use."""
    return tuple(dict.fromkeys(captures(op)))


def captures(op: Operation) -> Iterator[SSAValue]:
    """The same, as often as they are read."""
    for region in op.regions:
        for inner in region.walk():
            for value in inner.operands:
                if value.owner is op or not op.is_ancestor(value.owner):
                    yield value
