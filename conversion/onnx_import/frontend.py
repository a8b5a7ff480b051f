"""How do `onnxloom-opt` and `xdsl-opt` read an ONNX model? As xDSL's front end of the extension `.onnx`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.frontend import Frontend


@dataclass(frozen=True)
class OnnxFrontend(Frontend):
    """Reads an ONNX model. Raises ModelError or UnsupportedOpError."""

    name = "onnx"

    def parse(self, ctx: Context, input: IO[bytes], input_name: str) -> ModuleOp:
        from onnxloom.conversion.onnx_import import import_model

        path = getattr(input, "name", None)
        # A file is mapped by its path, so that a large weight is never read here.
        return import_model(path if isinstance(path, str) and os.path.isfile(path) else input.read())
