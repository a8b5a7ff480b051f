// RUN: onnxloom-opt %s -p convert-onnx-to-loom --verify-diagnostics
// RUN: onnxloom-opt %s -p convert-onnx-to-loom 2>&1 | filecheck %s
// RUN: not onnxloom-opt %s -p shape-inference --verify-diagnostics 2>&1 | filecheck %s --check-prefix=MISSING

// A warning of a pass has the place of its op, and can be expected like an error.
// CHECK: expected_warning.mlir:[[# @LINE + 5]]:3: warning: fused op of kind 'onnx.elementwise' runs op by op
// CHECK: builtin.module
// MISSING: expected_warning.mlir:[[# @LINE + 2]]: error: expected warning "runs op by op" was not produced
func.func @main_graph(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-warning@+1 {{runs op by op}}
  %0 = "onnx.FusedOp"(%x) <{kind = "onnx.elementwise"}> ({
  ^bb0(%a: tensor<2xf32>):
    %1 = "onnx.Neg"(%a) : (tensor<2xf32>) -> tensor<2xf32>
    %2 = "onnx.Exp"(%1) : (tensor<2xf32>) -> tensor<2xf32>
    "onnx.Yield"(%2) : (tensor<2xf32>) -> ()
  }) {loop_rank = 1 : si64, op_count = 7 : si64} : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %0 : tensor<2xf32>
}
