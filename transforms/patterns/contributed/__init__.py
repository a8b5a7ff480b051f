"""Ops that onnxruntime contributes (domain com.microsoft) as ops of the standard: one op per file."""
