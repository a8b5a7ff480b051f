"""IR into ONNX models: `export_model` and `save_model`."""

from __future__ import annotations

import os

from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp


def export_model(module: ModuleOp, *, opset: int | None = None) -> ModelProto:
    """The model of a module in the onnx dialect; fused ops are written as the ops they hold.

    `opset` (of the default domain): the asked-for one; else the one the module was imported from where
    every op has a form there, else the lowest that expresses them all. Raises PassError.
    """
    from onnxloom.conversion.onnx_export.module import export

    return export(module, opset).complete()


def save_model(
    module: ModuleOp,
    path: str | os.PathLike[str],
    *,
    opset: int | None = None,
    external_data: bool | None = None,
) -> None:
    """Writes a model; its large weights into `<name>.data` beside it when `external_data`.

    By default they go there when the file would not fit the format's 2 GB otherwise.
    """
    from onnxloom.conversion.onnx_export.module import export
    from onnxloom.conversion.onnx_export.save import write_model

    write_model(export(module, opset), os.fspath(path), external_data)


__all__ = ["export_model", "save_model"]
