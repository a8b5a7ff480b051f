"""How do ONNX Loop and Scan run? Python drives the iterations; the body is a program with a plan tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxloom.errors import InputError
from onnxloom.lowering.plan.program import DYNAMIC, LoopStep, ScanStep, Spec, is_array, numpy_dtype
from onnxloom.lowering.plan.values import only_element

if TYPE_CHECKING:
    from onnxloom.lowering.runtime.tree import PlanTree


def run_loop(step: LoopStep, args: Sequence[Any], body: PlanTree) -> list[Any]:
    """Results of a Loop: carried values, then scan outputs stacked along a leading axis."""
    count = len(step.carried)
    carried = list(args[2 : 2 + count])
    captures = list(args[2 + count :])
    trips = None if args[0] is None else _scalar(args[0], step, "its trip count")
    going = True if args[1] is None else bool(_scalar(args[1], step, "its condition"))
    scanned: list[list[Any]] = [[] for _ in body.program.block.yields[1 + count :]]
    iteration = 0
    while going and (trips is None or iteration < trips):
        inputs = [np.array(iteration, np.int64), np.array(True), *carried, *captures]
        results = body.run(_shaped(body, inputs))
        going = bool(_scalar(results[0], step, "the condition its body gives"))
        carried = results[1 : 1 + count]
        for rows, row in zip(scanned, results[1 + count :], strict=True):
            rows.append(row)
        iteration += 1
    specs = _yield_specs(body)[1 + count :]
    stacked = (_stack(r, s, 0, False, step.origin) for r, s in zip(scanned, specs, strict=True))
    return [*_own(carried, args), *stacked]


def run_scan(step: ScanStep, args: Sequence[Any], body: PlanTree) -> list[Any]:
    """Results of a Scan: final states, then scan outputs."""
    count, inputs = len(step.states), len(step.scanned)
    states = list(args[:count])
    scanned = [
        np.flip(np.moveaxis(a, axis, 0), 0) if reverse else np.moveaxis(a, axis, 0)
        for a, axis, reverse in zip(
            args[count : count + inputs], step.input_axes, step.input_reverse, strict=True
        )
    ]
    captures = list(args[count + inputs :])
    lengths = {a.shape[0] for a in scanned}
    if len(lengths) != 1:
        raise InputError(f"{step.origin}: the scanned inputs have different lengths {sorted(lengths)}")
    rows: list[list[Any]] = [[] for _ in body.program.block.yields[count:]]
    for i in range(lengths.pop()):
        slices = [np.array(a[i], order="C") for a in scanned]
        results = body.run(_shaped(body, [*states, *slices, *captures]))
        states = results[:count]
        for column, row in zip(rows, results[count:], strict=True):
            column.append(row)
    specs = _yield_specs(body)[count:]
    stacked = [
        _stack(column, spec, axis, bool(reverse), step.origin)
        for column, spec, axis, reverse in zip(
            rows, specs, step.output_axes, step.output_reverse, strict=True
        )
    ]
    return [*_own(states, args), *stacked]


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


def _stack(rows: list[Any], spec: Spec, axis: int, reverse: bool, origin: str) -> Any:
    if not rows:
        shape = () if spec.shape is None else tuple(0 if d == DYNAMIC else d for d in spec.shape)
        empty = np.empty((0, *shape), numpy_dtype(spec.dtype))
        return np.array(np.moveaxis(empty, 0, axis), order="C")
    if not is_array(rows[0]):
        return rows
    odd = next((r for r in rows if r.shape != rows[0].shape), None)
    if odd is not None:
        shapes = f"{list(rows[0].shape)} in the first iteration and {list(odd.shape)} in another"
        raise InputError(f"{origin}: a scan output has shape {shapes}; they must agree to be stacked")
    stacked = np.stack(rows[::-1] if reverse else rows)
    return np.array(np.moveaxis(stacked, 0, axis), order="C") if axis else stacked
