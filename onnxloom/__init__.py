"""onnxloom: ONNX models compiled to loop kernels. Importing this package imports numpy only."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxloom.errors import (
        ArtifactError,
        InputError,
        ModelError,
        OnnxloomError,
        PassError,
        UnsupportedOpError,
    )
    from onnxloom.lowering.runtime.api import compile, load
    from onnxloom.lowering.runtime.model import CompiledModel, HostStepWarning, NodeArg
    from onnxloom.lowering.runtime.session import GraphOptimizationLevel, InferenceSession, SessionOptions

__version__ = "0.1.0"

__all__ = [
    "ArtifactError",
    "CompiledModel",
    "GraphOptimizationLevel",
    "HostStepWarning",
    "InferenceSession",
    "InputError",
    "ModelError",
    "NodeArg",
    "OnnxloomError",
    "PassError",
    "SessionOptions",
    "UnsupportedOpError",
    "compile",
    "load",
]

_HOMES = {
    "errors": (
        "ArtifactError",
        "InputError",
        "ModelError",
        "OnnxloomError",
        "PassError",
        "UnsupportedOpError",
    ),
    "lowering.runtime.api": ("compile", "load"),
    "lowering.runtime.model": ("CompiledModel", "HostStepWarning", "NodeArg"),
    "lowering.runtime.session": ("GraphOptimizationLevel", "InferenceSession", "SessionOptions"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'onnxloom' has no attribute {name!r}")
    value = getattr(import_module(f"onnxloom.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
