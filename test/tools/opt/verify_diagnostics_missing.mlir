// RUN: not onnxloom-opt %s --verify-diagnostics 2>&1 | filecheck %s

// An expected error that does not come is an error.
// CHECK: verify_diagnostics_missing.mlir:[[# @LINE + 2]]: error: expected error "no such thing" was not produced
func.func @fine() {
  // expected-error@+1 {{no such thing}}
  "func.return"() : () -> ()
}
