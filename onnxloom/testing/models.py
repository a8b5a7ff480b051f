"""What do the helpers of this package take for a model? A path, a ModelProto, bytes, IR text, or a module."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.dialects.verify_module import verify_module
from onnxloom.lowering.build_model import read_module
from onnxloom.lowering.compile import CompileOptions

Model = Any
"""A path to .onnx or .mlir, a ModelProto, its bytes, the text of a module, or a ModuleOp."""


def as_module(model: Model) -> ModuleOp:
    """A valid module in the onnx dialect that belongs to the caller: a given module is copied.

    Raises:
        ModelError: the model is damaged.
    """
    if isinstance(model, str) and _is_text(model):
        module = parse_module(model)
        verify_module(module)
        return module
    return read_module(cast(Any, model), CompileOptions())


def _is_text(source: str) -> bool:
    return "\n" in source or "func.func" in source
