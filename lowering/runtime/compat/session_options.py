"""What can be said about how a session is made?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from onnxloom.dialects.custom_ops import CustomOp, CustomOpFunction, ShapeFunction
from onnxloom.errors import InputError, UnsupportedFeatureError, UsageError
from onnxloom.lowering.plan.program import is_array
from onnxloom.lowering.runtime.compat.checked_attributes import CheckedAttributes
from onnxloom.lowering.runtime.compat.enums import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from onnxloom.lowering.runtime.compat.ort_value import unwrapped
from onnxloom.lowering.runtime.compat.providers import CPU

if TYPE_CHECKING:
    from onnxloom.lowering.compile import CompileOptions

_EXTERNAL_FOLDER: Final = "session.model_external_initializers_file_folder_path"
"""The configuration entry that names where external data of a model given as bytes lie."""

_CONSTANT_FOLDING: Final = "ConstantFolding"
"""What onnxruntime calls the optimizer."""


class SessionOptions(CheckedAttributes):
    """Options of a session. docs/onnxruntime.md says which have an effect; the others are kept."""

    attribute_types: ClassVar[Mapping[str, type]] = {
        "enable_cpu_mem_arena": bool,
        "enable_mem_pattern": bool,
        "enable_mem_reuse": bool,
        "enable_profiling": bool,
        "execution_mode": ExecutionMode,
        "execution_order": ExecutionOrder,
        "graph_optimization_level": GraphOptimizationLevel,
        "inter_op_num_threads": int,
        "intra_op_num_threads": int,
        "log_severity_level": int,
        "log_verbosity_level": int,
        "logid": str,
        "optimized_model_filepath": str,
        "profile_file_prefix": str,
        "use_deterministic_compute": bool,
        "use_per_session_threads": bool,
        # Of onnxloom alone:
        "skip_passes": Sequence,
        "strict": bool,
        "constant_folding": bool,
    }

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
        self.enable_profiling = False
        """Whether it is written down when each kernel and step ran (`InferenceSession.end_profiling`)."""
        self.profile_file_prefix = "onnxruntime_profile_"
        self.optimized_model_filepath = ""
        """Where the session writes the optimized model as ONNX; "" for nowhere."""
        self.log_severity_level = -1
        """From 3 on, the session does not warn; -1 for what `set_default_logger_severity` says."""
        self.log_verbosity_level = 0
        self.logid = ""
        self.enable_cpu_mem_arena = True
        self.enable_mem_pattern = True
        self.enable_mem_reuse = True
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.execution_order = ExecutionOrder.DEFAULT
        self.inter_op_num_threads = 0
        self.use_deterministic_compute = False
        self.use_per_session_threads = True
        self._entries: dict[str, str] = {}
        self._dims_by_name: dict[str, int] = {}
        self._dims_by_denotation: dict[str, int] = {}
        self._initializers: dict[str, Any] = {}
        self._external: dict[str, Any] = {}
        self._files: dict[str, bytes] = {}
        self._custom_ops: dict[tuple[str, str], CustomOp] = {}
        self._provider_names: list[str] = []
        self._cancelled = False

    @property
    def opt_level(self) -> int:
        """The level as 0 to 3."""
        return max(0, min(3, int(self.graph_optimization_level)))

    @property
    def provider_names(self) -> list[str]:
        """Those of `add_provider`."""
        return self._provider_names

    @property
    def is_cancelled(self) -> bool:
        """What `set_load_cancellation_flag` said."""
        return self._cancelled

    def compile_options(self, disabled_optimizers: Iterable[str] = ()) -> CompileOptions:
        """What they mean to the compiler."""
        from onnxloom.lowering.compile import CompileOptions
        from onnxloom.transforms.pass_manager.pass_table import TRANSFORM_PASSES

        disabled = set(disabled_optimizers)
        ours = tuple(sorted(name for name in disabled if name in TRANSFORM_PASSES))
        folder = self._entries.get(_EXTERNAL_FOLDER)
        return CompileOptions(
            opt_level=self.opt_level,
            skip_passes=(*self.skip_passes, *ours),
            strict=self.strict,
            fold=self.constant_folding and _CONSTANT_FOLDING not in disabled,
            threads=self.intra_op_num_threads,
            external_data_dirs=(folder,) if folder else (),
            free_dims=tuple(sorted(self._dims_by_name.items())),
            denoted_dims=tuple(sorted(self._dims_by_denotation.items())),
            initializers=tuple(self._initializers.items()),
            external_initializers=tuple(self._external.items()),
            external_files=tuple(self._files.items()),
            custom_ops=tuple(self._custom_ops.values()),
        )

    def register_custom_op(
        self, domain: str, name: str, fn: CustomOpFunction, shape_fn: ShapeFunction | None = None
    ) -> None:
        """Has `fn` run the ops `name` of `domain`: docs/custom_ops.md.

        Raises:
            InputError: the domain is one of the standard's, or a function is none.
        """
        self._custom_ops[domain, name] = CustomOp(domain, name, fn, shape_fn)

    def register_custom_ops_library(self, path: str | os.PathLike[str]) -> None:
        """Raises UnsupportedFeatureError: kernels of onnxruntime's C interface cannot be called."""
        raise UnsupportedFeatureError(
            f"{os.fspath(path)}: libraries of custom ops are not loaded; "
            "SessionOptions.register_custom_op takes a Python or Numba function"
        )

    def add_free_dimension_override_by_name(self, dim_name: str, dim_value: int) -> None:
        """Every dim of the inputs that is called so is this number. Raises InputError if it is negative."""
        self._dims_by_name[_text(dim_name)] = _dim(dim_name, dim_value)

    def add_free_dimension_override_by_denotation(self, dim_denotation: str, dim_value: int) -> None:
        """The same for dims that have this denotation (`DATA_BATCH`)."""
        self._dims_by_denotation[_text(dim_denotation)] = _dim(dim_denotation, dim_value)

    def add_initializer(self, name: str, ort_value: Any) -> None:
        """The tensor takes the place of an initializer of the model, if it has one of that name.

        Raises:
            UsageError: it is no tensor.
        """
        array = unwrapped(ort_value)
        if not is_array(array):
            raise UsageError(f"initializer {name!r} is a {type(ort_value).__name__}; expected an OrtValue")
        self._initializers[_text(name)] = array

    def add_external_initializers(self, names: Sequence[str], ort_values: Sequence[Any]) -> None:
        """The tensors take the place of initializers whose data are in other files.

        Raises:
            UsageError: there are more names than tensors, or the other way round; one is no tensor.
        """
        if len(names) != len(ort_values):
            raise UsageError(f"{len(names)} names of initializers for {len(ort_values)} tensors")
        for name, value in zip(names, ort_values, strict=True):
            array = unwrapped(value)
            if not is_array(array):
                raise UsageError(f"initializer {name!r} is a {type(value).__name__}; expected an OrtValue")
            self._external[_text(name)] = array

    def add_external_initializers_from_files_in_memory(
        self, file_names: Sequence[str], buffers: Sequence[Any], lengths: Sequence[int]
    ) -> None:
        """What files of external data hold, by the names the model gives them.

        Raises:
            UsageError: there are not as many of the one as of the others.
        """
        if not len(file_names) == len(buffers) == len(lengths):
            raise UsageError(f"{len(file_names)} names, {len(buffers)} files and {len(lengths)} lengths")
        for name, buffer, length in zip(file_names, buffers, lengths, strict=True):
            self._files[os.fspath(name)] = bytes(buffer)[: int(length)]

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Keeps the entry. `session.model_external_initializers_file_folder_path` is one with an effect."""
        self._entries[_text(key)] = _text(value)

    def get_session_config_entry(self, key: str) -> str:
        """Raises UsageError."""
        if key not in self._entries:
            raise UsageError(f"SessionOptions does not have configuration with key: {key}")
        return self._entries[key]

    def add_provider(self, provider: str, options: Mapping[str, str]) -> None:
        """Like `providers` of a session: any but the CPU is noted and left out."""
        self._provider_names.append(_text(provider))

    def add_provider_for_devices(self, devices: Sequence[Any], options: Mapping[str, str]) -> None:
        """Without effect: the CPU is the one device."""
        self._provider_names.append(CPU)

    def has_providers(self) -> bool:
        return bool(self._provider_names)

    def set_provider_selection_policy(self, policy: Any) -> None:
        """Without effect."""

    def set_provider_selection_policy_delegate(self, delegate: Callable[..., Any]) -> None:
        """Without effect."""

    def set_ep_context_data_read_func(self, read_func: Callable[..., Any]) -> None:
        """Without effect: no execution provider reads data."""

    def clear_ep_context_data_read_func(self) -> None:
        """Without effect."""

    def set_load_cancellation_flag(self, value: bool) -> None:
        """Sessions made while it is set end with ModelLoadCanceled."""
        self._cancelled = bool(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"got {value!r}; expected str")
    return value


def _dim(name: str, value: Any) -> int:
    if type(value) is not int or value < 0:
        raise InputError(f"dim {name!r} is {value!r}; expected an integer that is not negative")
    return value


def session_options_of(given: Any) -> SessionOptions:
    """Options of this package, or those of onnxruntime as far as they mean something here.

    Raises:
        InputError: they are no options.
    """
    if given is None or isinstance(given, SessionOptions):
        return given or SessionOptions()
    try:
        threads = int(getattr(given, "intra_op_num_threads", 0))
        return SessionOptions(threads, int(given.graph_optimization_level))
    except (AttributeError, TypeError, ValueError):
        raise InputError(f"sess_options is a {type(given).__name__}; expected SessionOptions") from None
