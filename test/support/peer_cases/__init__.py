"""Random single-node cases of ops that onnxruntime runs, too, and how ours are compared with it."""
