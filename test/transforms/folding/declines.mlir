// RUN: onnxloom-opt %s -p 'fold-constants{size-limit=64}' --report 2>&1 | filecheck %s
// RUN: onnxloom-opt %s -p 'fold-constants{memory-priority=true}' --report 2>&1 | filecheck %s --check-prefix MEMORY
// RUN: not onnxloom-opt %s -p 'fold-constants{size-limit=-1}' 2>&1 | filecheck %s --check-prefix NEGATIVE

// The report names every op that was declined, why, and where that was decided.
// CHECK: fold-constants: folded 3 ops, declined 4
// CHECK-NEXT: folded 2 onnx.Transpose in {{[0-9.]+}} ms
// CHECK-NEXT: folded 1 onnx.Clip in {{[0-9.]+}} ms
// CHECK-NEXT: declined onnx.Expand "fill": the result takes 4294967296 bytes, the inputs 12; the limit is 64 (transforms/folding/fold_op.py:{{[0-9]+}})
// CHECK-NEXT: declined onnx.Reshape "wrong": cannot be evaluated: {{.*}} (transforms/folding/fold_op.py:{{[0-9]+}})
// CHECK-NEXT: declined onnx.SequenceConstruct "list": gives a !onnx.Seq<tensor<*xf32>>, which is no tensor
// CHECK-NEXT: declined onnx.If "branch": has regions

// Memory priority does not mind a small constant that is shared, nor an input that is left out.
// MEMORY: folded 1 onnx.Clip
// MEMORY: declined onnx.Transpose "shared": input 0 of 144 bytes is shared, and memory has priority
// MEMORY-NOT: declined onnx.Transpose "alone"
// NEGATIVE: fold-constants: size-limit is -1; expected 0 or more
func.func @main_graph() -> (tensor<*xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<*xf32>, !onnx.Seq<tensor<*xf32>>, tensor<f32>, tensor<f32>) {
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %large = onnx.Constant dense<[1073741824]> : tensor<1xi64>
  %fill = "onnx.Expand"(%one, %large) {onnx_node_name = "fill"} : (tensor<f32>, tensor<1xi64>) -> tensor<*xf32>
  %w = onnx.Constant dense<1.0> : tensor<6x6xf32>
  %t = "onnx.Transpose"(%w) {onnx_node_name = "shared"} : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %v = onnx.Constant dense<2.0> : tensor<6x6xf32>
  %u = "onnx.Transpose"(%v) {onnx_node_name = "alone"} : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %small = "onnx.Clip"(%one, %none, %one) {onnx_node_name = "small"} : (tensor<f32>, none, tensor<f32>) -> tensor<f32>
  %seven = onnx.Constant dense<7> : tensor<1xi64>
  %wrong = "onnx.Reshape"(%one, %seven) {onnx_node_name = "wrong"} : (tensor<f32>, tensor<1xi64>) -> tensor<*xf32>
  %list = "onnx.SequenceConstruct"(%one) {onnx_node_name = "list"} : (tensor<f32>) -> !onnx.Seq<tensor<*xf32>>
  %true = onnx.Constant dense<true> : tensor<i1>
  %branch = "onnx.If"(%true) ({
    onnx.Yield %one : tensor<f32>
  }, {
    onnx.Yield %one : tensor<f32>
  }) {onnx_node_name = "branch"} : (tensor<i1>) -> tensor<f32>
  onnx.Return %fill, %w, %t, %u, %wrong, %list, %branch, %small : tensor<*xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<*xf32>, !onnx.Seq<tensor<*xf32>>, tensor<f32>, tensor<f32>
}
