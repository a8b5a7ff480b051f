"""When did each kernel and step run? A trace in the format of Chrome's, with the events of onnxruntime."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from onnxloom.lowering.plan.program import HostStep
from onnxloom.lowering.runtime.compat.element_types import tensor_text
from onnxloom.lowering.runtime.compat.providers import CPU
from onnxloom.lowering.runtime.watcher import Record, Watcher

if TYPE_CHECKING:
    from onnxloom.lowering.runtime.model import CompiledModel

_TITLE: Final = re.compile(r'(?P<op>[^\s"]+)(?: "(?P<node>[^"]*)")?')
"""An op as messages call it: `Conv "c1"`."""


class Profiler:
    """Watches a model from when it is made until `finish`. Kernels run one by one, between two looks at the
    clock."""

    def __init__(self, model: CompiledModel, prefix: str, started: int) -> None:
        """`started` is what `time.perf_counter_ns` gave when the model began to be loaded."""
        self._prefix = prefix
        self._origin = started
        self.start_ns = time.monotonic_ns() - (time.perf_counter_ns() - started)
        """When it began, as `time.monotonic_ns` tells time."""
        self._events: list[dict[str, Any]] = []
        self._watchers: list[Watcher] = []
        self._is_finished = False
        now = time.perf_counter_ns()
        self._add("Session", "model_loading_uri", started, now, {})
        self._add("Session", "session_initialization", started, now, {})
        self._watch(model)

    @contextmanager
    def run(self) -> Generator[None]:
        """A run of the model happens inside."""
        start = time.perf_counter_ns()
        try:
            yield
        finally:
            end = time.perf_counter_ns()
            self._add("Session", "SequentialExecutor::Execute", start, end, {})
            self._add("Session", "model_run", start, end, {})

    def finish(self) -> str:
        """Writes the trace; the name of its file.

        Raises:
            OSError: it cannot be written.
        """
        self._is_finished = True
        for watcher in self._watchers:
            watcher.stop()
        moment = time.time()
        stamp = time.strftime("%Y-%m-%d_%H-%M-%S", time.localtime(moment))
        path = f"{self._prefix}_{stamp}_{int(moment * 1000) % 1000:03}.json"
        lines = ",\n".join(json.dumps(event) for event in self._events)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"[\n{lines}\n]\n")
        return path

    def close(self) -> None:
        """Writes the trace unless that was done."""
        if not self._is_finished:
            self.finish()

    def _watch(self, model: CompiledModel) -> None:
        """Watches the model, and those that are compiled from it for input shapes or overridden inputs."""
        self._watchers.append(Watcher(model.engine, self._on_record, self._on_host))
        for variant in model.variants:
            self._watch(variant)
        specialize, overriding = model.specialize, model.compile_overriding
        if specialize is not None:
            model.specialize = lambda shapes: self._watched(specialize(shapes))
        if overriding is not None:
            model.compile_overriding = lambda names: self._watched(overriding(names))

    def _watched(self, model: CompiledModel) -> CompiledModel:
        if not self._is_finished:
            self._watch(model)
        return model

    def _on_record(self, record: Record, start: int, end: int) -> None:
        launch = record.launch
        ops, names = _named(launch.origin)
        arguments = {
            "op_name": "+".join(ops) or launch.kernel,
            "kernel": launch.kernel,
            "node_index": str(record.number),
            "input_type_shape": list(_described(launch.ins)),
            "output_type_shape": list(_described(launch.outs)),
        }
        name = "+".join(names) or f"{arguments['op_name']}_{record.number}"
        self._add_node(name, start, end, arguments)

    def _on_host(
        self, step: HostStep, args: Sequence[Any], results: Sequence[Any], start: int, end: int
    ) -> None:
        ops, names = _named(step.title)
        arguments = {
            "op_name": "+".join(ops),
            "kernel": "",
            "node_index": "0",
            "input_type_shape": list(_described(args)),
            "output_type_shape": list(_described(results)),
        }
        self._add_node("+".join(names) or f"{arguments['op_name']}_host", start, end, arguments)

    def _add_node(self, name: str, start: int, end: int, arguments: dict[str, Any]) -> None:
        self._add("Node", f"{name}_kernel_time", start, end, {**arguments, "provider": CPU})

    def _add(self, category: str, name: str, start: int, end: int, arguments: dict[str, Any]) -> None:
        self._events.append(
            {
                "cat": category,
                "pid": os.getpid(),
                "tid": threading.get_native_id(),
                "dur": (end - start) // 1000,
                "ts": (start - self._origin) // 1000,
                "ph": "X",
                "name": name,
                "args": arguments,
            }
        )


def _named(title: str) -> tuple[list[str], list[str]]:
    """Ops and names of nodes in what messages call a step: `Conv "c1" + Relu "r1"`."""
    found = [match for part in title.split(" + ") if (match := _TITLE.match(part)) is not None]
    return [match["op"] for match in found], [match["node"] for match in found if match["node"]]


def _described(values: Sequence[Any]) -> Iterator[dict[str, list[int]]]:
    """Type and shape of arrays, or of the values of a plan."""
    for value in values:
        dtype: Any = getattr(value, "dtype", None)
        if isinstance(dtype, np.dtype):
            yield {tensor_text(cast("np.dtype[Any]", dtype))[len("tensor(") : -1]: list(value.shape)}
