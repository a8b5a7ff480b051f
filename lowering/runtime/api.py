"""The function that compiles a model: `onnxloom.compile`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from onnxloom.dialects.custom_ops import CustomOp, use_custom_ops
from onnxloom.errors import InputError
from onnxloom.lowering.runtime.model import CompiledModel

if TYPE_CHECKING:
    from onnxloom.lowering.compile import Progress


def load(
    model: str | os.PathLike[str] | bytes, *, threads: int = 0, custom_ops: Iterable[CustomOp] = ()
) -> CompiledModel:
    """Loads a compiled model: a file that `onnxloom compile` or `CompiledModel.save` wrote, or its bytes.

    Up to `threads` threads share the work (0: as many as there are cores, or as it is worth). The file holds
    machine code, which runs with the rights of this process: load those you trust only. `custom_ops` are
    those it was compiled with: functions are no part of a file.

    Raises:
        UnsupportedOpError: one of them is missing.
        ArtifactError: it is damaged or no compiled model, or its code does not fit this processor or version
            and the file does not keep the model it was made from.
        OSError: it cannot be read.
    """
    from onnxloom.lowering.artifact.load import load_file
    from onnxloom.lowering.runtime.threads import thread_count

    with use_custom_ops(_custom_ops(custom_ops)):
        return load_file(model, thread_count(threads))


def compile(
    model: Any,
    *,
    opt_level: int = 3,
    threads: int = 0,
    fuse: bool = True,
    disabled_kinds: str | Iterable[str] | None = (),
    skip_passes: str | Iterable[str] | None = (),
    skip_patterns: str | Iterable[str] | None = (),
    strict: bool = False,
    winograd: bool = True,
    cpu: str = "",
    jit: str = "llvm",
    checked: bool | None = None,
    constant_folding: bool = True,
    cache: bool = True,
    external_data_dirs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = (),
    plugins: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = (),
    patterns: type[Any] | Iterable[Any] = (),
    custom_ops: Iterable[CustomOp] = (),
    progress: Progress | None = None,
) -> CompiledModel:
    """Compiles a model: a path to .onnx or .mlir, bytes, an open file, a ModelProto or an xDSL ModuleOp.

    `threads` threads share the work of a run: 0 for one per usable core (or what the environment variable
    ONNXLOOM_NUM_THREADS says), 1 for the calling thread alone. Results do not depend on it.

    A pass that fails is left out with a warning; with `strict` it is an error. `plugins` are Python files or
    packages, `patterns` subclasses of `PatternOptimization`; both count for this call only. In
    `skip_patterns` globs count too. `custom_ops` are ops of other domains that functions of yours run
    (docs/custom_ops.md). `winograd=False` computes 3x3 convolutions the direct way: slower, with a
    third of the rounding error. `jit="numba"` has Numba compile the kernels in the form `-t numba` prints: a
    second opinion, slow, on one thread, and never cached. `cpu` is what the code is made for: `host`, or a
    level such as `x86-64-v3`. With `checked`, or ONNXLOOM_CHECKED=1 where it is None, kernels compare every
    access to memory with the buffer it is made in: a wrong one is a `KernelFault` (docs/checked.md).

    Raises:
        ModelError: the model is damaged, or uses an op that nothing here can run.
        InputError: an option has no such value.
        PassError: `skip_passes` names no pass, `skip_patterns` no pattern; a plug-in does not load; two
            patterns have one name; with `strict`, a pass failed.
    """
    from onnxloom.lowering.checked.wanted import checked_by_environment
    from onnxloom.lowering.compile import CompileOptions, compile_model

    if type(opt_level) is not int or not 0 <= opt_level <= 3:
        raise InputError(f"opt_level is {opt_level!r}; expected 0, 1, 2 or 3")
    if jit not in ("llvm", "numba"):
        raise InputError(f"jit is {jit!r}; expected 'llvm' or 'numba'")
    if progress is not None and not callable(progress):
        raise InputError(f"progress is a {type(progress).__name__}; expected a function")
    if checked and jit != "llvm":
        raise InputError("checked kernels are compiled by LLVM; expected jit='llvm'")
    return compile_model(
        model,
        CompileOptions(
            opt_level=opt_level,
            threads=threads,
            fuse=fuse,
            disabled_kinds=_texts("disabled_kinds", disabled_kinds),
            skip_passes=_texts("skip_passes", skip_passes),
            skip_patterns=_texts("skip_patterns", skip_patterns),
            strict=strict,
            winograd=winograd,
            cpu=cpu,
            jit=jit,
            checked=checked_by_environment() if checked is None else bool(checked),
            fold=constant_folding,
            cache=cache,
            external_data_dirs=_texts("external_data_dirs", external_data_dirs),
            plugins=_texts("plugins", plugins),
            patterns=(patterns,) if isinstance(patterns, type) else tuple(patterns),
            custom_ops=_custom_ops(custom_ops),
            progress=progress,
        ),
    )


def _custom_ops(given: Iterable[Any]) -> tuple[CustomOp, ...]:
    """Raises InputError."""
    ops = tuple(given)
    for op in ops:
        if not isinstance(op, CustomOp):
            raise InputError(f"custom_ops holds {op!r}; expected objects of onnxloom.CustomOp")
    return ops


def _texts(name: str, value: Any) -> tuple[str, ...]:
    """Names or paths: one, several, or None for none. Raises InputError."""
    if value is None:
        return ()
    items: list[Any] = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    for item in items:
        if not isinstance(item, str | os.PathLike):
            raise InputError(f"{name} holds {item!r}; expected texts")
    return tuple(map(os.fspath, items))
