"""`onnx.reduction`: rows that are reduced, with elementwise ops before and after, one row at a time.

    Add(x, residual) ──► LayerNormalization ──► Gelu ──► y
          └─────────────────────────────────────────────► sum, where others read it

A normalization (LayerNormalization, RMSNormalization, Softmax, LogSoftmax) or a Reduce op over the last axes.
What is computed before it is written once, where the rest of the row's work finds it in the cache; others may
read it, too. Nothing else of the chain but its last value is seen outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import ClassVar, Final, Self, TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.body import externals_of, is_cloned
from onnxloom.transforms.fusion.conditions import to_equalities
from onnxloom.transforms.fusion.early import is_known_early
from onnxloom.transforms.fusion.estimate import estimate
from onnxloom.transforms.fusion.grow import Chain, grow, results_of
from onnxloom.transforms.fusion.helper import DimEquality, FusionOpKindHelper
from onnxloom.transforms.fusion.match import Body, Match, Miss
from onnxloom.transforms.fusion.order import producer_in
from onnxloom.transforms.fusion.reduced_rows import (
    NORMALIZATIONS,
    REDUCE_OPS,
    Rows,
    full_inputs,
    rows_of,
    why_no_member,
)
from onnxloom.transforms.fusion.spaces import Spaces, element_of, shape_of

MAX_INPUTS: Final = 12
"""Tensors read by one kernel."""


class ReductionFusion(FusionOpKindHelper):
    """Elementwise ops, the reduction of rows, elementwise ops."""

    kind: ClassVar[str] = "onnx.reduction"
    anchors: ClassVar[tuple[type[Operation], ...]] = (*NORMALIZATIONS, *REDUCE_OPS)
    max_op_count: ClassVar[int] = 32
    benefit: ClassVar[int] = 2
    """Before elementwise chains; after products, whose epilogues take the same ops at less cost, and after
    kinds that are written for one chain."""

    op_count: int
    """Ops of the chain."""

    lead_count: int
    """Ops before the reduction."""

    @classmethod
    def detect_if_beneficial(cls, dims: DimAnalysis, anchor: Operation) -> Match[Self] | Miss:
        rows = rows_of(anchor)
        if isinstance(rows, Miss):
            return rows
        if is_known_early(anchor, dims):
            return Miss(f"{anchor.name} computes from shapes and constants alone, before any kernel runs")
        lead = _lead(rows, dims)
        chain = grow(anchor, lambda chain, op: _join(rows, chain, op), lead=lead)
        reason: Miss = chain.stops[0] if chain.stops else Miss("nothing reads the reduced rows")
        for step in reversed(chain.steps):
            ops = chain.ops[: step.op_count]
            problem = _unfit_results(rows, ops, results_of(ops))
            if problem is None and len(ops) > 1:
                return _matched(cls, rows, ops, chain, dims)
            reason = problem or reason
        return reason.within(f"{anchor.name} alone is not worth a fused op")

    def verify(self, body: Body) -> Miss | None:
        if len(body.ops) != self.op_count or not 0 <= self.lead_count < self.op_count:
            return Miss(f"the body has {len(body.ops)} ops; expected {self.op_count}")
        rows = rows_of(body.ops[self.lead_count])
        if isinstance(rows, Miss):
            return rows
        lead, trail = body.ops[: self.lead_count], body.ops[self.lead_count + 1 :]
        problem = _unfit_members(rows, lead, trail) or _unfit_results(rows, body.ops, body.results)
        if problem is not None:
            return problem
        inputs = body.inputs
        spaces = Spaces(to_equalities(self.dim_conditions, inputs))
        for first, other, axis in _same_dims(rows, body.ops, inputs):
            if spaces.find((inputs[other], axis)) != spaces.find((inputs[first], axis)):
                return Miss(f"no dim condition says that inputs {first} and {other} agree in dim {axis}")
        return None


def _same_dims(
    rows: Rows, ops: Sequence[Operation], inputs: Sequence[SSAValue]
) -> list[tuple[int, int, int]]:
    """(input, other input, axis) whose sizes are not known and have to agree."""
    full = full_inputs(rows, ops, inputs)
    axes = [axis for axis, size in enumerate(shape_of(rows.data) or ()) if size == DYNAMIC_INDEX]
    return [(full[0], other, axis) for other in full[1:] for axis in axes]


def _lead(rows: Rows, dims: DimAnalysis) -> list[Operation]:
    """The elementwise ops before the reduction that compute its data, each after what it reads."""
    block = rows.op.parent
    assert block is not None
    producer = producer_in(block, rows.data)
    taken: list[Operation] = []
    if producer is None or is_cloned(rows.data) or not _may_lead(rows, producer, dims):
        return taken
    # Back to front: a producer joins once all its readers have.
    waiting = [producer]
    while waiting and len(taken) < ReductionFusion.max_op_count // 2:
        op = waiting.pop()
        taken.append(op)
        for operand in op.operands:
            before = producer_in(block, operand)
            if before is None or is_cloned(operand) or before in taken or before in waiting:
                continue
            if _is_read_by(operand, taken) and _may_lead(rows, before, dims):
                waiting.append(before)
    return taken[::-1]


def _is_read_by(value: SSAValue, ops: Sequence[Operation]) -> bool:
    """Whether nothing but some of a few ops reads a value; the value may have any number of readers."""
    most = sum(len(op.operands) for op in ops)
    uses = tuple(islice(value.uses, most + 1))
    return len(uses) <= most and {use.operation for use in uses} <= set(ops)


def _may_lead(rows: Rows, op: Operation, dims: DimAnalysis) -> bool:
    # Operands with the dims of the data may be made by ops that join later: that is told by types.
    return why_no_member(rows, op, rows.data, ()) is None and not is_known_early(op, dims)


def _join(rows: Rows, chain: Chain, op: Operation) -> list[Operation] | Miss:
    made = {result for member in chain.ops[chain.ops.index(rows.op) :] for result in member.results}
    problem = why_no_member(rows, op, rows.result, made)
    if problem is not None:
        return problem
    lead = {result for member in chain.ops[: chain.ops.index(rows.op)] for result in member.results}
    for operand in op.operands:
        if operand in lead or (operand is rows.data and not rows.keeps_rows):
            return Miss(f"{op.name} reads the data of the reduction beside its result")
        if operand not in made and not is_none(operand) and chain.is_late(operand):
            return Miss(f"an input of {op.name} is made after the chain has been read outside")
    if len(chain) >= ReductionFusion.max_op_count:
        return Miss(f"the chain has {len(chain)} ops already")
    if chain.input_count_with([op]) > MAX_INPUTS:
        return Miss(f"{op.name} would give the kernel more than {MAX_INPUTS} inputs")
    return [op]


def _unfit_members(rows: Rows, lead: Sequence[Operation], trail: Sequence[Operation]) -> Miss | None:
    for ops, beside, first in ((lead, rows.data, ()), (trail, rows.result, (rows.result,))):
        made: list[SSAValue] = list(first)
        for op in ops:
            problem = why_no_member(rows, op, beside, made)
            if problem is not None:
                return problem
            made.extend(op.results)
    made_before = {result for op in lead for result in op.results}
    if any(operand in made_before for op in trail for operand in op.operands):
        return Miss("an op behind the reduction reads a value from before it")
    if any(operand in made_before for operand in rows.op.operands[1:]):
        return Miss(f"a parameter of {rows.op.name} is made in the chain")
    if lead and rows.data is not lead[-1].results[0]:
        return Miss(f"{lead[-1].name} does not make what is reduced")
    return None


def _unfit_results(rows: Rows, ops: Sequence[Operation], results: Sequence[SSAValue]) -> Miss | None:
    """Only the last value is seen outside, and the data where the chain computes it."""
    last = ops[-1].results[0]
    if last not in results:
        return Miss(f"nothing outside reads the result of {ops[-1].name}")
    for value in results:
        if value is not last and (value is not rows.data or rows.op is ops[0]):
            return Miss("a value inside of the chain is read outside")
    # The data that the chain makes, and the exponentials of a Softmax, wait in the place of the last result.
    is_staged = (rows.op is not ops[0] and rows.data not in results) or isinstance(rows.op, onnx.SoftmaxOp)
    if rows.keeps_rows and is_staged and element_of(last) != element_of(rows.data):
        return Miss("there is no place for the data: the last result has another type")
    return None


FusionT = TypeVar("FusionT", bound=ReductionFusion)


def _matched(
    cls: type[FusionT], rows: Rows, ops: Sequence[Operation], chain: Chain, dims: DimAnalysis
) -> Match[FusionT] | Miss:
    results = results_of(ops)
    inputs = externals_of(ops).inputs
    if len(inputs) > MAX_INPUTS:
        return Miss(f"the kernel would have {len(inputs)} inputs; it takes {MAX_INPUTS}")
    conditions: list[DimEquality] = []
    for first, other, axis in _same_dims(rows, ops, inputs):
        if not dims.same_dim(inputs[other], axis, inputs[first], axis):
            return Miss(f"dim {axis} of an operand is not proven to be that of the data")
        conditions.append((first, axis, other, axis))
    helper = cls(len(ops), list(ops).index(rows.op), dim_conditions=tuple(conditions))
    # Always worth it: a launch is saved and nothing is computed twice.
    return Match(helper, tuple(ops), tuple(results), estimate(ops, results), tuple(chain.stops))
