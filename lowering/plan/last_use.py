"""After which step of its block is a slot not read any more?"""

from __future__ import annotations

from collections.abc import Iterator

from onnxloom.lowering.plan.program import (
    Block,
    CheckStep,
    EmptyStep,
    HostStep,
    IfStep,
    IndexStep,
    LaunchStep,
    LoopStep,
    PackStep,
    ScanStep,
    Slot,
    Step,
    ViewStep,
)


def last_uses(block: Block) -> dict[Slot, int]:
    """Slot -> position in its own block of its last reader; the number of steps if it is yielded.

    A slot that an `If` branch captures is read by the `If`. Slots nobody reads are left out.
    """
    found: dict[Slot, int] = {}
    _scan(block, found)
    return found


def _scan(block: Block, found: dict[Slot, int]) -> set[Slot]:
    """Fills `found` for the slots of `block`; gives the outer slots read inside."""
    read: set[Slot] = set()
    defined: set[Slot] = set()
    for position, step in enumerate(block.steps):
        slots = set(direct_reads(step))
        if isinstance(step, IfStep):
            slots |= _scan(step.then_block, found) | _scan(step.else_block, found)
        for slot in slots:
            # Inner blocks come first, so that the outermost block, where the slot lives, has the last word.
            found[slot] = position
        read |= slots
        defined.update(results_of(step))
    for slot in block.yields:
        found[slot] = len(block.steps)
    return (read | set(block.yields)) - defined


def direct_reads(step: Step) -> Iterator[Slot]:
    """The slots a step itself reads (not the blocks of an `If`)."""
    match step:
        case EmptyStep():
            yield from step.sizes
        case ViewStep():
            yield from (step.source, step.offset, *step.sizes)
        case LaunchStep():
            yield from (*step.ins, *step.outs, *step.sizes)
        case CheckStep():
            yield step.status
        case PackStep():
            yield step.source
        case IndexStep():
            yield from step.operands
        case HostStep():
            yield from step.args
        case IfStep():
            yield step.condition
        case LoopStep():
            yield from (step.trip_count, step.condition, *step.carried, *step.captures)
        case ScanStep():
            yield from (*step.states, *step.scanned, *step.captures)


def results_of(step: Step) -> tuple[Slot, ...]:
    """The slots a step defines."""
    if isinstance(step, EmptyStep | ViewStep | PackStep):
        return (step.result,)
    if isinstance(step, CheckStep):
        return ()
    return step.results
