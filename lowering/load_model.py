"""How does a stored or just compiled artifact become a model? By linking its object code; no IR is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from onnxloom.errors import ModelError
from onnxloom.lowering.plan.memo import Memo
from onnxloom.lowering.runtime.instance import python_executor
from onnxloom.lowering.runtime.model import Artifact, CompiledModel


def load_artifact(
    artifact: Artifact, after_run: Callable[[CompiledModel], None] | None = None
) -> CompiledModel:
    """Links the kernels of an artifact. Needs llvmlite's binding only.

    Raises:
        LinkError: the object code does not fit this process.
    """
    if isinstance(artifact.memo, dict):  # as it is stored
        artifact = replace(artifact, memo=Memo(artifact.memo))
    if not artifact.objects:
        return CompiledModel(artifact, _no_kernel, python_executor, after_run=after_run)
    from onnxloom.lowering.executor import Executor
    from onnxloom.lowering.kernel_library import load_library

    library = load_library(artifact.objects, artifact.symbols)
    executor = Executor.from_objects(artifact.executor)
    return CompiledModel(artifact, library.address, executor.run, (library, executor), after_run)


def _no_kernel(name: str) -> int:
    raise ModelError(f"the model has no kernel {name!r}")
