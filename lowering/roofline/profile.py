"""How long does each record of a plan take? Kernels are run one by one, between two looks at the clock."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onnxloom.lowering.plan.node import Node
from onnxloom.lowering.plan.program import HostStep
from onnxloom.lowering.plan.stretch import Launch
from onnxloom.lowering.runtime.host_step import HostRunner
from onnxloom.lowering.runtime.instance import Executor

if TYPE_CHECKING:
    from onnxloom.lowering.runtime.model import CompiledModel
    from onnxloom.lowering.runtime.tree import Engine


@dataclass(frozen=True)
class LaunchTime:
    """One record, and the least seconds it took in any run."""

    launch: Launch
    seconds: float
    calls: int
    """How often it was run per run of the model: more than once in loops."""


@dataclass(frozen=True)
class Profile:
    """Times of the records, in the order they run first, and of whole runs without looking at the clock."""

    launches: tuple[LaunchTime, ...]
    run_seconds: float
    """CPU time of the fastest whole run."""
    host: Mapping[str, float]
    """Seconds per run of the steps that Python runs, by title."""

    @property
    def kernel_seconds(self) -> float:
        return sum(entry.seconds * entry.calls for entry in self.launches)


def profile_model(model: CompiledModel, feeds: Mapping[str, Any], rounds: int = 20) -> Profile:
    """Runs the model `rounds` times whole and as often record by record."""
    model.run(feeds)
    model.run(feeds)
    whole = [_timed(lambda: model.run(feeds), time.process_time) for _ in range(rounds)]
    engines = [model.engine, *(variant.engine for variant in model.variants)]
    clocks = [_Clock(engine) for engine in engines]
    try:
        for _ in range(rounds):
            for clock in clocks:
                clock.start_run()
            model.run(feeds)
    finally:
        for clock in clocks:
            clock.stop()
    launches = tuple(entry for clock in clocks for entry in clock.launch_times())
    host = {title: seconds for clock in clocks for title, seconds in clock.host_times(rounds).items()}
    return Profile(launches, min(whole), host)


def _timed(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    call()
    return clock() - start


class _TimedHost(HostRunner):
    """Another runner, with the time its steps took."""

    def __init__(self, inner: HostRunner) -> None:
        self.inner = inner
        self.seconds: dict[str, float] = defaultdict(float)

    def run(self, step: HostStep, args: Sequence[Any]) -> list[Any]:
        start = time.perf_counter()
        results = self.inner.run(step, args)
        self.seconds[step.title] += time.perf_counter() - start
        return results


class _Clock:
    """Stands between an engine and its executor for the time of a profile; one thread runs all of it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._executor: Executor = engine.executor
        self._team_executor = engine.team_executor
        self._host = _TimedHost(engine.host)
        self._times: dict[tuple[int, int], list[float]] = {}
        """By address of the starts of a stretch and number of the record: the least seconds per run."""
        self._calls: dict[tuple[int, int], int] = defaultdict(int)
        self._overhead = min(_timed(lambda: self._executor(0, 0, 0, 0)) for _ in range(100))
        self._forget_instances()
        engine.executor = self.run
        engine.team_executor = None
        engine.host = self._host

    def start_run(self) -> None:
        self._calls.clear()

    def run(self, table: int, starts: int, begin: int, end: int) -> int:
        """In place of the executor."""
        for record in range(begin, end):
            seconds = _timed(lambda at=record: self._executor(table, starts, at, at + 1))
            key = (starts, record)
            self._times.setdefault(key, []).append(max(seconds - self._overhead, 0.0))
            self._calls[key] += 1
        return end

    def stop(self) -> None:
        self._engine.executor = self._executor
        self._engine.team_executor = self._team_executor
        self._engine.host = self._host.inner
        self._forget_instances()

    def launch_times(self) -> Iterator[LaunchTime]:
        """Of the records of the last run."""
        nodes = {node.starts.__array_interface__["data"][0]: node for node in self._nodes()}
        for (starts, record), calls in self._calls.items():
            if starts in nodes:
                launch = nodes[starts].launches[record]
                yield LaunchTime(launch, min(self._times[starts, record]), calls)

    def host_times(self, rounds: int) -> dict[str, float]:
        return {title: seconds / rounds for title, seconds in self._host.seconds.items()}

    def _nodes(self) -> Iterator[Node]:
        waiting = [root for tree in self._engine.trees.values() for root in tree.roots.values()]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.children.values())

    def _forget_instances(self) -> None:
        """Each holds the executor it was made for."""
        for node in self._nodes():
            node.free.clear()
