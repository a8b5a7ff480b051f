"""How is the profile of a model shown? Its slowest records against their limits, and what is not kernels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from onnxloom.tools.benchmarking.inspected import Inspected, short_origin
from onnxloom.tools.benchmarking.plan_listing import machine_line
from onnxloom.tools.benchmarking.text_table import aligned, micros

if TYPE_CHECKING:
    from onnxloom.lowering.roofline.launch_cost import LaunchCost
    from onnxloom.lowering.roofline.machine import Machine
    from onnxloom.lowering.roofline.profile import LaunchTime, Profile

SHOWN: Final = 30
"""Rows of the table; the rest is one line."""

_HEAD = ("share", "us", "calls", "us each", "limit us", "of limit", "GFLOP/s", "GB/s", "kernel", "op")


@dataclass(frozen=True)
class ProfiledOp:
    """Records of one kernel on equal sizes: measured, and at best."""

    kernel: str
    op: str
    """Of the first of them."""
    seconds: float
    """All calls of a run together."""
    calls: int
    limit: float
    """The least seconds of one call."""
    operations: float
    moved: float
    """Bytes of one call."""

    @property
    def each(self) -> float:
        """Seconds of one call."""
        return self.seconds / self.calls


def profiled_ops(inspected: Inspected, profile: Profile, machine: Machine) -> list[ProfiledOp]:
    """What a run spends its time on, the most first."""
    from onnxloom.lowering.roofline.launch_cost import CostTable

    table = CostTable(inspected.kernels)
    costs = [table(entry.launch) for entry in profile.launches]
    weights = sum(cost.weights for cost in costs)
    groups: dict[tuple[str, tuple[int, ...]], list[tuple[LaunchTime, LaunchCost]]] = defaultdict(list)
    for entry, cost in zip(profile.launches, costs, strict=True):
        groups[entry.launch.kernel, entry.launch.sizes].append((entry, cost))
    found = [_together(members, machine, weights) for members in groups.values()]
    return sorted(found, key=lambda op: -op.seconds)


def _together(
    members: Sequence[tuple[LaunchTime, LaunchCost]], machine: Machine, weights: float
) -> ProfiledOp:
    first, cost = members[0]
    return ProfiledOp(
        kernel=first.launch.kernel,
        op=short_origin(first.launch.origin),
        seconds=sum(entry.seconds * entry.calls for entry, _ in members),
        calls=sum(entry.calls for entry, _ in members),
        limit=cost.limit(machine, weights),
        operations=cost.operations,
        moved=cost.moved,
    )


def profile_lines(inspected: Inspected, feeds: Mapping[str, Any], machine: Machine) -> Iterator[str]:
    """Runs the model record by record and gives the lines of the table."""
    from onnxloom.lowering.roofline.profile import profile_model

    profile = profile_model(inspected.model, feeds)
    ops = profiled_ops(inspected, profile, machine)
    calls = sum(op.calls for op in ops)
    yield machine_line(machine)
    yield (
        f"profile: {micros(profile.run_seconds)} us per run; {micros(profile.kernel_seconds)} us in {calls} "
        f"kernel call{'' if calls == 1 else 's'}, at least {micros(_limit(ops))} us by the limits"
    )
    yield from profile_table(ops)
    for title, seconds in sorted(profile.host.items(), key=lambda item: -item[1]):
        yield f"  in Python: {micros(seconds)} us {title}"


def profile_table(ops: Sequence[ProfiledOp]) -> Iterator[str]:
    """The first SHOWN of `ops`, and what the rest takes together."""
    total = sum(op.seconds for op in ops)
    shown, rest = ops[:SHOWN], ops[SHOWN:]
    if shown:
        yield from aligned([_HEAD, *(_row(op, total) for op in shown)], (8, 9))
    if rest:
        spent = sum(op.seconds for op in rest)
        calls = sum(op.calls for op in rest)
        yield f"  {calls} more calls: {micros(spent)} us, at least {micros(_limit(rest))} us"


def _limit(ops: Sequence[ProfiledOp]) -> float:
    return sum(op.limit * op.calls for op in ops)


def _row(op: ProfiledOp, total: float) -> tuple[str, ...]:
    each = max(op.each, 1e-9)
    return (
        f"{op.seconds / total:.1%}" if total else "-", micros(op.seconds), str(op.calls), micros(op.each),
        micros(op.limit), f"{op.limit / each:.0%}", f"{op.operations / each / 1e9:.1f}",
        f"{op.moved / each / 1e9:.1f}", op.kernel, op.op,
    )  # fmt: skip
