"""`onnx.gather_elementwise`: an elementwise chain on rows of tables.

    Gather(words, ids) ──────┐
    Gather(types, segments) ─┴─► Add ──► Add(positions) ──► Mul ──► y

The rows are read where the chain needs them instead of being copied before: whatever the elementwise kind
would take, with the lookups (axis 0) that only it reads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics import scalar_semantics
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.early import is_known_early
from onnxloom.transforms.fusion.epilogue import only_reader
from onnxloom.transforms.fusion.estimate import estimate
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.kinds.elementwise import MAX_INPUTS, MAX_RANK, ElementwiseFusion
from onnxloom.transforms.fusion.match import Body, Match, Miss
from onnxloom.transforms.fusion.readers import not_elementwise
from onnxloom.transforms.fusion.spaces import broadcast_reads, shape_of

LEAST_ROW: Final = 16
"""Elements of a row below which the kernel is slower than a loop over all elements."""


@dataclass(frozen=True)
class Lookup:
    """A chain taken apart."""

    gathers: tuple[Operation, ...]
    ops: tuple[Operation, ...]
    """The elementwise ops."""
    row: tuple[int, ...]
    """Dims of a row of every table, and the last dims of the result."""

    @property
    def result(self) -> SSAValue:
        """What the chain is for."""
        return self.ops[-1].results[0]


class GatherElementwiseFusion(FusionOpKindHelper):
    """Rows of tables and elementwise ops on them."""

    kind: ClassVar[str] = "onnx.gather_elementwise"
    anchors: ClassVar[tuple[type[Operation], ...]] = (onnx.GatherOp,)
    max_op_count: ClassVar[int] = ElementwiseFusion.max_op_count + MAX_INPUTS
    benefit: ClassVar[int] = 1
    """As elementwise chains, of which this is one with more ops; after reductions of the same rows."""

    op_count: int
    """Ops of the chain, lookups included."""

    @classmethod
    def detect_if_beneficial(cls, dims: DimAnalysis, anchor: Operation) -> Match[Self] | Miss:
        reader = only_reader(anchor.results[0])
        if reader is None:
            return Miss("the rows are not read by one op alone")
        if reader.parent is not anchor.parent:
            return Miss("the rows are read in another block")
        if is_known_early(anchor, dims):
            return Miss(f"{anchor.name} computes from shapes and constants alone, before any kernel runs")
        if scalar_semantics(reader) is None:
            return not_elementwise(reader)
        chain = _chain_with(reader, dims)
        members = set(chain)
        producers = dict.fromkeys(operand.owner for op in chain for operand in op.operands)
        gathers = [
            op
            for op in producers
            if isinstance(op, onnx.GatherOp)
            and op.parent is anchor.parent
            and all(use.operation in members for use in op.output.uses)
        ]
        ops = (*gathers, *chain)
        lookup = lookup_of(ops)
        if isinstance(lookup, Miss):
            return lookup
        outside = [
            r for op in chain[:-1] for r in op.results if any(u.operation not in members for u in r.uses)
        ]
        if outside:
            return Miss("a value of the chain is read elsewhere")
        return Match(cls(len(ops)), ops, (lookup.result,), estimate(ops, [lookup.result]))

    def verify(self, body: Body) -> Miss | None:
        if len(body.ops) != self.op_count:
            return Miss(f"the body has {len(body.ops)} ops; expected {self.op_count}")
        lookup = lookup_of(body.ops)
        if isinstance(lookup, Miss):
            return lookup
        if list(body.results) != [lookup.result]:
            return Miss("the body does not yield what its last op makes")
        return None


def _chain_with(reader: Operation, dims: DimAnalysis) -> Sequence[Operation]:
    """The elementwise chain an op belongs to; the op alone where there is none."""
    head = reader
    while True:
        match = ElementwiseFusion.detect_if_beneficial(dims, head)
        if isinstance(match, Match):
            return match.ops if reader in match.ops else [reader]
        if match.owner is None:
            return [reader]
        head = match.owner


def lookup_of(ops: Sequence[Operation]) -> Lookup | Miss:
    """The parts of a chain, given in order, or why there is no kernel for it."""
    gathers = tuple(op for op in ops if isinstance(op, onnx.GatherOp))
    chain = tuple(op for op in ops if not isinstance(op, onnx.GatherOp))
    if not gathers or not chain:
        return Miss("no rows are looked up, or nothing is computed with them")
    full = shape_of(chain[-1].results[0])
    table = shape_of(gathers[0].operands[0])
    if full is None or not table or len(full) > MAX_RANK:
        return Miss("the rank of the table or of the result is not known, or too high")
    row = tuple(table[1:])
    if DYNAMIC_INDEX in row or math.prod(row) < LEAST_ROW:
        return Miss("the rows of a table are too short, or their length is not known")
    if full[len(full) - len(row) :] != row or len(full) <= len(row):
        return Miss("the result is not declared with the dims of a row")
    for op in gathers:
        problem = _unfit_gather(op, row)
        if problem is not None:
            return problem
    problem = _unfit_chain(chain, gathers, row, len(full))
    return problem or Lookup(gathers, chain, row)


def _unfit_gather(op: Operation, row: tuple[int, ...]) -> Miss | None:
    data, indices = (shape_of(operand) for operand in op.operands)
    if data is None or indices is None or not indices:
        return Miss("the rank of a table or of its indices is not known, or there is one index alone")
    if int_attr(op, "axis", 0) not in (0, -len(data)):
        return Miss("a lookup is not along the first axis")
    if tuple(data[1:]) != row:
        return Miss("the rows of two tables are not alike")
    made = shape_of(op.results[0])
    if made is None or len(made) != len(indices) + len(row) or made[len(indices) :] != row:
        return Miss("a lookup is not declared with the dims of its indices and of a row")
    return None


def _unfit_chain(
    chain: Sequence[Operation], gathers: Sequence[Operation], row: tuple[int, ...], rank: int
) -> Miss | None:
    """Why elementwise ops cannot be computed element by element of the rows."""
    made = {op.results[0] for op in gathers}
    read: set[SSAValue] = set()
    for op in chain:
        semantics = scalar_semantics(op)
        if semantics is None:
            return not_elementwise(op)
        for operand in broadcast_reads(op, semantics) or ():
            read.add(operand.value)
            if operand.trailing:
                return Miss(f"{op.name} reads a vector along an axis")
            if operand.value not in made and not _lies_along(operand.value, row, rank):
                return Miss(f"{op.name} reads an operand that has neither the dims of a row nor one element")
        made.update(op.results)
    # The result is as large as everything that flows into it is together.
    if any(result not in read for op in (*gathers, *chain[:-1]) for result in op.results[:1]):
        return Miss("a value of the chain does not flow into its result")
    return None


def _lies_along(value: SSAValue, row: tuple[int, ...], rank: int) -> bool:
    """Whether an operand has a row, or one element, for each row of the result."""
    shape = shape_of(value)
    if shape is None or len(shape) > rank:
        return False
    own = (*(1,) * (len(row) - len(shape)), *shape)
    return own[len(own) - len(row) :] in (row, (1,) * len(row))
