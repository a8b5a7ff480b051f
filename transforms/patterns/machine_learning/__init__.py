"""Ops of domain ai.onnx.ml as ops that work on whole tensors: one op per file."""
