"""The native loop calls each record's kernel in order, with a pointer to the record's arguments."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from onnxloom.lowering import object_code
from onnxloom.lowering.cache import DiskCache, KernelCache
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.executor import Executor, load_executor
from onnxloom.tools.testing.kernels import elementwise_kernel


@pytest.fixture(scope="module")
def executor() -> Executor:
    return load_executor()


@pytest.fixture(scope="module")
def library():
    """Two kernels: y = x + 1 and y = 2 x."""
    one = "%c = arith.constant 1.0 : f32 %r = arith.addf %a, %c : f32"
    return compile_kernels(
        [
            elementwise_kernel("increment", ["f32"], "f32", one),
            elementwise_kernel("double", ["f32"], "f32", "%r = arith.addf %a, %a : f32"),
        ]
    )


def _plan(library, names: list[str], data: np.ndarray):  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType, reportMissingTypeArgument]
    """Records of unequal length (a gap word between them), all in place on `data`."""
    words: list[int] = []
    starts: list[int] = []
    for name in names:
        words.append(-1)
        starts.append(len(words))
        words += [library.address(name), 0, 0, 0, data.ctypes.data, data.ctypes.data, data.size]
    return np.array(words, np.int64), np.array(starts, np.int64)


def test_records_run_in_order(executor: Executor, library):  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]
    data = np.arange(5, dtype=np.float32)
    table, starts = _plan(library, ["increment", "double", "increment"], data)
    assert executor.run(table.ctypes.data, starts.ctypes.data, 0, 3) == 3
    np.testing.assert_array_equal(data, (np.arange(5) + 1) * 2 + 1)


def test_only_the_records_asked_for_run(executor: Executor, library):  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]
    data = np.arange(5, dtype=np.float32)
    table, starts = _plan(library, ["increment", "double", "increment"], data)
    executor.run(table.ctypes.data, starts.ctypes.data, 1, 2)
    np.testing.assert_array_equal(data, np.arange(5) * 2)
    executor.run(table.ctypes.data, starts.ctypes.data, 2, 2)
    np.testing.assert_array_equal(data, np.arange(5) * 2)


def test_other_threads_run_meanwhile(executor: Executor, library):  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]
    data = np.zeros(1 << 20, np.float32)
    table, starts = _plan(library, ["double"] * 2000, data)
    ticks: list[float] = []
    worker = threading.Thread(target=executor.run, args=(table.ctypes.data, starts.ctypes.data, 0, 2000))
    worker.start()
    while worker.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    assert len(ticks) > 5


def test_the_executor_is_cached_like_a_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cache = KernelCache(DiskCache(tmp_path))
    load_executor(cache)

    def refuse(*_: object) -> bytes:
        raise AssertionError("compiled again")

    monkeypatch.setattr(object_code, "compile_object", refuse)
    assert load_executor(cache).run(0, 0, 3, 3) == 3
    with pytest.raises(AssertionError, match="compiled again"):
        load_executor()
