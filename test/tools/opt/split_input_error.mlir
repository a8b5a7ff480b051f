// RUN: not onnxloom-opt %s --split-input-file 2>&1 | filecheck %s

// An error in one piece has the line of the file, and the others are still processed.
// CHECK-DAG: split_input_error.mlir:[[# @LINE + 9]]:{{[0-9]+}}: error: Operation onnx.Nothing is not registered
// CHECK-DAG: func.func @first
// CHECK-DAG: func.func @third
func.func @first() {
  "func.return"() : () -> ()
}

// -----
func.func @second() {
  "onnx.Nothing"() : () -> ()
}

// -----
func.func @third() {
  "func.return"() : () -> ()
}
