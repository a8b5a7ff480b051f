// RUN: onnxloom-opt %s -p 'rewrite-patterns{stage=contributed_ops}' | filecheck %s

// CHECK-LABEL: @bias_gelu
// CHECK-NEXT:  %[[S:.*]] = "onnx.Add"(%a, %b)
// CHECK-NEXT:  %[[Y:.*]] = "onnx.Gelu"(%[[S]])
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @bias_gelu(%a: tensor<2x4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %y = "onnx.Custom"(%a, %b) <{domain_name = "com.microsoft", function_name = "BiasGelu"}> : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// A factor of 1 is left out, a transposed operand is not.
// CHECK-LABEL: @fused_mat_mul
// CHECK-NEXT:  %[[T:.*]] = "onnx.Transpose"(%b)
// CHECK-NEXT:  %[[Y:.*]] = "onnx.MatMul"(%a, %[[T]])
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @fused_mat_mul(%a: tensor<2x4xf32>, %b: tensor<3x4xf32>) -> tensor<2x3xf32> {
  %y = "onnx.Custom"(%a, %b) <{domain_name = "com.microsoft", function_name = "FusedMatMul"}> {transB = 1 : si64} : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  onnx.Return %y : tensor<2x3xf32>
}

// The sum is a result of its own.
// CHECK-LABEL: @skip_simplified
// CHECK-NEXT:  %[[S:.*]] = "onnx.Add"(%x, %s)
// CHECK-NEXT:  %[[Y:.*]] = "onnx.RMSNormalization"(%[[S]], %g)
// CHECK-SAME:  epsilon = 2.500000e-01
// CHECK-NEXT:  onnx.Return %[[Y]], %[[S]]
func.func @skip_simplified(%x: tensor<2x4xf32>, %s: tensor<2x4xf32>, %g: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %y, %m, %d, %t = "onnx.Custom"(%x, %s, %g) <{domain_name = "com.microsoft", function_name = "SkipSimplifiedLayerNormalization"}> {epsilon = 0.25 : f32} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, none, none, tensor<2x4xf32>)
  onnx.Return %y, %t : tensor<2x4xf32>, tensor<2x4xf32>
}

// An op of another domain stays.
// CHECK-LABEL: @other
// CHECK-NEXT:  "onnx.Custom"
func.func @other(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %y = "onnx.Custom"(%x) <{domain_name = "my.domain", function_name = "Gelu"}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}
