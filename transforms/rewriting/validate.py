"""Does an index still describe its block? Everything it keeps is compared with a fresh look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from onnxloom.errors import PassError
from onnxloom.transforms.describe import describe

if TYPE_CHECKING:
    from onnxloom.transforms.rewriting.graph_index import GraphIndex


def validate(index: GraphIndex) -> None:
    """Raises PassError for the first thing the index has wrong."""
    from onnxloom.transforms.rewriting.graph_index import GraphIndex

    fresh = GraphIndex(index.block, index.dims)
    _compare(index.outputs, fresh.outputs, "is an output of the block")
    _compare(index.captures, fresh.captures, "is read by nested regions")
    _check_order(index)
    _check_constants(index)


def _compare(kept: dict[SSAValue, int], found: dict[SSAValue, int], what: str) -> None:
    for value in {**kept, **found}:
        if kept.get(value, 0) != found.get(value, 0):
            raise PassError(
                f"graph index: {_named(value)} {what} {found.get(value, 0)} times; "
                f"the index says {kept.get(value, 0)}"
            )


def _check_order(index: GraphIndex) -> None:
    positions = index.order.known(index.block)
    last: int | None = None
    for op in index.block.ops:
        position = positions.get(op)
        if position is None:
            raise PassError(f"graph index: {describe(op)} has no position")
        if last is not None and position <= last:
            raise PassError(f"graph index: {describe(op)} comes before the op in front of it")
        last = position


def _check_constants(index: GraphIndex) -> None:
    fresh = type(index.constants)()
    for op in index.block.ops:
        for result in op.results:
            told, found = index.constants.told(result), fresh.is_constant(result)
            if told is not None and told != found:
                raise PassError(f"graph index: {_named(result)} is {_constant(found)}; the index says else")


def _constant(is_constant: bool) -> str:
    return "a constant" if is_constant else "no constant"


def _named(value: SSAValue) -> str:
    return f"%{value.name_hint}" if value.name_hint else "a value without a name"
