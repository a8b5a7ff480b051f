"""How does one see what an engine runs, record by record? A watcher stands in for its executors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from onnxloom.lowering.plan.node import Node
from onnxloom.lowering.plan.program import HostStep
from onnxloom.lowering.plan.stretch import Launch
from onnxloom.lowering.runtime.host_step import HostRunner
from onnxloom.lowering.runtime.instance import Executor

if TYPE_CHECKING:
    from onnxloom.lowering.runtime.tree import Engine


@dataclass(frozen=True)
class Record:
    """One record of a stretch."""

    launch: Launch
    number: int


OnRecord: TypeAlias = Callable[[Record, int, int], None]
"""(record, start, end): times are those of `time.perf_counter_ns`."""

OnHost: TypeAlias = Callable[[HostStep, Sequence[Any], Sequence[Any], int, int], None]
"""(step, arguments, results, start, end)."""


class _WatchedHost(HostRunner):
    """Another runner whose steps are reported."""

    def __init__(self, inner: HostRunner, on_host: OnHost) -> None:
        self.inner = inner
        self._on_host = on_host

    def run(self, step: HostStep, args: Sequence[Any]) -> list[Any]:
        start = time.perf_counter_ns()
        results = self.inner.run(step, args)
        self._on_host(step, args, results, start, time.perf_counter_ns())
        return results


class Watcher:
    """Reports records and host steps of an engine until `stop`."""

    def __init__(self, engine: Engine, on_record: OnRecord, on_host: OnHost) -> None:
        self._engine = engine
        self._on_record = on_record
        self._before = engine.executor, engine.team_executor, engine.host
        self._is_stopped = False
        self._nodes: dict[int, Node] = {}
        """By address of the starts of the stretch; holding the node keeps that address taken."""
        alone, together, host = self._before
        engine.executor = self._watching(alone)
        engine.team_executor = None if together is None else self._watching(together)
        engine.host = _WatchedHost(host, on_host)
        self._forget_instances()

    def stop(self) -> None:
        """The engine is as it was; runs that are under way are no longer reported."""
        self._is_stopped = True
        self._engine.executor, self._engine.team_executor, self._engine.host = self._before
        self._forget_instances()

    def _watching(self, executor: Executor) -> Executor:
        def run(table: int, starts: int, begin: int, end: int) -> int:
            if self._is_stopped:  # an instance that was running then came back with its executor
                return executor(table, starts, begin, end)
            node = self._node(starts)
            for number in range(begin, end):
                start = time.perf_counter_ns()
                executor(table, starts, number, number + 1)
                finish = time.perf_counter_ns()
                if node is not None:
                    self._on_record(Record(node.launches[number], number), start, finish)
            return end

        return run

    def _node(self, starts: int) -> Node | None:
        """The stretch whose starts lie at an address."""
        if starts not in self._nodes:
            for node in self._all_nodes():
                self._nodes[node.starts.__array_interface__["data"][0]] = node
        return self._nodes.get(starts)

    def _all_nodes(self) -> Iterator[Node]:
        waiting = [root for tree in list(self._engine.trees.values()) for root in tree.roots.values()]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.children.values())

    def _forget_instances(self) -> None:
        """Each holds the executor it was made for."""
        for node in self._all_nodes():
            node.free.clear()
