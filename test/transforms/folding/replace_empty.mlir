// RUN: onnxloom-opt %s -p replace-empty | filecheck %s

// Positive: a result without elements is an empty constant, of any element type.
// CHECK-LABEL: func.func @empty
// CHECK-NEXT: onnx.Constant {onnxloom.folded = "replace-empty"} dense<> : tensor<0x3xf32>
// CHECK-NEXT: onnx.Constant {onnxloom.folded = "replace-empty"} dense<> : tensor<2x0x!onnx.String>
// CHECK-NEXT: onnx.Return
func.func @empty(%x: tensor<0x3xf32>, %s: tensor<2x0x!onnx.String>) -> (tensor<0x3xf32>, tensor<2x0x!onnx.String>) {
  %0 = "onnx.Exp"(%x) : (tensor<0x3xf32>) -> tensor<0x3xf32>
  %1 = "onnx.Identity"(%s) : (tensor<2x0x!onnx.String>) -> tensor<2x0x!onnx.String>
  onnx.Return %0, %1 : tensor<0x3xf32>, tensor<2x0x!onnx.String>
}

// Positive: one of two results, the op stays for the other; a result that is left out does not count.
// CHECK-LABEL: func.func @one_of_two
// CHECK: %[[EMPTY:.*]] = onnx.Constant {{.*}} dense<> : tensor<2x0xf32>
// CHECK-NEXT: %[[SPLIT:.*]], %{{.*}} = "onnx.Split"
// CHECK-NEXT: %[[NORM:.*]] = onnx.Constant {{.*}} dense<> : tensor<2x0xf32>
// CHECK-NEXT: onnx.Return %[[SPLIT]], %[[EMPTY]], %[[NORM]]
func.func @one_of_two(%x: tensor<2x4xf32>, %y: tensor<2x0xf32>, %w: tensor<0xf32>) -> (tensor<2x4xf32>, tensor<2x0xf32>, tensor<2x0xf32>) {
  %parts = onnx.Constant dense<[4, 0]> : tensor<2xi64>
  %none = "onnx.NoValue"() {value} : () -> none
  %0, %1 = "onnx.Split"(%x, %parts) {axis = 1 : si64} : (tensor<2x4xf32>, tensor<2xi64>) -> (tensor<2x4xf32>, tensor<2x0xf32>)
  %2, %3, %4 = "onnx.LayerNormalization"(%y, %w, %none) : (tensor<2x0xf32>, tensor<0xf32>, none) -> (tensor<2x0xf32>, none, none)
  onnx.Return %0, %1, %2 : tensor<2x4xf32>, tensor<2x0xf32>, tensor<2x0xf32>
}

// Negative: control flow, a random op, a dim that is not known, an op that opted out.
// CHECK-LABEL: func.func @stay
// CHECK: "onnx.If"
// CHECK: "onnx.RandomNormalLike"
// CHECK: "onnx.Neg"
// CHECK: "onnx.Exp"
// CHECK: "onnx.Abs"
func.func @stay(%c: tensor<i1>, %x: tensor<0xf32>, %y: tensor<0x?xf32>, %z: tensor<*xf32>) -> (tensor<0xf32>, tensor<0xf32>, tensor<0x?xf32>, tensor<0xf32>, tensor<*xf32>) {
  %0 = "onnx.If"(%c) ({
    onnx.Yield %x : tensor<0xf32>
  }, {
    onnx.Yield %x : tensor<0xf32>
  }) : (tensor<i1>) -> tensor<0xf32>
  %1 = "onnx.RandomNormalLike"(%x) : (tensor<0xf32>) -> tensor<0xf32>
  %2 = "onnx.Neg"(%y) : (tensor<0x?xf32>) -> tensor<0x?xf32>
  %3 = "onnx.Exp"(%x) {onnxloom.do_not_fold} : (tensor<0xf32>) -> tensor<0xf32>
  %4 = "onnx.Abs"(%z) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0, %1, %2, %3, %4 : tensor<0xf32>, tensor<0xf32>, tensor<0x?xf32>, tensor<0xf32>, tensor<*xf32>
}
