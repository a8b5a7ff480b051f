"""Functions that stand in for ops of `onnx.reference`, one module per family."""
