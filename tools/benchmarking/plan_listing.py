"""How is the plan of a run shown? Each record with its kernel, work, bytes, expected share and places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from onnxloom.tools.benchmarking.inspected import Inspected, short_origin
from onnxloom.tools.benchmarking.text_table import aligned, micros, si

if TYPE_CHECKING:
    from onnxloom.lowering.plan.node import End, Node
    from onnxloom.lowering.plan.stretch import Launch
    from onnxloom.lowering.plan.values import Value
    from onnxloom.lowering.roofline.launch_cost import LaunchCost
    from onnxloom.lowering.roofline.machine import Machine
    from onnxloom.lowering.runtime.model import CompiledModel

_HEAD = ("", "share", "limit us", "FLOP", "read", "weights", "written", "kernel", "in", "out", "op")
_LEFT = (7, 8, 9, 10)


def plan_lines(inspected: Inspected, machine: Machine) -> Iterator[str]:
    """The lines for all shape keys that the model was run with."""
    from onnxloom.lowering.roofline.launch_cost import CostTable

    costs = CostTable(inspected.kernels)
    stretches = [entry for model in _models(inspected.model) for entry in _stretches(model)]
    found = {id(node): [costs(launch) for launch in node.launches] for _, node in stretches}
    everything = [cost for row in found.values() for cost in row]
    weights = sum(cost.weights for cost in everything)
    total = sum(cost.limit(machine, weights) for cost in everything)
    yield _summary(everything, total, machine)
    for number, (depth, node) in enumerate(stretches, 1):
        indent = "  " * depth
        count = len(node.launches)
        yield (
            f"{indent}stretch {number}: {count} kernel call{'' if count == 1 else 's'}, "
            f"arena {node.arena_bytes} bytes"
        )
        rows = [
            _row(index, cost, cost.limit(machine, weights), total)
            for index, cost in enumerate(found[id(node)])
        ]
        if rows:
            yield from aligned([_HEAD, *rows], _LEFT, indent + "  ")
        for late in node.late:
            yield f"{indent}  then in Python: {late.step.title}"
        yield f"{indent}  then {_end(node.end)}"


def machine_line(machine: Machine) -> str:
    """The limits in one line."""
    how = "measured" if machine.is_measured else "assumed"
    found = ", ".join(
        f"{row.copied / 1e9:.0f}/{row.read / 1e9:.0f} in {si(row.footprint, 'B')}"
        for row in machine.bandwidths
    )
    return f"limits {how}, one core: {machine.flops / 1e9:.0f} GFLOP/s (f32 FMA); GB/s copied/read: {found}"


def _summary(costs: Sequence[LaunchCost], total: float, machine: Machine) -> str:
    work = si(sum(cost.operations for cost in costs), "FLOP")
    moved = si(sum(cost.moved for cost in costs), "B")
    return f"{machine_line(machine)}\nplan: {work}, {moved} moved, at least {micros(total)} us"


def _row(number: int, cost: LaunchCost, limit: float, total: float) -> tuple[str, ...]:
    launch = cost.launch
    return (
        str(number), f"{limit / total:.1%}" if total else "-", micros(limit), si(cost.operations),
        si(cost.read), si(cost.weights), si(cost.written), launch.kernel,
        " ".join(_place(v) for v in launch.ins),
        " ".join(_destination(launch, v) for v in launch.outs), short_origin(launch.origin),
    )  # fmt: skip


def _place(value: Value) -> str:
    """`const`, `array 3` (an input, an output or what outlives the stretch), or `@1024` in the arena."""
    if value.is_known or value.buffer is None:
        return "const"
    storage = value.buffer.storage()
    if storage.cell is not None:
        return f"array{storage.cell}" + (f"+{value.offset}" if value.offset else "")
    return f"@{storage.offset + value.offset}"


def _destination(launch: Launch, value: Value) -> str:
    sources = [v.buffer.storage() for v in launch.ins if v.buffer is not None]
    shared = value.buffer is not None and value.buffer.storage() in sources
    return _place(value) + (" in place" if shared else "")


def _models(model: CompiledModel) -> list[CompiledModel]:
    """Those that ran: the model, or what it was compiled to for the shapes it met."""
    return model.variants or [model]


def _stretches(model: CompiledModel) -> Iterator[tuple[int, Node]]:
    """The stretches of the plan tree of the main program, each before those that follow it."""
    waiting: list[tuple[int, Node]] = [(0, root) for root in reversed(model.plans)]
    while waiting:
        depth, node = waiting.pop()
        yield depth, node
        children = node.children.values()
        waiting.extend((depth + (len(children) > 1), child) for child in reversed(children))


def _end(end: End) -> str:
    from onnxloom.lowering.plan.node import ReturnEnd, StepEnd

    if isinstance(end, ReturnEnd):
        return "return"
    if isinstance(end, StepEnd):
        return f"in Python: {getattr(end.step, 'title', type(end.step).__name__.removesuffix('Step'))}"
    return "look at a condition" if end.branch else "look at a value that decides a shape"
