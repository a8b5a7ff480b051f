"""The interface of onnxruntime's Python package, one class or topic a file (docs/onnxruntime.md)."""
