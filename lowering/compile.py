"""How does a model become something that runs? Import, passes, kernels, program; or from the cache."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from onnxloom.dialects.custom_ops import CustomOp
from onnxloom.lowering.checked.wanted import checked_by_environment
from onnxloom.lowering.runtime.model import CompiledModel
from onnxloom.lowering.runtime.threads import thread_count
from onnxloom.transforms.pass_manager.environment import log_wanted

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

Progress = Callable[[str, int, int], None]
"""Called with what is being done, the number of this stage, and the number of stages."""

STAGES = ("import", "optimize", "convert", "kernels", "program")


@dataclass(frozen=True)
class CompileOptions:
    """How to compile; options that change the result are part of the cache key."""

    opt_level: int = 3
    """0: shapes only; 1: what keeps every bit; 2: what rounds elsewhere, and fusion; 3: all that pays."""
    skip_passes: tuple[str, ...] = ()
    """Passes to leave out, by name."""
    skip_patterns: tuple[str, ...] = ()
    """Rewrite patterns to leave out: names, or globs."""
    fold: bool = True
    """Whether what constants decide is computed before the model runs (from level 1 on)."""
    strict: bool = False
    """Whether a pass that fails is an error; else a warning says so, and the others go on."""
    fuse: bool = True
    """Whether chains of ops are fused at all."""
    fusion_kinds: tuple[str, ...] | None = None
    """The only kinds to fuse; None for all."""
    disabled_kinds: tuple[str, ...] = ()
    """Kinds not to fuse."""
    winograd: bool = True
    """Whether 3x3 convolutions may be computed as Winograd F(4x4, 3x3), which rounds more."""
    cpu: str = ""
    """What the code is made for: `host`, or a level such as `x86-64-v3`; if empty, the processor that
    ONNXLOOM_CPU names, else this one."""
    jit: str = "llvm"
    """What makes kernels machine code: `llvm`, from their LLVM IR, or `numba`, from their Python form."""
    checked: bool = field(default_factory=checked_by_environment)
    """Whether kernels check every access to memory; by default what ONNXLOOM_CHECKED says."""
    threads: int = 0
    """Threads that share the work of a run: 0 for one per usable core, 1 for the calling thread alone."""
    cache: bool = True
    """Whether compiled kernels and plans are kept between processes."""
    external_data_dirs: tuple[str, ...] = ()
    """Folders besides the model's own that external data may lie in."""
    input_shapes: tuple[tuple[int, ...], ...] | None = None
    """Shapes of all inputs, in order, if the model is compiled for these only."""
    overridden: tuple[str, ...] = ()
    """Inputs with a default value in the model that are taken from the caller."""
    plugins: tuple[str, ...] = ()
    """Paths of plug-ins to load for this compilation."""
    patterns: tuple[Any, ...] = ()
    """Rewrite patterns to use in this compilation besides all others."""
    free_dims: tuple[tuple[str, int], ...] = ()
    """Names of symbolic dims of an ONNX model, and the numbers they are in this compilation."""
    denoted_dims: tuple[tuple[str, int], ...] = ()
    """The same by denotation."""
    initializers: tuple[tuple[str, Any], ...] = field(default=(), compare=False, repr=False)
    """Names and arrays that take the place of initializers of an ONNX model."""
    external_initializers: tuple[tuple[str, Any], ...] = field(default=(), compare=False, repr=False)
    """The same for those whose data are in other files; they have to be there."""
    external_files: tuple[tuple[str, bytes], ...] = field(default=(), compare=False, repr=False)
    """Contents of files of external data, by location."""
    custom_ops: tuple[CustomOp, ...] = ()
    """Ops that functions of the caller run."""
    progress: Progress | None = field(default=None, compare=False)
    observe: Callable[[ModuleOp], None] | None = field(default=None, compare=False)
    """Given the module in the loom dialect before its kernels are compiled; the model is then converted
    anew, whatever the cache holds."""

    @property
    def checks_kernels(self) -> bool:
        """Whether kernels check what they touch. What Numba makes does not."""
        return self.checked and self.jit == "llvm"

    @property
    def edits_model(self) -> bool:
        """Whether the model is changed before it is imported."""
        return bool(self.free_dims or self.denoted_dims or self._arrays)

    @property
    def is_described(self) -> bool:
        """Whether their text says all of them: arrays and functions are told by nothing that lasts."""
        return not (self._arrays or self.custom_ops)

    @property
    def _arrays(self) -> bool:
        return bool(self.initializers or self.external_initializers or self.external_files)


def compile_model(source: Any, options: CompileOptions = CompileOptions()) -> CompiledModel:
    """A model ready to run.

    `source` is a path to .onnx or .mlir, bytes, an open file, a ModelProto or a ModuleOp; a file that
    `onnxloom compile` wrote (.loom) is loaded as it is, and the options say nothing to it. Where ranks of
    values depend on the shapes of the inputs, the model is compiled again for input shapes it meets.

    Raises:
        ModelError: the model is damaged, or uses an op that nothing here can run.
        PassError: a plug-in or pattern of the options cannot be used.
    """
    from onnxloom.lowering.artifact.container import is_artifact

    if is_artifact(source):
        from onnxloom.lowering.artifact.load import load_file
        from onnxloom.lowering.extensions import extensions_in_use

        with extensions_in_use(options):
            return load_file(source, thread_count(options.threads))
    model = _compile_once(source, options)
    model.options = options
    if model.artifact.open_ranks and options.input_shapes is None and not hasattr(source, "read"):
        model.specialize = lambda shapes: _compile_once(source, replace(options, input_shapes=shapes))
    if model.artifact.overridable and _is_onnx(source):
        model.compile_overriding = lambda names: compile_model(source, replace(options, overridden=names))
    return model


def _compile_once(source: Any, options: CompileOptions) -> CompiledModel:
    from onnxloom.lowering.extensions import extensions_in_use

    with extensions_in_use(options):
        return _load_or_build(source, options)


def _load_or_build(source: Any, options: CompileOptions) -> CompiledModel:
    from onnxloom.lowering.plan_cache import PlanCache

    # What Numba makes needs Numba where it runs.
    may_cache = options.cache and options.jit == "llvm" and options.is_described
    cache = PlanCache.of(source, options) if may_cache else None
    threads = thread_count(options.threads)
    # A model that is loaded runs no pass that could be logged, and has no IR that could be looked at.
    wanted = options.observe is not None or log_wanted()
    stored = None if cache is None or wanted else cache.load(threads)
    if stored is not None:
        return stored
    from onnxloom.lowering.build_model import build_artifact
    from onnxloom.lowering.load_model import load_artifact

    artifact = build_artifact(source, options)
    after = None if cache is None else cache.save
    return load_artifact(artifact, after, threads)


def _is_onnx(source: Any) -> bool:
    """Whether a model can be imported from there once more (a stream was read, and IR states types)."""
    if isinstance(source, str | os.PathLike):
        return Path(cast(Any, source)).suffix != ".mlir"
    return isinstance(source, bytes | bytearray | memoryview) or hasattr(source, "graph")


def compile_module(module: ModuleOp, options: CompileOptions = CompileOptions()) -> CompiledModel:
    """A model from a module in the onnx or loom dialect. The module is not changed.

    Raises:
        ModelError: the module breaks a rule of the IR, or has an op that nothing here can run.
    """
    from onnxloom.dialects.verify_module import verify_module
    from onnxloom.lowering.build_model import artifact_of_module
    from onnxloom.lowering.extensions import extensions_in_use
    from onnxloom.lowering.load_model import load_artifact

    verify_module(module)
    with extensions_in_use(options):
        artifact = artifact_of_module(module.clone(), options)
    return load_artifact(artifact, threads=thread_count(options.threads))
