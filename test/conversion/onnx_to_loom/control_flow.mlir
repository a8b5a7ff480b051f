// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// Both branches are converted and capture outer values.
func.func @branches(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "onnx.If"(%c) ({
    %t = "onnx.Relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "onnx.Yield"(%t) : (tensor<4xf32>) -> ()
  }, {
    %e = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "onnx.Yield"(%e) : (tensor<4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<4xf32>
  "onnx.Return"(%0) : (tensor<4xf32>) -> ()
}
// CHECK-LABEL: sym_name = "branches"
// CHECK:      "loom.if"
// CHECK:      kernel = @relu_
// CHECK:      "loom.yield"
// CHECK:      kernel = @neg_
// CHECK:      "loom.yield"

// -----

// A loop without a condition operand; the body's iteration number, condition and carried value.
func.func @counted(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Loop"(%n, %none, %x) ({
  ^bb0(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<4xf32>):
    %a = "onnx.Add"(%v, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "onnx.Yield"(%c, %a) : (tensor<i1>, tensor<4xf32>) -> ()
  }) : (tensor<i64>, none, tensor<4xf32>) -> tensor<4xf32>
  "onnx.Return"(%0) : (tensor<4xf32>) -> ()
}
// CHECK-LABEL: sym_name = "counted"
// CHECK:      "onnx.NoValue"
// CHECK:      "loom.loop"
// CHECK:      ^bb0(%{{.*}}: tensor<i64>, %{{.*}}: tensor<i1>, %{{.*}}: tensor<4xf32>):
// CHECK:      kernel = @add_
// CHECK:      "loom.yield"
