"""onnxloom: ONNX models compiled to loop kernels. Importing this package imports numpy only."""
