"""Pass `unroll-loops`: a Loop of few, known iterations becomes the ops of these iterations.

`Loop(3, x) {body} -> body, body, body`; a scan output is the Concat of what each iteration gives. The
result has more ops than before, which the limits bound: what it saves is a step of its own in the plan,
and what it opens is that each iteration's counter is a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import make
from onnxloom.dialects.onnx.annotations import is_kept
from onnxloom.dialects.onnx.constant import make_constant
from onnxloom.dialects.onnx.dense import Array
from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_DTYPE
from onnxloom.dialects.onnx.narrow import is_ranked
from onnxloom.transforms.control_flow.bodies import op_count, rename_copy, take_over, yields_of
from onnxloom.transforms.control_flow.report import FlowReport
from onnxloom.transforms.control_flow.trip_count import trip_count
from onnxloom.transforms.describe import describe
from onnxloom.transforms.dim_analysis.facts import element_type
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.budget import may_rewrite
from onnxloom.transforms.rewriting.recording import AppliedMatch, recording


@dataclass(frozen=True)
class UnrollLoopsPass(ModulePass):
    """Unrolls inner loops first, and outer ones if what they hold then is still small enough."""

    name = "unroll-loops"

    max_trips: int = 16
    """No loop of more iterations is unrolled."""

    max_ops: int = 128
    """Nor one whose iterations have more ops than that in all."""

    report: FlowReport = field(default_factory=FlowReport, init=False, compare=False, repr=False)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.report.clear()
        for loop in _loops_inside_out(op):
            trips = self.trips(loop)
            if isinstance(trips, Miss):
                self.report.decline(loop, trips)
            elif may_rewrite(self.name, f"Loop of {trips} iterations", loop):
                size = op_count(loop.body.block)
                self.report.done.append(f"{describe(loop)}: {trips} iterations of {size} ops")
                self.unroll(loop, trips)

    def unroll(self, op: onnx.LoopOp, trips: int) -> None:
        """Unrolls a loop, as a record of its own that says why there are more ops."""
        before, after = op.prev_op, op.next_op
        assert op.parent is not None
        block = op.parent
        with recording(op, self.name) as batch:
            _unroll(op, trips)
            made: list[Operation] = []
            inner = block.first_op if before is None else before.next_op
            while inner is not None and inner is not after:
                made.append(inner)
                inner = inner.next_op
            reason = f"a loop is written out as its {trips} iterations"
            batch.attribute(AppliedMatch(self.name, [op], made, adds_ops=reason))

    def trips(self, op: onnx.LoopOp) -> int | Miss:
        """How many iterations to write out, or why none."""
        if is_kept(op):
            return Miss("it is marked to be kept, or holds what is")
        trips = trip_count(op)
        if isinstance(trips, Miss):
            return trips
        if trips > self.max_trips:
            return Miss(f"it has {trips} iterations; at most {self.max_trips} are unrolled")
        ops = trips * op_count(op.body.block)
        if ops > self.max_ops:
            return Miss(f"its iterations have {ops} ops in all; at most {self.max_ops} are written out")
        steps = yields_of(op.body.block)[1 + len(op.v_initial) :]
        for result, step in zip(_scan_outputs(op), steps, strict=True):
            if element_type(step.type) is None:
                return Miss("a scan output is no tensor")
            if trips == 0 and _empty(result.type) is None:
                return Miss("it never runs, and the shape of its empty scan output is not known")
        return trips


def _loops_inside_out(module: Operation) -> list[onnx.LoopOp]:
    loops = [op for op in module.walk() if isinstance(op, onnx.LoopOp)]
    return loops[::-1]


def _scan_outputs(op: onnx.LoopOp) -> Sequence[SSAValue]:
    return op.results[len(op.v_initial) :]


def _unroll(op: onnx.LoopOp, trips: int) -> None:
    carried: Sequence[SSAValue] = list(op.v_initial)
    columns: list[list[SSAValue]] = [[] for _ in _scan_outputs(op)]
    shared = _copy_structure(op)
    made: set[SSAValue] = set()
    for index in range(trips):
        results = _copy_iteration(op, index, trips, carried, dict(shared), made)
        carried, steps = results[: len(carried)], results[len(carried) :]
        for column, step in zip(columns, steps, strict=True):
            column.append(step)
    stacked = [_stack(op, result, column) for result, column in zip(_scan_outputs(op), columns, strict=True)]
    for old, fresh in zip(op.results, [*carried, *stacked], strict=True):
        take_over(old, fresh, refine=fresh in made or fresh in stacked)
    op.detach()
    op.erase()


def _copy_structure(op: onnx.LoopOp) -> dict[SSAValue, SSAValue]:
    """One copy of each constant and absent value of the body, for all iterations."""
    copies: dict[SSAValue, SSAValue] = {}
    for inner in op.body.block.ops:
        if isinstance(inner, onnx.ConstantOp | onnx.NoValueOp):
            _insert(inner.clone(copies), op)
    return copies


def _copy_iteration(
    op: onnx.LoopOp,
    index: int,
    trips: int,
    carried: Sequence[SSAValue],
    values: dict[SSAValue, SSAValue],
    made: set[SSAValue],
) -> list[SSAValue]:
    """What the iteration gives, without its condition."""
    block = op.body.block
    for argument, element in ((block.args[0], np.int64(index)), (block.args[1], np.bool_(True))):
        if argument.uses:
            constant = make_constant(np.full(_scalar_shape(argument.type), element))
            values[argument] = _insert(constant, op).results[0]
    values.update(zip(block.args[2:], carried, strict=True))
    for inner in block.ops:
        if isinstance(inner, onnx.YieldOp):
            break
        if isinstance(inner, onnx.ConstantOp | onnx.NoValueOp):
            continue
        copy = _insert(inner.clone(values), op)
        made.update(copy.results)
        if trips > 1:
            rename_copy(copy, f"/iteration_{index}")
    return [values.get(value, value) for value in yields_of(block)[1:]]


def _scalar_shape(type_: Attribute) -> tuple[int, ...]:
    """The standard has the counter and the condition as scalars; models have them with a dim of 1 too."""
    return (1,) * type_.get_num_dims() if is_ranked(type_) else ()


def _insert(op: Operation, place: Operation) -> Operation:
    assert place.parent is not None
    place.parent.insert_op_before(op, place)
    return op


def _stack(op: onnx.LoopOp, result: SSAValue, column: Sequence[SSAValue]) -> SSAValue:
    """A scan output from what the iterations gave."""
    if not column:
        empty = _empty(result.type)
        assert empty is not None, "a loop that never runs is unrolled when its empty outputs are known"
        return _insert(make_constant(empty), op).results[0]
    axes = _insert(make_constant(np.array([0], np.int64)), op).results[0]
    rows = [
        _insert(make(onnx.UnsqueezeOp, [step, axes], [_stacked_type(step.type, 1)]), op).results[0]
        for step in column
    ]
    if len(rows) == 1:
        return rows[0]
    length = len(rows)
    types = {_stacked_type(step.type, length) for step in column}
    element = element_type(column[0].type)
    assert element is not None
    result_type = types.pop() if len(types) == 1 else UnrankedTensorType(element)
    return _insert(make(onnx.ConcatOp, rows, [result_type], axis=0), op).results[0]


def _stacked_type(type_: Attribute, length: int) -> Attribute:
    if not is_ranked(type_):
        return type_
    return TensorType(type_.element_type, [length, *type_.get_shape()])


def _empty(type_: Attribute) -> Array | None:
    """The array of no elements of a static type; None where the type leaves something open."""
    if not is_ranked(type_):
        return None
    shape, dtype = type_.get_shape(), ELEMENT_TO_DTYPE.get(type_.element_type)
    if dtype is None or DYNAMIC_INDEX in shape or 0 not in shape:
        return None
    return np.empty(shape, dtype)
