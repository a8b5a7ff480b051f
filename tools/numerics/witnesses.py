"""What else can run a model? The host, onnxloom without optimizations, and onnxruntime without them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any, Final

from xdsl.dialects.builtin import ModuleOp

from onnxloom.errors import ModelError
from onnxloom.lowering.compile import CompileOptions, compile_module
from onnxloom.lowering.evaluate_module import evaluate_module
from onnxloom.lowering.plan.program import is_array
from onnxloom.tools.failures import CommandLineError, one_line
from onnxloom.tools.numerics.subject import Subject

Witness = Callable[[Subject, ModuleOp], dict[str, Any]]
"""Outputs by name of a subject's module, or of one that only has more outputs."""


def by_reference(subject: Subject, module: ModuleOp) -> dict[str, Any]:
    """Op by op on the host."""
    return evaluate_module(module, subject.feeds)


def by_o0(subject: Subject, module: ModuleOp) -> dict[str, Any]:
    """Compiled without optimizations: every op its own kernel."""
    return run_compiled(module, subject.feeds, replace(subject.options, opt_level=0, skip_passes=()))


def run_compiled(module: ModuleOp, feeds: Mapping[str, Any], options: CompileOptions) -> dict[str, Any]:
    """Outputs of a module, on which the passes of `options` run, once it is compiled."""
    with without_warnings():
        return compile_module(module, options).run(feeds)


@contextmanager
def without_warnings() -> Generator[None]:
    """Without a word about host steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def by_onnxruntime(subject: Subject, module: ModuleOp) -> dict[str, Any]:
    """onnxruntime with its optimizations off; on the model's own file where that has all outputs.

    Raises:
        CommandLineError: onnxruntime is not installed.
        ModelError: onnxruntime cannot run the model.
    """
    try:
        runtime: Any = import_module("onnxruntime")
    except ImportError:
        raise CommandLineError(
            "--against onnxruntime: it is not installed (pip install onnxruntime)"
        ) from None
    from onnxloom.conversion.onnx_export import export_model

    settings = runtime.SessionOptions()
    settings.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 4
    own_file = module is subject.module and not subject.path.endswith(".mlir")
    source = subject.path if own_file else export_model(module).SerializeToString()
    feeds = {name: _strings_as_objects(value) for name, value in subject.feeds.items()}
    try:
        session = runtime.InferenceSession(source, settings, ["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, feeds), strict=True))
    except Exception as error:  # its exceptions have no common base
        raise ModelError(f"onnxruntime cannot run the model: {one_line(error)[:300]}") from error


def _strings_as_objects(value: Any) -> Any:
    return value.astype(object) if is_array(value) and value.dtype.kind in "US" else value


WITNESSES: Final[dict[str, Witness]] = {
    "reference": by_reference,
    "onnxruntime": by_onnxruntime,
    "O0": by_o0,
}
