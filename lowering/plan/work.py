"""How are the tasks of a launch shared out? In chunks worth the trouble, many for each thread.

What a kernel does per task is estimated from its sizes: `KernelWork` is straight-line code over them, in
units of about 25 picoseconds of one core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from onnxloom.lowering.plan.index_ops import ARITH
from onnxloom.lowering.plan.program import KernelWork

MIN_LAUNCH = 120_000
"""Work (3 microseconds) below which a launch stays on one thread."""

MIN_CHUNK = 40_000
"""Work of a chunk at least: claiming one takes a tenth of it."""

CHUNKS_PER_THREAD = 16
"""So many, or a thread that is held up makes the others wait."""

WAKE = 1_600_000
"""Work (40 microseconds) that launches have to share before helpers that sleep are woken: this takes a
system call, and they take about as long to come."""

MAX_CHUNKS = 1 << 14
"""The ticket that chunks are claimed with has 16 bits for them."""


def _by_zero_is_zero(divide: Callable[..., int]) -> Callable[[int, int], int]:
    """A kernel divides by a size that is 0 only where it does not get to."""
    return lambda a, b: divide(a, b) if b else 0


_DIVISIONS = ("divsi", "divui", "floordivsi", "ceildivsi", "ceildivui", "remsi", "remui")
_OTHERS = ("addi", "subi", "muli", "minsi", "minui", "maxsi", "maxui")

OPERATIONS: dict[str, Callable[[int, int], int]] = {
    **{f"arith.{name}": _by_zero_is_zero(ARITH[f"arith.{name}"]) for name in _DIVISIONS},
    **{f"arith.{name}": ARITH[f"arith.{name}"] for name in _OTHERS},
}
"""What an estimate computes with: the ops on two indices, which give what the kernel itself finds."""


def evaluate(work: KernelWork, sizes: Sequence[int]) -> tuple[int, int]:
    """Number of tasks, and work in one of them."""
    values = [*sizes, *work.constants]
    for name, a, b in work.code:
        values.append(OPERATIONS[name](values[a], values[b]))
    return max(0, values[work.tasks]), max(1, values[work.cost])


@dataclass(frozen=True)
class Share:
    """How a launch is shared out; no chunks where it stays on one thread."""

    chunks: int = 0
    size: int = 0
    """Tasks in a chunk."""
    work: int = 0


def share_of(work: KernelWork | None, sizes: Sequence[int], threads: int) -> Share:
    """How `threads` threads share a launch of a kernel out among them."""
    if work is None or threads < 2:
        return Share()
    tasks, cost = evaluate(work, sizes)
    if tasks < 2 or tasks * cost < MIN_LAUNCH:
        return Share()
    size = max(-(-MIN_CHUNK // cost), -(-tasks // min(MAX_CHUNKS, CHUNKS_PER_THREAD * threads)))
    chunks = -(-tasks // size)
    return Share(chunks, size, tasks * cost) if chunks > 1 else Share()


def worth_waking(shares: Sequence[Share]) -> list[bool]:
    """For each launch of a stretch, whether enough work is shared from it on."""
    flags: list[bool] = []
    ahead = 0
    for share in reversed(shares):
        ahead += share.work
        flags.append(ahead >= WAKE)
    return flags[::-1]
