"""The trace that a session writes of its runs, as onnxruntime does."""

from __future__ import annotations

import gc
import json
import time
from pathlib import Path

import numpy as np
import pytest
from sessions import ADD, options, rows
from text_models import model_of

import onnxloom
from onnxloom.lowering.runtime.host_step import HostRunner
from onnxloom.lowering.runtime.watcher import Record, Watcher


@pytest.mark.parametrize("threads", [1, 2])
def test_a_trace_tells_when_kernels_and_host_steps_ran(tmp_path: Path, threads: int) -> None:
    model = model_of("g (float[N, 3] x) => (string[N, 3] z) { y = Softmax(x) z = Cast <to = 8> (y) }")
    model.graph.node[0].name, model.graph.node[1].name = "soft", "texts"
    prefix = str(tmp_path / "trace")
    given = options(enable_profiling=True, profile_file_prefix=prefix, intra_op_num_threads=threads)
    before = time.monotonic_ns()
    session = onnxloom.InferenceSession(model, given)
    assert before <= session.get_profiling_start_time_ns() <= time.monotonic_ns()
    for count in (2, 3, 3):
        session.run(None, {"x": np.ones((count, 3), np.float32)})
    name = session.end_profiling()
    assert name.startswith(f"{prefix}_") and session.end_profiling() == ""
    events = json.loads(Path(name).read_text())
    assert {(e["cat"], e["ph"]) for e in events} == {("Session", "X"), ("Node", "X")}
    assert all(e["dur"] >= 0 and e["ts"] >= 0 and isinstance(e["tid"], int) for e in events)
    assert [e["name"] for e in events].count("model_run") == 3
    nodes = [e for e in events if e["cat"] == "Node"]
    shapes = [e["args"]["output_type_shape"] for e in nodes if e["name"] == "texts_kernel_time"]
    assert shapes == [[{"string": [2, 3]}], [{"string": [3, 3]}], [{"string": [3, 3]}]]
    kernels = [e["args"] for e in nodes if e["name"] == "soft_kernel_time"]
    assert len(kernels) == 3
    assert all("Softmax" in k["op_name"] and k["provider"] == "CPUExecutionProvider" for k in kernels)
    assert kernels[0]["input_type_shape"][0] == {"float": [2, 3]}
    assert session.run(None, {"x": np.ones((2, 3), np.float32)})[0].shape == (2, 3)
    assert len(json.loads(Path(name).read_text())) == len(events)


def test_a_trace_holds_what_variants_for_input_shapes_run(tmp_path: Path) -> None:
    model = model_of(
        """g (float[N, M] x) => (float[K] y) {
            s = Shape(x) y0 = Squeeze(x) y = Relu(y0)
        }"""
    )
    given = options(enable_profiling=True, profile_file_prefix=str(tmp_path / "t"))
    session = onnxloom.InferenceSession(model, given)
    session.run(None, {"x": np.ones((1, 3), np.float32)})
    assert session.model.variants
    events = json.loads(Path(session.end_profiling()).read_text())
    assert [e for e in events if e["cat"] == "Node"]


def test_nothing_is_watched_once_profiling_has_ended(tmp_path: Path) -> None:
    model = model_of(
        """g (float[N, M] x) => (float[K] y) {
            s = Shape(x) y0 = Squeeze(x) y = Relu(y0)
        }"""
    )
    given = options(enable_profiling=True, profile_file_prefix=str(tmp_path / "t"))
    session = onnxloom.InferenceSession(model, given)
    session.run(None, {"x": np.ones((1, 3), np.float32)})
    session.end_profiling()
    session.run(None, {"x": np.ones((4, 1), np.float32)})
    engines = [variant.engine for variant in session.model.variants]
    assert len(engines) == 2 and all(type(engine.host) is HostRunner for engine in engines)


def test_the_trace_of_a_session_that_goes_is_written(tmp_path: Path) -> None:
    given = options(enable_profiling=True, profile_file_prefix=str(tmp_path / "t"))
    session = onnxloom.InferenceSession(ADD, given)
    session.run(None, rows(2))
    del session
    gc.collect()
    (trace,) = tmp_path.iterdir()
    assert [e["name"] for e in json.loads(trace.read_text())].count("model_run") == 1
    session = onnxloom.InferenceSession(ADD, given)
    session.end_profiling()
    del session
    gc.collect()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_run_that_outlives_its_watcher_is_not_reported() -> None:
    model = onnxloom.InferenceSession(ADD).model
    records: list[Record] = []
    feeds = rows(2)
    watcher = Watcher(model.engine, lambda record, *_: records.append(record), lambda *_: None)
    model.run(feeds)
    assert len(records) == 1
    (node,) = model.plans
    running = node.free.pop()
    watcher.stop()
    node.free.append(running)  # given back once the watcher is gone
    assert model.run(feeds)["y"].tolist() == [[2, 2, 2]] * 2
    assert len(records) == 1


def test_without_profiling_there_is_no_trace() -> None:
    session = onnxloom.InferenceSession(ADD)
    assert session.end_profiling() == "" and session.get_profiling_start_time_ns() == 0


def test_a_trace_holds_what_runs_with_inputs_that_override_defaults(tmp_path: Path) -> None:
    model = model_of("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }")
    given = options(enable_profiling=True, profile_file_prefix=str(tmp_path / "t"))
    session = onnxloom.InferenceSession(model, given)
    feeds = {name: np.ones(2, np.float32) for name in ("x", "w")}
    assert session.run(None, feeds)[0].tolist() == [1, 1]
    events = json.loads(Path(session.end_profiling()).read_text())
    assert [e["args"]["op_name"] for e in events if e["cat"] == "Node"] == ["Mul"]
