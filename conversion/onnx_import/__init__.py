"""ONNX models into IR: `import_model` is the one entry."""

from __future__ import annotations

import os
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from onnxloom.conversion.onnx_import.source import Source, load


def import_model(source: Source, *, external_data_dirs: Sequence[str | os.PathLike[str]] = ()) -> ModuleOp:
    """A module with `func.func @main_graph` from a path, bytes, an open file, or a `ModelProto`.

    Every op is at its latest version, functions are inlined, weights are views of the source. Files
    of external data are read from the model's own folder and from `external_data_dirs` only.
    Raises ModelError or UnsupportedOpError, in one line that names file and node.
    """
    from onnxloom.conversion.onnx_import.module import build_module
    from onnxloom.errors import ModelError

    loaded = load(source, external_data_dirs)
    try:
        return build_module(loaded)
    except ModelError as error:
        raise type(error)(f"{loaded.name}: {error}") from None


__all__ = ["Source", "import_model"]
