"""What goes wrong with onnxruntime goes wrong here: with an error that the same `except` clause catches."""

from __future__ import annotations

import copy
import importlib
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from text_models import model_of

import onnxloom
from onnxloom.capi import onnxruntime_pybind11_state as ours

theirs: Any = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")

MODEL = model_of(
    "g (float[batch, 3] x, float[batch, 3] b) => (float[batch, 3] y) { s = Add(x, b) y = Relu(s) }"
)
BYTES = MODEL.SerializeToString()
X = np.ones((2, 3), np.float32)
FEEDS = {"x": X, "b": X}

Situation = Callable[[Any, Any], object]
"""Given the module and a session of it."""


def option(name: str, value: Any) -> Situation:
    return lambda ort, session: setattr(ort.SessionOptions(), name, value)


def run(feeds: Any, names: Any = None, options: Any = None) -> Situation:
    return lambda ort, session: session.run(names, feeds, options)


def load(source: Any) -> Situation:
    return lambda ort, session: ort.InferenceSession(source, providers=["CPUExecutionProvider"])


def bound(bind: Callable[[Any, Any], object]) -> Situation:
    def run_bound(ort: Any, session: Any) -> None:
        binding = session.io_binding()
        binding.bind_cpu_input("x", X)
        binding.bind_cpu_input("b", X)
        binding.bind_output("y")
        bind(ort, binding)
        session.run_with_iobinding(binding)

    return run_bound


def terminated(ort: Any, session: Any) -> None:
    options = ort.RunOptions()
    options.terminate = True
    session.run(None, FEEDS, options)


UNKNOWN_OP = model_of("g (float[3] x) => (float[3] y) { y = my.domain.Bar(x) }")

RAISING: dict[str, Situation] = {
    "input missing": run({"x": X}),
    "input unknown": run({**FEEDS, "c": X}),
    "rank": run({"x": X[0], "b": X}),
    "dim": run({"x": np.ones((2, 4), np.float32), "b": X}),
    "dtype": run({"x": X.astype(np.float64), "b": X}),
    "output unknown": run(FEEDS, ["z"]),
    "no such file": load("/there/is/no/such.onnx"),
    "no such path": load(Path("/there/is/no/such.onnx")),
    "damaged": load(b"garbage"),
    "empty": load(b""),
    "unknown op": load(UNKNOWN_OP.SerializeToString()),
    "no value": load(model_of("g (float[3] x) => (float[3] y) { y = Relu(q) }").SerializeToString()),
    "unknown option": option("foo", 3),
    "option of another type": option("intra_op_num_threads", "3"),
    "option of a float": option("intra_op_num_threads", 2.0),
    "flag of another type": option("enable_mem_pattern", "yes"),
    "mode of another type": option("execution_mode", "parallel"),
    "no config entry": lambda ort, session: ort.SessionOptions().get_session_config_entry("none"),
    "config entry of another type": lambda ort, session: ort.SessionOptions().add_session_config_entry(
        "a", 1
    ),
    "run config entry of a number": lambda ort, session: ort.RunOptions().add_run_config_entry("a", 1),
    "no run config entry": lambda ort, session: ort.RunOptions().get_run_config_entry("none"),
    "unknown run option": lambda ort, session: setattr(ort.RunOptions(), "foo", 3),
    "terminated": terminated,
    "no output bound": bound(lambda ort, binding: binding.clear_binding_outputs()),
    "unknown input bound": bound(lambda ort, binding: binding.bind_cpu_input("zz", X)),
    "bound input of another rank": bound(lambda ort, binding: binding.bind_cpu_input("x", X[0])),
    "bound output of another shape": bound(
        lambda ort, binding: binding.bind_ortvalue_output(
            "y", ort.OrtValue.ortvalue_from_shape_and_type([2, 5], np.float32)
        )
    ),
    "bound memory without a type": bound(
        lambda ort, binding: binding.bind_output("y", "cpu", 0, buffer_ptr=X.ctypes.data)
    ),
    "binding of another session": lambda ort, session: ort.InferenceSession(BYTES).run_with_iobinding(
        session.io_binding()
    ),
    "value of a list": lambda ort, session: ort.OrtValue.ortvalue_from_numpy([1.0]),
    "value on another device": lambda ort, session: ort.OrtValue.ortvalue_from_numpy(X, "cuda", 0),
    "no such device": lambda ort, session: ort.OrtDevice.make("foo", 0),
    "update of another kind": lambda ort, session: ort.OrtValue.ortvalue_from_numpy(X.copy()).update_inplace(
        3
    ),
    "initializer that is no value": lambda ort, session: ort.SessionOptions().add_initializer("w", X),
    "library of custom ops": lambda ort, session: ort.SessionOptions().register_custom_ops_library("/no.so"),
    "pickled": lambda ort, session: pickle.dumps(session),
    "deep copy": lambda ort, session: copy.deepcopy(session),
    "name of an input set": lambda ort, session: setattr(session.get_inputs()[0], "name", "q"),
}


@pytest.fixture(scope="module")
def sessions() -> dict[Any, Any]:
    return {ort: ort.InferenceSession(BYTES) for ort in (onnxruntime, onnxloom)}


DIFFERENT = {
    "initializer that is no value": "arrays are taken too",
    "library of custom ops": "there is no class for it in onnxruntime's interface: UnsupportedFeatureError",
}


@pytest.mark.parametrize("name", [name for name in RAISING if name not in DIFFERENT])
def test_the_same_clause_catches_it(name: str, sessions: dict[Any, Any]) -> None:
    situation = RAISING[name]
    with pytest.raises(Exception) as expected:
        situation(onnxruntime, sessions[onnxruntime])
    with pytest.raises(Exception) as got:
        situation(onnxloom, sessions[onnxloom])
    kind = expected.type
    clause = getattr(ours, kind.__name__) if kind.__module__ == theirs.__name__ else kind
    assert issubclass(got.type, clause), f"{got.type.__mro__}: {got.value}"
    assert "\n" not in str(got.value)


def test_numbers_stand_for_flags_and_levels() -> None:
    for ort in (onnxruntime, onnxloom):
        options = ort.SessionOptions()
        options.enable_profiling = 1
        assert options.enable_profiling is True
    made: Any = onnxloom.SessionOptions()
    made.graph_optimization_level = 1
    assert made.graph_optimization_level is onnxloom.GraphOptimizationLevel.ORT_ENABLE_BASIC
    for name, value in (("enable_profiling", 2), ("graph_optimization_level", 7)):
        with pytest.raises(TypeError, match=f"SessionOptions.{name} is {value}"):
            setattr(made, name, value)


def test_libraries_of_custom_ops_are_refused() -> None:
    with pytest.raises(onnxloom.UnsupportedFeatureError, match="^/no.so: .*register_custom_op"):
        RAISING["library of custom ops"](onnxloom, None)


def test_providers_are_noted_once_each() -> None:
    name = "NobodyExecutionProvider"
    with pytest.warns(onnxloom.ProviderWarning, match=f"^{name} is not there") as caught:
        session = onnxloom.InferenceSession(
            BYTES, providers=[(name, {"device_id": 0}), "CPUExecutionProvider"]
        )
    assert caught[0].filename == __file__
    assert session.get_providers() == ["CPUExecutionProvider"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        onnxloom.InferenceSession(BYTES, providers=[name, "CPUExecutionProvider"]).set_providers([name])


@pytest.mark.parametrize(
    ("providers", "options"),
    [
        ("CPUExecutionProvider", None),
        (3, None),
        ([3], None),
        ([("CPUExecutionProvider",)], None),
        (["CPUExecutionProvider"], []),
        (["CPUExecutionProvider"], [3]),
        (["CPUExecutionProvider"], 3),
    ],
)
def test_what_are_no_providers(providers: Any, options: Any) -> None:
    with pytest.raises(onnxloom.InputError, match="provider"):
        onnxloom.InferenceSession(BYTES, providers=providers, provider_options=options)


def test_negative_dims_are_refused() -> None:
    options = onnxloom.SessionOptions()
    for method in (
        options.add_free_dimension_override_by_name,
        options.add_free_dimension_override_by_denotation,
    ):
        with pytest.raises(onnxloom.InputError, match=r"dim 'batch' is -1"):
            method("batch", -1)


@pytest.mark.parametrize("ending", ["onnx", "mlir", "loom", "ort"])
def test_whatever_the_name_of_a_missing_file_ends_in(ending: str) -> None:
    with pytest.raises(ours.NoSuchFile, match=f"^/no/such.{ending}: No such file or directory$"):
        onnxloom.InferenceSession(f"/no/such.{ending}")


def test_a_cancelled_load() -> None:
    options = onnxloom.SessionOptions()
    options.set_load_cancellation_flag(True)
    with pytest.raises(ours.ModelLoadCanceled):
        onnxloom.InferenceSession(BYTES, options)


def test_run_options_are_such() -> None:
    session: Any = onnxloom.InferenceSession(BYTES)
    with pytest.raises(onnxloom.InputError, match="run_options is a int"):
        session.run(None, FEEDS, 3)
    theirs_options = onnxruntime.RunOptions()
    assert session.run(None, FEEDS, theirs_options)[0].shape == (2, 3)
    theirs_options.terminate = True
    with pytest.raises(onnxloom.TerminatedError):
        session.run(None, FEEDS, theirs_options)


def test_a_device_is_made_from_another() -> None:
    for ort in (onnxruntime, onnxloom):
        device: Any = ort.OrtDevice.make("cuda", 3)
        again: Any = ort.OrtDevice(device._get_c_device())
        assert (again.device_type(), again.device_id()) == (device.device_type(), 3)


def test_a_sequence_is_bound_to_the_place_of_another() -> None:
    model = model_of(
        "g (float[2] x) => (seq(float[2]) y, float[2] z) { y = SequenceConstruct(x, x) z = Neg(x) }"
    )
    session = onnxloom.InferenceSession(model)
    held = onnxloom.OrtValue([np.ones(2, np.float32)])
    binding = session.io_binding()
    binding.bind_cpu_input("x", np.full(2, 3, np.float32))
    binding.bind_ortvalue_output("y", held)
    session.run_with_iobinding(binding)
    assert binding.get_outputs()[0] is held
    assert [item.tolist() for item in held.numpy()] == [[3, 3], [3, 3]]
    binding.bind_ortvalue_output("z", held)
    with pytest.raises(onnxloom.UsageError, match="'z' is bound to memory for list, but is float32"):
        session.run_with_iobinding(binding)
