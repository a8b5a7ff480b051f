"""How does a compiled model become a file? `save_artifact`; with the model it was made from, if wanted."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from onnxloom.errors import InputError
from onnxloom.lowering.artifact.container import Part, is_artifact, write_container
from onnxloom.lowering.artifact.fit import made_with
from onnxloom.lowering.external_stamp import refers_to_files
from onnxloom.lowering.plan import store
from onnxloom.lowering.runtime.model import Artifact

if TYPE_CHECKING:
    from onnxloom.lowering.compile import CompileOptions

Shapes = tuple[tuple[int, ...], ...]

_ELSEWHERE = (
    *("progress", "observe", "patterns", "plugins", "external_data_dirs", "cpu", "cache", "threads"),
    *("initializers", "external_initializers", "external_files", "custom_ops"),
)
"""Options that cannot be written down, or say nothing to another machine."""


def save_artifact(
    path: str | os.PathLike[str],
    artifact: Artifact,
    variants: Mapping[Shapes, Artifact],
    source: Any = None,
    options: CompileOptions | None = None,
) -> None:
    """Writes a compiled model, and its variants for single input shapes, to `path`.

    `source`, an ONNX file or its bytes, is kept in the file with the `options` it is compiled with: where
    the code does not fit, it is compiled again.

    Raises:
        InputError: `source` cannot be kept.
        OSError: the file cannot be written.
    """
    sections: dict[str, Sequence[Part]] = {}
    description: dict[str, Any] = made_with()
    model: memoryview | None = None
    if source is not None:
        model = _bytes_of(source)
        description["options"] = _plain_options(options)
        sections["model"] = [model]
    stored = {shapes: _stored(variant) for shapes, variant in variants.items()}
    base = None if model is None else _where_weights_lie(artifact, model)
    try:
        sections["program"] = store.parts((_stored(artifact), stored), base)
    except store.Unstorable as error:
        raise InputError(f"the model cannot be stored: {error}") from None
    write_container(path, description, sections)


def _stored(artifact: Artifact) -> Artifact:
    entries = dict(artifact.memo.entries)  # other threads may add to it meanwhile
    return replace(artifact, memo=cast(Any, entries))


def _where_weights_lie(artifact: Artifact, model: memoryview) -> memoryview | None:
    """The bytes that weights are views of, if they are those of `model`."""
    base = store.source_of([v for v in artifact.constants.values if hasattr(v, "nbytes")])
    return base if base is not None and store.same_bytes(base, model) else None


def _bytes_of(source: Any) -> memoryview:
    """The model to keep. Raises InputError, OSError."""
    if isinstance(source, str | os.PathLike):
        data = Path(cast("str", source)).read_bytes()
    elif isinstance(source, bytes):
        data = source
    else:
        raise InputError(f"a {type(source).__name__} cannot be kept in the file; expected a path or bytes")
    if is_artifact(data):
        raise InputError("a compiled model cannot be kept in the file; expected an ONNX model")
    if refers_to_files(data):
        raise InputError("the model cannot be kept in the file: its weights lie in files of their own")
    return memoryview(data)


def _plain_options(options: CompileOptions | None) -> dict[str, Any]:
    if options is None:
        return {}
    if options.plugins or options.patterns:
        raise InputError("a model compiled with plug-ins cannot be compiled again elsewhere: do not keep it")
    if not options.is_described:
        raise InputError("a model compiled with custom ops or other data cannot be compiled again elsewhere")
    return {f.name: getattr(options, f.name) for f in fields(options) if f.name not in _ELSEWHERE}
