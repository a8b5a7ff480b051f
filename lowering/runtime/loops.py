"""How do ONNX Loop and Scan run? Python drives the iterations; the body is a program with a plan tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxloom.errors import InputError, ModelError
from onnxloom.lowering.plan.memory import address_of
from onnxloom.lowering.plan.program import DYNAMIC, Array, LoopStep, ScanStep, Spec, is_array, numpy_dtype
from onnxloom.lowering.plan.values import only_element
from onnxloom.lowering.runtime.loop_places import BodyLayout, Place, is_movable
from onnxloom.lowering.runtime.moving_loop import MovingLoop
from onnxloom.lowering.runtime.observation import observation
from onnxloom.lowering.runtime.termination import check_terminated

if TYPE_CHECKING:
    from onnxloom.lowering.runtime.tree import PlanTree


def run_loop(step: LoopStep, args: Sequence[Any], body: PlanTree, declared: Sequence[Spec]) -> list[Any]:
    """Results of a Loop, declared so: carried values, then scan outputs stacked along a leading axis."""
    count = len(step.carried)
    trips = None if args[0] is None else _scalar(args[0], step, "its trip count")
    going = True if args[1] is None else bool(_scalar(args[1], step, "its condition"))
    rows = len(body.program.block.yields) - 1 - count
    if not going or (trips is not None and trips <= 0):
        forms = zip(_yield_specs(body)[1 + count :], declared[count:], strict=True)
        return [*_own(args[2 : 2 + count], args), *(_no_rows(*f, 0, step.origin) for f in forms)]
    inputs = _shaped(body, [np.array(0), np.array(True), *args[2:]])
    node = body.root(tuple(observation(a) for a in inputs), inputs)
    layout = BodyLayout(count, 2, counter=0, condition=1)
    if is_movable(node, inputs, layout):
        loop = MovingLoop(body.engine, node, layout, inputs, trips, (), (False,) * rows, step.origin)
        outcome = loop.run()
        return [*outcome.carried, *outcome.outputs]
    return _step_by_step(step, args, inputs, body, trips)


def _step_by_step(
    step: LoopStep, args: Sequence[Any], inputs: list[Any], body: PlanTree, trips: int | None
) -> list[Any]:
    """A Loop, at least one iteration of it, whose iterations may differ in shapes and in what they run."""
    count = len(step.carried)
    scanned: list[list[Any]] = [[] for _ in body.program.block.yields[1 + count :]]
    number, going = inputs[0], True
    iteration = 0
    while going and (trips is None or iteration < trips):
        check_terminated()
        number = np.full(number.shape, iteration)
        results = body.run([number, *inputs[1:]])
        going = bool(_scalar(results[0], step, "the condition its body gives"))
        inputs[2 : 2 + count] = results[1 : 1 + count]
        for rows, row in zip(scanned, results[1 + count :], strict=True):
            rows.append(row)
        iteration += 1
    stacked = (_stack(rows, 0, False, step.origin) for rows in scanned)
    return [*_own(inputs[2 : 2 + count], args), *stacked]


def run_scan(step: ScanStep, args: Sequence[Any], body: PlanTree, declared: Sequence[Spec]) -> list[Any]:
    """Results of a Scan, declared so: final states, then scan outputs."""
    count, ends = len(step.states), len(step.states) + len(step.scanned)
    states, captures = list(args[:count]), list(args[ends:])
    scanned = [
        np.ascontiguousarray(np.moveaxis(a, _place(axis, a.ndim, step.origin), 0))
        for a, axis in zip(args[count:ends], step.input_axes, strict=True)
    ]
    lengths = {len(a) for a in scanned}
    if len(lengths) != 1:
        raise InputError(f"{step.origin}: the scanned inputs have different lengths {sorted(lengths)}")
    total = lengths.pop()
    reverse = [bool(r) for r in step.output_reverse]
    if not total:
        forms = zip(_yield_specs(body)[count:], declared[count:], step.output_axes, strict=True)
        return [*_own(states, args), *(_no_rows(*form, step.origin) for form in forms)]
    # `a[0]` of a list of numbers would be a number, not an array.
    inputs = _shaped(body, [*states, *(a[0, ...] for a in scanned), *captures])
    node = body.root(tuple(observation(a) for a in inputs), inputs)
    layout = BodyLayout(count, 0, slices=tuple(range(count, ends)))
    if is_movable(node, inputs, layout):
        slices = [_slices(a, bool(r)) for a, r in zip(scanned, step.input_reverse, strict=True)]
        outcome = MovingLoop(body.engine, node, layout, inputs, total, slices, reverse, step.origin).run()
        pairs = zip(outcome.outputs, step.output_axes, strict=True)
        return [*outcome.carried, *(_along(output, axis, step.origin) for output, axis in pairs)]
    rows: list[list[Any]] = [[] for _ in reverse]
    for i in range(total):
        check_terminated()
        slices = [a[-1 - i] if r else a[i] for a, r in zip(scanned, step.input_reverse, strict=True)]
        results = body.run([*states, *(np.array(s, order="C") for s in slices), *captures])
        states = results[:count]
        for column, row in zip(rows, results[count:], strict=True):
            column.append(row)
    forms = zip(rows, step.output_axes, reverse, strict=True)
    return [*_own(states, args), *(_stack(*form, step.origin) for form in forms)]


def _slices(array: Array, reverse: bool) -> Place:
    """Slice after slice along the first dim, or the other way round."""
    stride = array.nbytes // len(array)
    start = address_of(array) + (stride * (len(array) - 1) if reverse else 0)
    return Place(start, start, -stride if reverse else stride)


def _along(stacked: Array, axis: int, origin: str) -> Array:
    """The first dim at place `axis`."""
    place = _place(axis, stacked.ndim, origin)
    return np.array(np.moveaxis(stacked, 0, place), order="C") if place else stacked


def _place(axis: int, rank: int, origin: str) -> int:
    if not -rank <= axis < rank:
        raise ModelError(f"{origin}: axis {axis} is not in [{-rank}, {rank - 1}]")
    return axis + rank if axis < 0 else axis


def _scalar(value: Any, step: LoopStep, what: str) -> Any:
    return only_element(value, step.origin, what).item()


def _shaped(body: PlanTree, inputs: list[Any]) -> list[Any]:
    """The inputs with the iteration number and condition in the rank the body declares."""
    for i, slot in enumerate(body.program.args):
        spec = body.program.specs[slot]
        value = inputs[i]
        if spec.shape == (1,) and is_array(value) and value.shape == ():
            inputs[i] = value.reshape(1)
    return inputs


def _yield_specs(body: PlanTree) -> list[Spec]:
    return [body.program.specs[slot] for slot in body.program.block.yields]


def _own(values: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """Values of a loop that never ran are its inputs: results must not share their memory."""
    given = {id(a) for a in args}
    return [np.array(v) if id(v) in given and is_array(v) else v for v in values]


def _no_rows(row: Spec, declared: Spec, axis: int, origin: str) -> Any:
    """A scan output of a loop that never ran: what is known of its dims, from a row or the result, else 0."""
    shape = declared.shape
    if row.shape is not None:
        place = _place(axis, len(row.shape) + 1, origin)
        shape = (*row.shape[:place], 0, *row.shape[place:])
        if declared.shape is not None and len(declared.shape) == len(shape):
            shape = tuple(b if a == DYNAMIC else a for a, b in zip(shape, declared.shape, strict=True))
    elif shape is not None:
        place = _place(axis, len(shape), origin)
        shape = (*shape[:place], 0, *shape[place + 1 :])
    return np.empty([max(d, 0) for d in shape or (0,)], numpy_dtype(row.dtype))


def _stack(rows: list[Any], axis: int, reverse: bool, origin: str) -> Any:
    if not is_array(rows[0]):
        return rows
    odd = next((r for r in rows if r.shape != rows[0].shape), None)
    if odd is not None:
        shapes = f"{list(rows[0].shape)} in the first iteration and {list(odd.shape)} in another"
        raise InputError(f"{origin}: a scan output has shape {shapes}; they must agree to be stacked")
    return _along(np.stack(rows[::-1] if reverse else rows), axis, origin)
