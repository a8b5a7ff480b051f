"""What is found out about one model? Outputs compared, contestants timed in turns, kernels against limits."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from onnxloom.tools.benchmarking.agreement import outputs_error
from onnxloom.tools.benchmarking.contestants import OURS, Call, our_call, peer_call
from onnxloom.tools.benchmarking.inspected import Inspected, compile_inspected
from onnxloom.tools.benchmarking.pairing import pair
from onnxloom.tools.benchmarking.profile_listing import ProfiledOp, profiled_ops

if TYPE_CHECKING:
    from onnxloom.lowering.compile import CompileOptions
    from onnxloom.lowering.roofline.machine import Machine


SETTLE = 0.1
"""Seconds between the turns of contestants with several threads."""


@dataclass(frozen=True)
class Measuring:
    """How to measure."""

    peers: tuple[str, ...]
    threads: int = 1
    rounds: int = 15
    seconds_per_turn: float = 0.05
    kernels: bool = False
    """Whether to time every kernel too."""


@dataclass(frozen=True)
class PeerFigures:
    """One peer; a ratio is its time / ours."""

    seconds: float
    ratio: float
    confidence: tuple[float, float]
    """Holds the median of the ratio with a probability of 95 %."""
    quartiles: tuple[float, float]
    error: float
    """Largest difference of our outputs to the peer's, over the range of the peer's."""
    reference_error: float | None = None
    """Of the peer's outputs to those given as reference."""


@dataclass(frozen=True)
class ModelFigures:
    """What was measured of one model."""

    name: str
    seconds: float
    host_steps: float
    """Steps that Python runs, per run."""
    limit: float
    """The least seconds of all kernels, by the limits of one core."""
    operations: float
    moved: float
    peers: Mapping[str, PeerFigures]
    reference_error: float | None = None
    kernels: tuple[ProfiledOp, ...] = ()


def compare_model(
    name: str,
    path: str,
    feeds: Mapping[str, Any],
    inspected: Inspected,
    how: Measuring,
    machine: Machine,
    reference: Mapping[str, Any] | None = None,
) -> ModelFigures:
    """Measures one model. Raises InputError when a peer cannot run it."""
    calls: dict[str, Call] = {peer: peer_call(peer, path, feeds, how.threads) for peer in how.peers}
    calls[OURS] = our_call(inspected, feeds)
    outputs = {contestant: call() for contestant, call in calls.items()}
    timed = pair(
        calls,
        rounds=how.rounds,
        seconds_per_turn=how.seconds_per_turn,
        clock=time.thread_time if how.threads == 1 else time.perf_counter,
        settle=0.0 if how.threads == 1 else SETTLE,
    )
    errors = {c: None if reference is None else outputs_error(reference, o) for c, o in outputs.items()}
    peers = {
        peer: PeerFigures(
            seconds=timed.median(peer),
            ratio=timed.ratio(peer, OURS),
            confidence=timed.confidence(peer, OURS),
            quartiles=timed.spread(peer, OURS),
            error=outputs_error(outputs[peer], outputs[OURS]),
            reference_error=errors[peer],
        )
        for peer in how.peers
    }
    ops = _kernels(inspected, feeds, machine, how)
    return ModelFigures(
        name=name,
        seconds=timed.median(OURS),
        host_steps=_host_steps(inspected, feeds),
        limit=sum(op.limit * op.calls for op in ops),
        operations=sum(op.operations * op.calls for op in ops),
        moved=sum(op.moved * op.calls for op in ops),
        peers=peers,
        reference_error=errors[OURS],
        kernels=tuple(ops),
    )


def compiled_subject(path: str, options: CompileOptions, threads: int) -> Inspected:
    """The model at `path`, for so many threads."""
    return compile_inspected(path, replace(options, threads=threads))


def _host_steps(inspected: Inspected, feeds: Mapping[str, Any]) -> float:
    """Of one run; to look at a condition is none."""
    before = Counter(inspected.model.host_counts)
    inspected.model.run(feeds)
    counts = inspected.model.host_counts - before
    return sum(count for title, count in counts.items() if title != "If")


def _kernels(
    inspected: Inspected, feeds: Mapping[str, Any], machine: Machine, how: Measuring
) -> Sequence[ProfiledOp]:
    """Times of kernels where they are wanted; else one round, for their work."""
    from onnxloom.lowering.roofline.profile import profile_model

    profile = profile_model(inspected.model, feeds, rounds=20 if how.kernels else 1)
    return profiled_ops(inspected, profile, machine)
