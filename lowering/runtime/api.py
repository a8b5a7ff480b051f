"""The function that compiles a model: `onnxloom.compile`."""

from __future__ import annotations

from typing import Any

from onnxloom.lowering.compile import CompileOptions, Progress, compile_model
from onnxloom.lowering.runtime.model import CompiledModel


def compile(
    model: Any,
    *,
    opt_level: int = 3,
    threads: int = 1,
    fuse: bool = True,
    disabled_kinds: tuple[str, ...] = (),
    cache: bool = True,
    external_data_dirs: tuple[str, ...] = (),
    progress: Progress | None = None,
) -> CompiledModel:
    """Compiles a model: a path to .onnx or .mlir, bytes, an open file, a ModelProto or an xDSL ModuleOp.

    Raises:
        ModelError: the model is damaged, or uses an op that nothing here can run.
    """
    return compile_model(
        model,
        CompileOptions(
            opt_level=opt_level,
            threads=threads,
            fuse=fuse,
            disabled_kinds=tuple(disabled_kinds),
            cache=cache,
            external_data_dirs=tuple(external_data_dirs),
            progress=progress,
        ),
    )
