"""How does a program run? It follows the plan tree from stretch to stretch, filling what is missing."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import numpy as np

from onnxloom.errors import InputError
from onnxloom.lowering.plan.fill import Filler
from onnxloom.lowering.plan.memo import Memo, identity
from onnxloom.lowering.plan.node import Fetch, Node, Recent, ReturnEnd, StepEnd, ValueEnd
from onnxloom.lowering.plan.program import (
    Constants,
    HostStep,
    KernelWork,
    LoopStep,
    Program,
    ScanStep,
    is_array,
)
from onnxloom.lowering.plan.values import only_element
from onnxloom.lowering.runtime.host_step import HostRunner
from onnxloom.lowering.runtime.instance import Arenas, Executor, give_back, take
from onnxloom.lowering.runtime.loops import run_loop, run_scan
from onnxloom.lowering.runtime.observation import observation
from onnxloom.lowering.runtime.recycling import LARGE, fresh_array
from onnxloom.lowering.runtime.termination import check_terminated


@dataclass(eq=False)
class Engine:
    """What all programs of a model share."""

    constants: Constants
    kernel_address: Callable[[str], int]
    executor: Executor
    memo: Memo
    works: Mapping[str, KernelWork] = field(default_factory=dict[str, KernelWork])
    """Kernels whose tasks threads may share."""
    threads: int = 1
    team_executor: Executor | None = None
    """Runs stretches on several threads."""
    on_host: Callable[[str, str], None] = lambda title, reason: None
    """Told of every step that Python runs: its title and why there is no kernel."""
    checked: bool = False
    """Whether kernels check what they touch."""
    lock: Any = field(default_factory=threading.RLock)
    trees: dict[int, PlanTree] = field(default_factory=dict[int, "PlanTree"])
    arenas: Arenas = field(default_factory=Arenas)

    def __post_init__(self) -> None:
        self.host = HostRunner(self.constants)
        _ENGINES.add(self)

    def tree(self, program: Program, is_outermost: bool = False) -> PlanTree:
        """The plan tree of a program: the model's, or that of a loop's body."""
        tree = self.trees.get(id(program))
        if tree is None:
            tree = self.trees.setdefault(id(program), PlanTree(program, self, is_outermost))
        return tree


_ENGINES: weakref.WeakSet[Engine] = weakref.WeakSet()


def _renew_locks() -> None:
    """A lock that another thread held at the fork would stay locked for ever in the child."""
    for engine in list(_ENGINES):
        engine.lock = threading.RLock()
        engine.arenas = Arenas()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


MAX_NODES: Final = 1024
"""Stretches kept per program: one per input shape, times what was observed on the way."""


class PlanTree:
    """The plans of one program, by shape key and by what is observed on the way."""

    def __init__(self, program: Program, engine: Engine, is_outermost: bool) -> None:
        self.program = program
        self.is_outermost = is_outermost
        self.engine = engine
        self.filler = Filler(
            program,
            engine.constants,
            engine.kernel_address,
            engine.host.run,
            engine.memo,
            engine.works,
            engine.threads if engine.team_executor is not None else 1,
            engine.checked,
        )
        self.roots: Recent[Node] = Recent()
        self._count = 0
        """Nodes filled since the tree was last empty."""

    def root(self, key: Any, args: Sequence[Any]) -> Node:
        """The first stretch for a shape key; filled if it is not there yet."""
        node = self.roots.get(key)
        if node is not None:
            return node
        with self.engine.lock:
            node = self.roots.get(key) or self._counted(self.filler.root(args))
            self.roots.put(key, node)
        return node

    def _counted(self, node: Node) -> Node:
        """A node that was just filled. A tree that has become too large begins anew."""
        self._count += 1
        if self._count > MAX_NODES:
            self.roots.clear()
            self._count = 1
        return node

    def run(self, args: Sequence[Any]) -> list[Any]:
        """Results for arguments that fit the program's declared types."""
        return self.run_from(self.root(tuple(observation(a) for a in args), args), args)

    def run_from(self, node: Node, args: Sequence[Any]) -> list[Any]:
        """Results for arguments whose shapes are those `node` was filled for."""
        cells: dict[int, Any] = dict(enumerate(args))
        alone = self.engine.executor
        together = self.engine.team_executor or alone
        while True:
            for cell, shape, dtype, nbytes in node.allocate:
                cells[cell] = np.empty(shape, dtype) if nbytes < LARGE else fresh_array(shape, dtype, nbytes)
            if node.launches:
                instance = take(node, together if node.shared else alone)
                instance.run(cells)
                failure = instance.failure() if node.checks else None
                give_back(node, instance, self.engine.arenas)
                if failure is not None:
                    raise InputError(failure)
            for late in node.late:
                self.engine.on_host(late.step.title, late.step.reason)
                found = self.engine.host.run(late.step, [fetch(cells) for fetch in late.args])
                cells.update(zip(late.cells, found, strict=True))
            end = node.end
            if node.whole is not None:
                return [cells[cell] for cell in node.whole]
            if isinstance(end, ReturnEnd):
                return self._results(node, end.results, cells)
            node = self._next(node, end, cells)

    def _next(self, node: Node, end: ValueEnd | StepEnd, cells: dict[int, Any]) -> Node:
        check_terminated()
        if isinstance(end, ValueEnd):
            found = end.fetch(cells)
            if end.branch:
                found = np.array(bool(only_element(found, end.origin, "its condition")))
            key: Any = identity(found)
            results = [found]
        else:
            args = [fetch(cells) for fetch in end.args]
            results = self.perform(end.step, args)
            key = tuple(observation(r) for r in results)
            cells.update(zip(end.cells, results, strict=True))
        for cell in node.drop:
            cells.pop(cell, None)
        child = node.children.get(key)
        if child is not None:
            return child
        with self.engine.lock:
            child = node.children.get(key)
            if child is None:
                child = self._counted(
                    self.filler.after_value(node, results[0])
                    if isinstance(end, ValueEnd)
                    else self.filler.after_step(node, results)
                )
                node.children.put(key, child)
        return child

    def perform(self, step: HostStep | LoopStep | ScanStep, args: Sequence[Any]) -> list[Any]:
        """Results of a step that Python runs."""
        if isinstance(step, HostStep):
            self.engine.on_host(step.title, step.reason)
            return self.engine.host.run(step, args)
        declared = [self.program.specs[slot] for slot in step.results]
        if isinstance(step, LoopStep):
            return run_loop(step, args, self.engine.tree(step.body), declared)
        return run_scan(step, args, self.engine.tree(step.body), declared)

    def _results(self, node: Node, fetches: Sequence[Fetch], cells: dict[int, Any]) -> list[Any]:
        """The returned values, each an array of its own that nobody else refers to.

        Where none is to be copied, that holds for every run that ends at `node`.
        """
        inputs = len(self.program.args)
        given: set[int] = set()
        results: list[Any] = []
        all_whole = True
        for fetch in fetches:
            found = fetch(cells)
            shared = fetch.cell < inputs or fetch.cell in given or found is not cells[fetch.cell]
            given.add(fetch.cell)
            # A sequence of a loop's body stays inside of the run, where nothing changes it.
            copied = shared if is_array(found) else self.is_outermost and not _is_list_of_maps(found)
            all_whole = all_whole and not copied
            results.append(_owned(found) if copied else found)
        if all_whole:
            node.whole = tuple(fetch.cell for fetch in fetches)
        return results


def _is_list_of_maps(value: Any) -> bool:
    """Whether a value, and any other of its type, holds no memory that could be shared."""
    return type(value) is list and {type(v) for v in cast("list[Any]", value)} == {dict}


def _owned(value: Any) -> Any:
    """A copy that shares no memory; sequences are copied with their elements."""
    if is_array(value):
        return np.array(value, order="C")
    if isinstance(value, list | tuple):
        return [v if isinstance(v, dict) else _owned(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    return value
