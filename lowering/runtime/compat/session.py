"""How does code written for onnxruntime run a model? With an `InferenceSession` of the same signatures."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from onnxloom.errors import (
    InputError,
    ModelLoadCanceled,
    NoSuchModelError,
    TerminatedError,
    UnsupportedFeatureError,
    UsageError,
)
from onnxloom.lowering.runtime.compat import environment
from onnxloom.lowering.runtime.compat.device import OrtDevice, OrtMemoryInfo
from onnxloom.lowering.runtime.compat.io_binding import IOBinding
from onnxloom.lowering.runtime.compat.ort_value import OrtValue
from onnxloom.lowering.runtime.compat.providers import CPU, note_providers
from onnxloom.lowering.runtime.compat.run_options import RunOptions
from onnxloom.lowering.runtime.compat.session_options import SessionOptions, session_options_of
from onnxloom.lowering.runtime.model import CompiledModel, ModelMetadata, NodeArg
from onnxloom.lowering.runtime.termination import terminable

if TYPE_CHECKING:
    from onnxloom.lowering.runtime.compat.profiler import Profiler

_QUIET: Final = 3
"""The severity from which on warnings are not shown."""


class InferenceSession:
    """A compiled model behind onnxruntime's interface. Several threads may run one session at once."""

    def __init__(
        self,
        path_or_bytes: Any,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Any] | None = None,
        *,
        disabled_optimizers: Sequence[str] | set[str] | None = None,
        **_: Any,
    ) -> None:
        """Compiles a model: a path to .onnx, .mlir or .loom, bytes, an open file, a ModelProto or a ModuleOp.

        Models run on the CPU: other `providers` are noted once and left out. Of `disabled_optimizers`
        those count that are passes of onnxloom, and `ConstantFolding`. Further arguments have no effect.

        Raises:
            ModelError: the model is damaged or uses an op that nothing here can run.
            InputError: `sess_options` are no options, or hold a value that means nothing.
            PassError: `skip_passes` names no pass; with `strict`, a pass failed.
        """
        from onnxloom.lowering.compile import compile_model

        started = time.perf_counter_ns()
        # Packages look there, too.
        is_path = isinstance(path_or_bytes, str | os.PathLike)
        self._model_path: str | None = os.fspath(cast(Any, path_or_bytes)) if is_path else None
        note_providers(providers, provider_options)
        options = self._options = session_options_of(sess_options)
        note_providers(options.provider_names)
        if options.is_cancelled:
            raise ModelLoadCanceled("the load was cancelled by SessionOptions.set_load_cancellation_flag")
        _check_source(path_or_bytes)
        asked = options.compile_options(disabled_optimizers or ())
        self.model: CompiledModel = compile_model(path_or_bytes, asked)
        severity = options.log_severity_level
        if (environment.severity() if severity < 0 else severity) >= _QUIET:
            self.model.warns = False
        if options.optimized_model_filepath:
            from onnxloom.lowering.optimized_model import write_optimized

            write_optimized(path_or_bytes, asked, options.optimized_model_filepath)
        self._profiler: Profiler | None = None
        if options.enable_profiling:
            from onnxloom.lowering.runtime.compat.profiler import Profiler

            self._profiler = Profiler(self.model, options.profile_file_prefix, started)
            weakref.finalize(self, self._profiler.close)

    @property
    def host_steps(self) -> int:
        """How many steps ran in Python so far, in all calls of `run`."""
        return self.model.host_steps

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[Any]:
        """The outputs named, for inputs (arrays or OrtValues) by name.

        When `output_names` is None or empty, all outputs: one that the model lists twice is there twice.

        Raises:
            InputError: an input or output name is unknown or missing, or an array does not fit.
            TerminatedError: `run_options.terminate` was set.
        """
        if run_options is None and self._profiler is None:
            return self.model.run_named(output_names, input_feed)
        return self._run_watched(output_names, input_feed, run_options)

    def _run_watched(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: Any
    ) -> list[Any]:
        with terminable(_check_of(run_options)):
            profiler = self._profiler
            if profiler is None:
                return self.model.run_named(output_names, input_feed)
            with profiler.run():
                return self.model.run_named(output_names, input_feed)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], object],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Runs in another thread, which then calls `callback(outputs, user_data, error)`.

        `error` is "" if all went well; else it says what did not, and the list of outputs is empty.
        """
        from onnxloom.lowering.runtime.compat.background import run_in_background

        if not callable(callback):
            raise UsageError(f"run_async got {callback!r} as its callback; expected a function")
        feed = dict(input_feed)
        run_in_background(lambda: self.run(output_names, feed, run_options), callback, user_data)

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """Like `run`, with results as OrtValues."""
        return [OrtValue(value) for value in self.run(output_names, input_dict_ort_values, run_options)]

    def run_with_ortvaluevector(
        self,
        run_options: RunOptions | None,
        feed_names: Sequence[str],
        feeds: Sequence[OrtValue],
        fetch_names: Sequence[str],
        fetches: list[OrtValue],
        fetch_devices: Sequence[Any],
    ) -> None:
        """Like `run`; the results are appended to `fetches`."""
        feed = dict(zip(feed_names, feeds, strict=True))
        fetches.extend(self.run_with_ort_values(fetch_names, feed, run_options))

    def io_binding(self) -> IOBinding:
        """An object that inputs and outputs are bound to."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Runs with what is bound. Raises InputError."""
        iobinding.run(self, run_options)

    def create_ortvalue_from_shape_and_type(
        self,
        shape: Sequence[int],
        element_type: Any,
        device_type: str | OrtDevice,
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """A tensor of zeros."""
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type, device_type, device_id)

    def get_inputs(self) -> list[NodeArg]:
        """Name, type and shape of each input."""
        return self.model.inputs

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Name, type and shape of each input that has a default value in the model; `run` may name them."""
        return self.model.overridable

    def get_outputs(self) -> list[NodeArg]:
        """Name, type and shape of each output."""
        return self.model.outputs

    def get_modelmeta(self) -> ModelMetadata:
        """Producer, graph name, version and the custom metadata of the model."""
        return self.model.artifact.metadata

    def get_session_options(self) -> SessionOptions:
        return self._options

    def get_providers(self) -> list[str]:
        """Always the CPU."""
        return [CPU]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {CPU: {}}

    def set_providers(
        self, providers: Sequence[Any] | None = None, provider_options: Sequence[Any] | None = None
    ) -> None:
        """Notes those that are not there; the session stays as it is."""
        note_providers(providers, provider_options)

    def enable_fallback(self) -> None:
        """Without effect: there is one provider."""

    def disable_fallback(self) -> None:
        """Without effect."""

    def get_input_memory_infos(self) -> list[OrtMemoryInfo]:
        return [OrtMemoryInfo() for _ in self.model.inputs]

    def get_output_memory_infos(self) -> list[OrtMemoryInfo]:
        return [OrtMemoryInfo() for _ in self.model.outputs]

    def get_input_epdevices(self) -> list[Any]:
        return environment.get_ep_devices() * len(self.model.inputs)

    def get_provider_graph_assignment_info(self) -> list[Any]:
        """Raises UnsupportedFeatureError."""
        raise UnsupportedFeatureError(
            "get_provider_graph_assignment_info: `onnxloom explain` tells which ops became which kernels"
        )

    def get_tuning_results(self) -> list[Any]:
        """Nothing: kernels are not tuned while they run."""
        return []

    def set_tuning_results(self, results: Sequence[Any], *, error_on_invalid: bool = False) -> None:
        """Without effect."""

    def set_ep_dynamic_options(self, options: Mapping[str, str]) -> None:
        """Without effect."""

    def release_captured_graph(self, graph_annotation_id: int = 0) -> None:
        """Without effect: nothing is captured."""

    def end_profiling(self) -> str:
        """Writes the trace of all runs so far and ends it. The name of the file; "" without profiling."""
        profiler, self._profiler = self._profiler, None
        return "" if profiler is None else profiler.finish()

    def get_profiling_start_time_ns(self) -> int:
        """Comparable with `time.monotonic_ns()`; 0 without profiling."""
        return 0 if self._profiler is None else self._profiler.start_ns

    def __copy__(self) -> InferenceSession:
        """Another object for the same compiled model."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> Any:
        """Raises TypeError. (Classes that derive from it and can say how to make one again override this.)"""
        raise TypeError("cannot pickle an InferenceSession: make one from the model where it is needed")


def _check_source(source: Any) -> None:
    """A path to nothing is said to be one, whatever its name ends in."""
    if isinstance(source, str | os.PathLike) and not os.path.exists(source):  # pyright: ignore[reportUnknownArgumentType]
        raise NoSuchModelError(f"{os.fspath(source)}: No such file or directory")  # pyright: ignore[reportUnknownArgumentType]


def _check_of(run_options: Any) -> Callable[[], None] | None:
    """What a run asks from time to time whether it is to go on. Options of onnxruntime do as well."""
    if run_options is None:
        return None
    if not hasattr(run_options, "terminate"):
        raise InputError(f"run_options is a {type(run_options).__name__}; expected RunOptions")

    def check() -> None:
        if run_options.terminate:
            raise TerminatedError("the run ended because RunOptions.terminate is set")

    return check
