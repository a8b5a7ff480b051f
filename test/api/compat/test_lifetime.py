"""Sessions live as long as somebody needs them: with threads, forks, copies, subclasses, and garbage."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from text_models import model_of

import onnxloom

TEXT = """g (float[batch, 3] x) => (float[batch, 3] y, string[batch, 3] t) {
    s = Softmax(x)
    y = Add(s, x)
    i = Cast <to = 6> (x)
    t = Cast <to = 8> (i)
}"""
BYTES = model_of(TEXT).SerializeToString()


@pytest.fixture(scope="module")
def session() -> onnxloom.InferenceSession:
    options = onnxloom.SessionOptions()
    options.log_severity_level = 3
    return onnxloom.InferenceSession(BYTES, options)


def feeds(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"x": rng.integers(-9, 9, (1 + seed % 5, 3)).astype(np.float32)}


def test_several_threads_run_one_session(session: onnxloom.InferenceSession) -> None:
    """Of shapes that were seen before and of new ones; by all ways to run."""
    expected = [session.run(None, feeds(seed)) for seed in range(5)]

    def by_run(seed: int) -> list[Any]:
        return session.run(None, feeds(seed))

    def by_options(seed: int) -> list[Any]:
        return session.run(None, feeds(seed), onnxloom.RunOptions())

    def by_values(seed: int) -> list[Any]:
        given = {"x": onnxloom.OrtValue.ortvalue_from_numpy(feeds(seed)["x"])}
        return [value.numpy() for value in session.run_with_ort_values(None, given)]

    def by_binding(seed: int) -> list[Any]:
        binding = session.io_binding()
        binding.bind_cpu_input("x", feeds(seed)["x"])
        for name in ("y", "t"):
            binding.bind_output(name)
        session.run_with_iobinding(binding)
        return binding.copy_outputs_to_cpu()

    ways = [by_run, by_options, by_values, by_binding]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: (n % 5, ways[n % 4](n % 5)), range(200)))
    for seed, (y, texts) in results:
        np.testing.assert_array_equal(y, expected[seed][0])
        np.testing.assert_array_equal(texts, expected[seed][1])


def test_a_run_is_terminated_in_its_own_thread_only(session: onnxloom.InferenceSession) -> None:
    stopped = onnxloom.RunOptions()
    stopped.terminate = True
    outcomes: list[Any] = []

    def run(options: onnxloom.RunOptions | None) -> None:
        try:
            outcomes.append(len(session.run(None, feeds(1), options)) == 2)
        except onnxloom.TerminatedError:
            outcomes.append("terminated")

    threads = [threading.Thread(target=run, args=(options,)) for options in (stopped, None) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outcomes)) == ["True"] * 4 + ["terminated"] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_session_works_on_both_sides_of_a_fork() -> None:
    script = f"""
import os, sys, threading
import numpy as np
import onnxloom
options = onnxloom.SessionOptions()
options.log_severity_level = 3
session = onnxloom.InferenceSession({BYTES!r}, options)
x = np.ones((2, 3), np.float32)
def asynchronous():
    done, found = threading.Event(), []
    def callback(results, user_data, error):
        found.append(results)
        done.set()
    session.run_async(None, {{"x": x}}, callback, None)
    assert done.wait(30)
    return found[0]
first = asynchronous()
child = os.fork()
again = (session.run(None, {{"x": x}}), asynchronous())
assert all((a[0] == first[0]).all() for a in again)
if not child:
    os._exit(7)
sys.exit(0 if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7 else 1)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


class PickledSession(onnxloom.InferenceSession):
    """As packages do that send sessions to other processes."""

    def __init__(self, model: bytes) -> None:
        super().__init__(model)
        self.source = model

    def __getstate__(self) -> bytes:
        return self.source

    def __setstate__(self, state: bytes) -> None:
        self.__init__(state)  # pyright: ignore[reportUnknownMemberType]


def test_a_class_that_derives_from_it_may_pickle() -> None:
    again = pickle.loads(pickle.dumps(PickledSession(BYTES)))
    assert again.get_inputs()[0].name == "x"


def test_a_copy_runs_the_same_model() -> None:
    session = onnxloom.InferenceSession(BYTES)
    other = copy.copy(session)
    assert other is not session and other.model is session.model
    np.testing.assert_array_equal(other.run(["y"], feeds(1))[0], session.run(["y"], feeds(1))[0])


def test_a_session_that_nobody_needs_is_freed() -> None:
    session = onnxloom.InferenceSession(BYTES)
    binding = session.io_binding()
    model = weakref.ref(session.model)
    del session
    gc.collect()
    assert model() is not None  # the binding needs it
    del binding
    gc.collect()
    assert model() is None


def test_outputs_outlive_the_session() -> None:
    session = onnxloom.InferenceSession(BYTES)
    x = feeds(1)["x"]
    (value,) = session.run_with_ort_values(["y"], {"x": onnxloom.OrtValue.ortvalue_from_numpy(x)})
    expected = value.numpy().copy()
    del session
    gc.collect()
    np.testing.assert_array_equal(value.numpy(), expected)


@pytest.mark.parametrize("how", ["plain", "as_onnxruntime"])
def test_imports_of_onnxruntime_find_onnxloom(how: str) -> None:
    plain = 'sys.modules["onnxruntime"] = onnxloom'
    script = f"""
import sys
import onnxloom
assert "onnx" not in sys.modules and "xdsl" not in sys.modules
{plain if how == "plain" else "onnxloom.as_onnxruntime()"}
import importlib.util
import onnxruntime
import onnxruntime as ort
from onnxruntime import InferenceSession, SessionOptions, get_available_providers
import onnxruntime.capi.onnxruntime_pybind11_state as state
from onnxruntime.capi import _pybind_state as C
from onnxruntime.capi._pybind_state import OrtDevice, OrtValue as CValue
from onnxruntime.capi.onnxruntime_inference_collection import IOBinding, OrtValue, Session
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, NoSuchFile, RuntimeException
from onnxruntime.capi.onnxruntime_validation import get_package_name_and_version_info
assert ort.capi.onnxruntime_pybind11_state.NoSuchFile is NoSuchFile is C.NoSuchFile
assert InferenceSession is onnxloom.InferenceSession is Session and CValue is onnxloom.OrtValue
assert importlib.util.find_spec("onnxruntime") is not None
assert "InferenceSession" in dir(ort) and ort.__version__
assert "onnx" not in sys.modules and "xdsl" not in sys.modules and "numba" not in sys.modules
try:
    ort.InferenceSession("/no/such/file.onnx")
except NoSuchFile:
    print(ort.__version__)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    version = onnxloom.__version__ if how == "plain" else onnxloom.get_version_string()
    assert done.stdout.strip() == version


def test_onnxruntime_that_is_there_already_is_not_replaced() -> None:
    script = """
import onnxruntime, onnxloom
try:
    onnxloom.as_onnxruntime()
except onnxloom.UsageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100)
    assert "onnxruntime is imported already" in done.stdout


def test_no_session_is_left_behind_by_one_that_fails(tmp_path: Path) -> None:
    before = threading.active_count()
    for _ in range(3):
        with pytest.raises(onnxloom.DamagedModelError):
            onnxloom.InferenceSession(b"damaged")
    assert threading.active_count() == before
