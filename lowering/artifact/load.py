"""How does a file become a model that runs? Its code is linked, or the model that it keeps is compiled.

Neither Numba nor xDSL nor onnx is loaded for a model whose code fits.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, cast

from onnxloom.dialects.custom_ops import RUN_BY_CALLER, custom_ops, use_custom_ops
from onnxloom.errors import ArtifactError, ModelError, UnsupportedOpError, caller_level
from onnxloom.lowering.artifact.container import Container, read_container
from onnxloom.lowering.artifact.fit import check_version
from onnxloom.lowering.kernel_library import LinkError
from onnxloom.lowering.load_model import load_artifact
from onnxloom.lowering.plan import store
from onnxloom.lowering.plan.program import HostStep, walk_steps
from onnxloom.lowering.runtime.model import Artifact, CompiledModel

Shapes = tuple[tuple[int, ...], ...]


class RecompiledWarning(UserWarning):
    """The code in the file of a compiled model does not fit; the model was compiled again."""


def load_file(source: str | os.PathLike[str] | bytes, threads: int = 1) -> CompiledModel:
    """The model of a file that `save_artifact` wrote, or of its bytes, to run on up to `threads` threads.

    Such a file is code: load those only whose origin you trust.

    Raises:
        ArtifactError: the file is damaged, or its code does not fit and it does not keep the model.
        OSError: the file cannot be read.
    """
    name = "the compiled model" if isinstance(source, bytes) else os.fspath(source)
    try:
        container = read_container(source)
    except ArtifactError as error:
        raise ArtifactError(f"{name} {error}") from None
    again = _compiler(container, threads)
    try:
        check_version(container.description)
        return _linked(container, again, threads)
    except ArtifactError as error:
        if again is None:
            raise ArtifactError(f"{name} {error}; compile the model again") from None
        message = f"{name} {error}; the model in it is compiled again"
        warnings.warn(RecompiledWarning(message), stacklevel=caller_level())
        return again({})


def _linked(
    container: Container, again: Callable[[dict[str, Any]], CompiledModel] | None, threads: int
) -> CompiledModel:
    artifact, variants = _decoded(container)
    try:
        with _custom_ops_for(artifact):
            own = custom_ops()
            model = load_artifact(artifact, threads=threads)
    except LinkError as error:
        raise ArtifactError(f"holds code that cannot be linked ({error})") from None

    def specialize(shapes: Shapes) -> CompiledModel:
        if shapes in variants:
            with use_custom_ops(own.values()):
                return load_artifact(variants[shapes], threads=threads)
        if again is None:
            raise ModelError("the compiled model has no variant for these shapes")
        return again({"input_shapes": shapes})

    if artifact.open_ranks and (variants or again is not None):
        model.specialize = specialize
    if artifact.overridable and again is not None:
        model.compile_overriding = lambda names: again({"overridden": names})
    return model


def _decoded(container: Container) -> tuple[Artifact, dict[Shapes, Artifact]]:
    section = container.sections.get("program")
    if section is None:
        raise ArtifactError("holds no program")
    try:
        artifact, variants = store.loads(section, container.sections.get("model"))
    except Exception as error:  # its checksum is right: it was made by who knows what
        raise ArtifactError(f"holds a program that is not understood ({type(error).__name__})") from None
    if not isinstance(artifact, Artifact) or not isinstance(variants, dict):
        raise ArtifactError("holds something else than a program")
    return artifact, cast("dict[Shapes, Artifact]", variants)


@contextmanager
def _custom_ops_for(artifact: Artifact) -> Generator[None]:
    """The functions that run ops of the program are known inside: those in use here, then those of plug-ins.

    Raises:
        UnsupportedOpError: one of them is missing; functions are not part of a file.
    """
    steps = [step for step in walk_steps(artifact.program.block) if isinstance(step, HostStep)]
    own = [step for step in steps if step.reason == RUN_BY_CALLER]
    if not own:
        yield
        return
    from onnxloom.transforms.plugins import current_plugins

    given = custom_ops()
    with use_custom_ops(current_plugins().custom_ops), use_custom_ops(given.values()):
        for step in own:
            if any((node.domain, node.op) not in custom_ops() for node in step.nodes):
                raise UnsupportedOpError(
                    f"{step.title}: the model was compiled with a function of the caller's for this op; give "
                    "it again (custom_ops=)"
                )
        yield


def _compiler(container: Container, threads: int) -> Callable[[dict[str, Any]], CompiledModel] | None:
    """Compiles the model that the file keeps, with some options changed; None if it keeps none."""
    model = container.sections.get("model")
    if model is None:
        return None

    def compile_again(changes: dict[str, Any]) -> CompiledModel:
        from onnxloom.lowering.compile import CompileOptions, compile_model

        known = {f.name for f in fields(CompileOptions)}
        stored: dict[str, Any] = container.description.get("options", {})
        try:
            kept: dict[str, Any] = {name: _plain(v) for name, v in stored.items() if name in known}
            kept.update(threads=threads, **changes)
            options = CompileOptions(**kept)
        except (TypeError, AttributeError) as error:
            raise ArtifactError(f"keeps options that are not understood ({error})") from None
        return compile_model(bytes(model), options)

    return compile_again


def _plain(value: Any) -> Any:
    """What JSON made of an option: tuples came back as lists."""
    return tuple(_plain(v) for v in value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]
