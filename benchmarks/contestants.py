"""How is one ONNX model run by us and by the peer, with outputs preallocated on both sides?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort

import onnxloom

Feeds = Mapping[str, npt.NDArray[Any]]


def onnxruntime_call(model: onnx.ModelProto, feeds: Feeds, threads: int = 1) -> Callable[[], object]:
    """One run of the peer: all optimizations, inputs and outputs bound to preallocated memory."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    outputs = session.run(None, dict(feeds))
    keep: list[Any] = []
    for name, value in feeds.items():
        binding.bind_cpu_input(name, value)
    for info, value in zip(session.get_outputs(), outputs, strict=True):
        buffer = np.empty_like(value)
        keep.append(buffer)
        binding.bind_output(info.name, "cpu", 0, buffer.dtype.type, buffer.shape, buffer.ctypes.data)

    def call() -> object:
        session.run_with_iobinding(binding)
        return keep

    return call


def onnxloom_call(model: onnx.ModelProto, feeds: Feeds) -> Callable[[], object]:
    """One run of ours through the public session."""
    session = onnxloom.InferenceSession(model)
    feed = dict(feeds)
    return lambda: session.run(None, feed)


def check_same(model: onnx.ModelProto, feeds: Feeds, tolerance: float) -> float:
    """Largest difference between both, relative to the largest value.

    Raises:
        AssertionError: it is above `tolerance`; a benchmark of wrong results is none.
    """
    theirs = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(
        None, dict(feeds)
    )
    ours = onnxloom.InferenceSession(model).run(None, dict(feeds))
    worst = 0.0
    for a, b in zip(theirs, ours, strict=True):
        scale = max(float(np.abs(np.asarray(a, np.float64)).max(initial=0)), 1e-30)
        worst = max(worst, float(np.abs(np.asarray(a, np.float64) - b).max(initial=0)) / scale)
    assert worst <= tolerance, f"results differ by {worst:.2e} of range"
    return worst
