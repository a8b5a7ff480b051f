"""How does a stored or just compiled artifact become a model? By linking its object code; no IR is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from onnxloom.errors import ModelError
from onnxloom.lowering.plan.memo import Memo
from onnxloom.lowering.runtime.instance import python_executor
from onnxloom.lowering.runtime.model import Artifact, CompiledModel


def load_artifact(
    artifact: Artifact, after_run: Callable[[CompiledModel], None] | None = None, threads: int = 1
) -> CompiledModel:
    """Links the kernels of an artifact, to run on up to `threads` threads. Needs llvmlite's binding only.

    Raises:
        ArtifactError: the code is for another processor.
        LinkError: the object code does not fit this process.
    """
    if isinstance(artifact.memo, dict):  # as it is stored
        artifact = replace(artifact, memo=Memo(artifact.memo))
    if not artifact.objects:
        return CompiledModel(artifact, _no_kernel, python_executor, after_run=after_run)
    from onnxloom.lowering.artifact.fit import check_processor
    from onnxloom.lowering.executor import Executor
    from onnxloom.lowering.kernel_library import load_library
    from onnxloom.lowering.runtime.team import team_executor

    check_processor(artifact.triple, artifact.features)
    library = load_library(artifact.objects, artifact.symbols)
    executor = Executor.from_objects(artifact.executor)
    together = None
    if threads > 1 and executor.team is not None and artifact.works:
        together = team_executor(executor.team, threads)
    keep = (library, executor)
    return CompiledModel(artifact, library.address, executor.run, keep, after_run, threads, together)


def _no_kernel(name: str) -> int:
    raise ModelError(f"the model has no kernel {name!r}")
