"""Small models in the standard's text form, compiled without touching the user's cache."""

from __future__ import annotations

from typing import Any

import onnx
import onnx.parser

from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.lowering.runtime.model import CompiledModel


def model_of(graph: str, opset: int = 21) -> onnx.ModelProto:
    """`agraph (float[N] x) => (float[N] y) { ... }` as a model."""
    text = f'<ir_version: 10, opset_import: ["" : {opset}, "ai.onnx.ml" : 3, "my.domain" : 1]> {graph}'
    return onnx.parser.parse_model(text)


def compiled(graph: str, opset: int = 21, **options: Any) -> CompiledModel:
    chosen: dict[str, Any] = {"cache": False, **options}
    return compile_model(model_of(graph, opset), CompileOptions(**chosen))
