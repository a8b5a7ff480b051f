// RUN: not onnxloom-opt %s --verify-diagnostics --split-input-file 2>&1 | filecheck %s

// An error that nobody expects is an error, and so is one expected on another line or with other words.
// CHECK: verify_diagnostics_unexpected.mlir:[[# @LINE + 2]]: error: unexpected error: Operation onnx.Nothing is not registered
func.func @unexpected() {
  "onnx.Nothing"() : () -> ()
}

// -----

// CHECK: verify_diagnostics_unexpected.mlir:[[# @LINE + 4]]: error: unexpected error: Operation onnx.Nothing
// CHECK: verify_diagnostics_unexpected.mlir:[[# @LINE + 2]]: error: expected error "onnx.Nothing" was not produced
func.func @line() {
  // expected-error {{onnx.Nothing}}
  "onnx.Nothing"() : () -> ()
}

// -----

// CHECK: verify_diagnostics_unexpected.mlir:[[# @LINE + 4]]: error: unexpected error: Operation onnx.Nothing
// CHECK: verify_diagnostics_unexpected.mlir:[[# @LINE + 2]]: error: expected error "other words" was not produced
func.func @words() {
  // expected-error@+1 {{other words}}
  "onnx.Nothing"() : () -> ()
}
