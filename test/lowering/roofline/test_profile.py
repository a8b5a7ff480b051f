"""A profile has every record that ran, those of loops too, and steps in Python; the model stays as it was."""

from __future__ import annotations

import warnings

import numpy as np
import onnx.parser
import pytest

from onnxloom.conversion.onnx_to_loom.registry import op_lowerings
from onnxloom.dialects.onnx import UniqueOp
from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.lowering.roofline.profile import profile_model

SOFTMAX = """
<ir_version: 10, opset_import: ["" : 21]>
graph (float[n, 3] x) => (float[n, 3] y)
{
    s = Softmax(x)
    t = Transpose(s)
    y = MatMul(s, t)
}
"""

LOOP = """
<ir_version: 10, opset_import: ["" : 21]>
graph (int64 n, float[4] x) => (float[4] y)
<bool go = {1}>
{
    y = Loop(n, go, x) <body = body (int64 i, bool c, float[4] v) => (bool d, float[4] w) {
        d = Identity(c)
        w = Exp(v)
    }>
}
"""

UNIQUE = """
<ir_version: 10, opset_import: ["" : 21]>
graph (float[4] x) => (float[m] y)
{
    u = Unique(x)
    y = Exp(u)
}
"""


def test_every_record_is_timed_and_the_model_runs_as_before():
    model = compile_model(onnx.parser.parse_model(SOFTMAX), CompileOptions(cache=False))
    feeds = {"x": np.eye(3, dtype=np.float32)}
    before = model.run(feeds)
    executor, host = model.engine.executor, model.engine.host
    profile = profile_model(model, feeds, rounds=2)
    (root,) = model.plans
    assert [entry.launch for entry in profile.launches] == list(root.launches)
    assert all(entry.calls == 1 and entry.seconds >= 0 for entry in profile.launches)
    assert profile.run_seconds > 0
    assert (model.engine.executor, model.engine.host) == (executor, host)
    np.testing.assert_array_equal(model.run(feeds)["y"], before["y"])
    assert all(instance._executor is executor for instance in root.free)  # pyright: ignore[reportPrivateUsage]


def test_records_of_a_loop_are_called_once_per_iteration():
    model = compile_model(onnx.parser.parse_model(LOOP), CompileOptions(cache=False))
    feeds = {"n": np.array(5), "x": np.zeros(4, np.float32)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        profile = profile_model(model, feeds, rounds=1)
    calls = {entry.launch.origin: entry.calls for entry in profile.launches}
    assert 5 in calls.values()


def test_steps_in_python_are_timed_by_title(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(op_lowerings(), UniqueOp)
    model = compile_model(onnx.parser.parse_model(UNIQUE), CompileOptions(cache=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        profile = profile_model(model, {"x": np.array([1, 2, 1, 0], np.float32)}, rounds=1)
    (title,) = profile.host
    assert title.startswith("Unique")
    assert profile.host[title] > 0
    assert len(profile.launches) == 1
