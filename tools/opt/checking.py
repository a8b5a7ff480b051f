"""Is the IR valid? What passes rely on; the first fault names its op."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects.verify_module import InvalidIR, verify_module

__all__ = ["InvalidIR", "verify"]


def verify(module: ModuleOp) -> None:
    """Raises InvalidIR for the first op that breaks a rule."""
    verify_module(module)
