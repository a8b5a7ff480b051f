"""Who takes part in a comparison, and how is one run of a model called by each?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Final

from onnxloom.errors import InputError
from onnxloom.tools.benchmarking.inspected import Inspected

Feeds = Mapping[str, Any]
Call = Callable[[], Mapping[str, Any]]
"""One run; gives the outputs by name."""

OURS: Final = "onnxloom"
PEERS: Final = ("onnxruntime", "openvino")


def is_installed(peer: str) -> bool:
    """Whether a peer can be imported here."""
    return find_spec(peer) is not None


def peer_call(peer: str, path: str, feeds: Feeds, threads: int) -> Call:
    """How `peer` runs the ONNX file at `path`.

    Raises:
        InputError: it cannot run the model.
    """
    make = {"onnxruntime": _onnxruntime, "openvino": _openvino}[peer]
    try:
        call = make(path, feeds, threads)
        call()
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path}: {peer} cannot run it: {reason}") from error
    return call


def our_call(inspected: Inspected, feeds: Feeds) -> Call:
    """How onnxloom runs a compiled model."""
    model = inspected.model

    def call() -> Mapping[str, Any]:
        return model.run(feeds)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # host steps: their cost is in the figures
        call()
    return call


def _onnxruntime(path: str, feeds: Feeds, threads: int) -> Call:
    """All optimizations on."""
    import onnxruntime as ort  # pyright: ignore[reportMissingTypeStubs]

    runtime: Any = ort
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    given = dict(feeds)
    return lambda: dict(zip(names, session.run(None, given), strict=True))


def _openvino(path: str, feeds: Feeds, threads: int) -> Call:
    """Compiled for latency, in f32."""
    import openvino  # pyright: ignore[reportMissingImports]

    runtime: Any = openvino
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
        "NUM_STREAMS": 1,
    }
    compiled = runtime.Core().compile_model(path, "CPU", settings)
    request = compiled.create_infer_request()
    names = [output.get_any_name() for output in compiled.outputs]
    given = dict(feeds)

    def call() -> Mapping[str, Any]:
        found = request.infer(given)
        return {name: found[number] for number, name in enumerate(names)}

    return call
