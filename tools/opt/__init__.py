"""The parts of `onnxloom-opt`, one per file."""
