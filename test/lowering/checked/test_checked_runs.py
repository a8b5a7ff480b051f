"""How does a run of checked kernels look from outside? As any other: counted, timed, ended and freed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
from text_models import model_of

from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.lowering.roofline.profile import profile_model
from onnxloom.lowering.runtime.model import CompiledModel
from onnxloom.lowering.runtime.termination import terminable
from onnxloom.lowering.runtime.watcher import Record, Watcher

GRAPH = "agraph (float[N, 3] x) => (float[N, 3] z) { y = Softmax(x) z = CumSum(y, one) }"
X = np.ones((2, 3), np.float32)


@pytest.fixture
def model() -> CompiledModel:
    """Of two kernels."""
    graph = GRAPH.replace("{ y", "{ one = Constant <value_int = 1> () y")
    return compile_model(model_of(graph), CompileOptions(checked=True, threads=1))


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def test_a_watcher_sees_each_record_once(model: CompiledModel) -> None:
    seen: list[Record] = []
    watcher = Watcher(model.engine, lambda record, *_: seen.append(record), lambda *_: None)
    for count in (1, 2):
        model(X)
        assert [record.number for record in seen] == [0, 1] * count
    watcher.stop()


def test_a_profile_counts_each_record_once(model: CompiledModel) -> None:
    found = profile_model(model, {"x": X}, rounds=2)
    assert [entry.calls for entry in found.launches] == [1, 1]


def test_a_run_can_be_ended_between_two_records(model: CompiledModel) -> None:
    asked: list[None] = []
    model(X)
    with terminable(lambda: asked.append(None)):
        model(X)
    assert len(asked) >= 1 + 2


def test_memory_is_free_once_nobody_has_it(model: CompiledModel, without_collector: None) -> None:
    model(X)
    (node,) = model.plans
    instance = weakref.ref(node.free[0])
    node.free.clear()
    assert instance() is None
