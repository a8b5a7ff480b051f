"""Kernel IR -> Python source anyone can read, step through and paste into a notebook."""

from onnxloom.lowering.emit_python.kernel import compile_python, emit_python

__all__ = ["compile_python", "emit_python"]
