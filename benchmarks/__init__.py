"""Paired measurements against onnxruntime; run as `python -m benchmarks.run`. Never part of the tests."""
