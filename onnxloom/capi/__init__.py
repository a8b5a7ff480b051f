"""The modules in which onnxruntime keeps its compiled classes: code that imports from there finds ours."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = (
    "_pybind_state",
    "onnxruntime_inference_collection",
    "onnxruntime_pybind11_state",
    "onnxruntime_validation",
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
