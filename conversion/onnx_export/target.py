"""How do `onnxloom-opt` and `xdsl-opt` write an ONNX model? As the target `onnx`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target


@dataclass(frozen=True)
class OnnxTarget(Target):
    """An ONNX model: binary from `onnxloom-opt`, protobuf text from `xdsl-opt` (which writes only text)."""

    name = "onnx"

    opset: int | None = None
    """Opset of the default domain to write; the model's original one where it can be, if not given."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from google.protobuf import text_format

        from onnxloom.conversion.onnx_export import export_model

        output.write(text_format.MessageToString(export_model(module, opset=self.opset)))

    def emit_bytes(self, ctx: Context, module: ModuleOp) -> bytes:
        """The binary model."""
        from onnxloom.conversion.onnx_export import export_model

        return export_model(module, opset=self.opset).SerializeToString()
