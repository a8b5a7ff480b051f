"""ONNX models into IR: `import_model` is the one entry."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from onnxloom.conversion.onnx_import.source import Source, load
from onnxloom.errors import ModelError

if TYPE_CHECKING:
    from onnxloom.conversion.onnx_import.edits import ModelEdits


def import_model(
    source: Source,
    *,
    external_data_dirs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    overridden: Collection[str] = (),
    edits: ModelEdits | None = None,
) -> ModuleOp:
    """A module with `func.func @main_graph` from a path, bytes, an open file, or a `ModelProto`.

    Every op is at its latest version, functions are inlined, weights are views of the source. Files
    of external data are read from the model's own folder and from `external_data_dirs` only.

    An input that has an initializer (its default value) is a constant with the attribute
    `onnx_overridable`, which holds the type of the input; the inputs in `overridden` stay inputs.
    `edits` are made before anything is looked at.
    Raises ModelError or UnsupportedOpError, in one line that names file and node.
    """
    from xdsl.utils.exceptions import VerifyException

    from onnxloom.conversion.onnx_import.edits import apply_edits
    from onnxloom.conversion.onnx_import.module import build_module
    from onnxloom.conversion.onnx_import.node_order import order_nodes
    from onnxloom.conversion.onnx_import.overridable import drop_defaults
    from onnxloom.conversion.onnx_import.text_check import check_text

    loaded = load(source, external_data_dirs)
    try:
        check_text(loaded.proto)
        if edits is not None:
            apply_edits(loaded.proto, edits)
        drop_defaults(loaded.proto, overridden)
        order_nodes(loaded.proto)
        module = build_module(loaded)
        module.verify()
    except ModelError as error:
        raise type(error)(f"{loaded.name}: {' '.join(str(error).split())}") from None
    except VerifyException as error:
        raise ModelError(f"{loaded.name}: {' '.join(str(error).split())}") from None
    return module


__all__ = ["Source", "import_model"]
