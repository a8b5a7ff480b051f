// RUN: not onnxloom-opt %s 2>&1 | filecheck %s

// A syntax error is one line with the place, and nothing on stdout.
// CHECK-NOT: Traceback
// CHECK: syntax_error.mlir:[[# @LINE + 2]]:{{[0-9]+}}: error: {{.+}}
// CHECK-NOT: {{.}}
func.func @f(%x: tensor<2xf32) {
