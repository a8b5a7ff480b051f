"""The class that other runtimes' users know: `InferenceSession`, with the call signatures of onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from onnxloom.errors import InputError
from onnxloom.lowering.runtime.model import CompiledModel, ModelMetadata, NodeArg


class GraphOptimizationLevel(IntEnum):
    """How much is optimized: O0 (shapes only), O1 (every bit is kept), O2 (fusion), and O3 twice."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class SessionOptions:
    """Options of a session. Attributes that onnxruntime has and that mean nothing here may be set too."""

    def __init__(
        self,
        intra_op_num_threads: int = 0,
        graph_optimization_level: GraphOptimizationLevel | int = GraphOptimizationLevel.ORT_ENABLE_ALL,
        skip_passes: Sequence[str] = (),
        strict: bool = False,
        constant_folding: bool = True,
    ) -> None:
        self.intra_op_num_threads = intra_op_num_threads
        """Threads that share the work of a run: 0 for one per usable core, 1 for the calling thread alone."""
        self.graph_optimization_level = graph_optimization_level
        self.skip_passes = skip_passes
        """Names of passes to leave out."""
        self.strict = strict
        """Whether a pass that fails is an error; else a warning says so, and the others go on."""
        self.constant_folding = constant_folding
        """Whether what constants decide is computed before the model runs."""

    @property
    def opt_level(self) -> int:
        """The level as 0 to 3."""
        return max(0, min(3, int(self.graph_optimization_level)))


class InferenceSession:
    """A compiled model behind onnxruntime's interface."""

    def __init__(
        self,
        path_or_bytes: Any,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Any] | None = None,
        **_: Any,
    ) -> None:
        """Compiles a model: a path to .onnx or .mlir, bytes, an open file, a ModelProto or a ModuleOp.

        `providers` and `provider_options` are accepted and have no effect.

        Raises:
            ModelError: the model is damaged or uses an op that nothing here can run.
            InputError: `sess_options` are no options, or hold a value that means nothing.
            PassError: `skip_passes` names no pass; with `strict`, a pass failed.
        """
        from onnxloom.lowering.compile import CompileOptions, compile_model

        options = _options_of(sess_options)
        self._options = options
        self.model: CompiledModel = compile_model(
            path_or_bytes,
            CompileOptions(
                opt_level=options.opt_level,
                skip_passes=tuple(options.skip_passes),
                strict=options.strict,
                fold=options.constant_folding,
                threads=options.intra_op_num_threads,
            ),
        )

    @property
    def host_steps(self) -> int:
        """How many steps ran in Python so far, in all calls of `run`."""
        return self.model.host_steps

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: Any = None
    ) -> list[Any]:
        """The outputs named, for inputs by name. `run_options` has no effect.

        When `output_names` is None or empty, all outputs: one that the model lists twice is there twice.

        Raises:
            InputError: an input or output name is unknown or missing, or an array does not fit.
        """
        return self.model.run_named(output_names, input_feed)

    def get_inputs(self) -> list[NodeArg]:
        """Name, type and shape of each input."""
        return self.model.inputs

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Name, type and shape of each input that has a default value in the model; `run` may name them."""
        return self.model.overridable

    def get_outputs(self) -> list[NodeArg]:
        """Name, type and shape of each output."""
        return self.model.outputs

    def get_providers(self) -> list[str]:
        """Always the CPU."""
        return ["CPUExecutionProvider"]

    def get_modelmeta(self) -> ModelMetadata:
        """Producer, graph name, version and the custom metadata of the model."""
        return self.model.artifact.metadata

    def get_session_options(self) -> SessionOptions:
        return self._options


def _options_of(given: Any) -> SessionOptions:
    """Options of this package, or those of onnxruntime as far as they mean something here."""
    if given is None or isinstance(given, SessionOptions):
        return given or SessionOptions()
    try:
        threads = int(getattr(given, "intra_op_num_threads", 0))
        return SessionOptions(threads, int(given.graph_optimization_level))
    except (AttributeError, TypeError, ValueError):
        raise InputError(f"sess_options is a {type(given).__name__}; expected SessionOptions") from None
