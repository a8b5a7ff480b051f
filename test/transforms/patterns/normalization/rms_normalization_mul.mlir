// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="RMSNormalizationMul"}' | filecheck %s

// Positive: two constants are multiplied.
// CHECK-LABEL: @positive
// CHECK:       %[[S:.*]] = onnx.Constant dense<[2.000000e+00, 4.000000e+00, 6.000000e+00, 2.000000e+00]>
// CHECK-NEXT:  %[[Y:.*]] = "onnx.RMSNormalization"(%x, %[[S]]) <{epsilon = 5.000000e-01 : f32}>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %s = onnx.Constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %w = onnx.Constant dense<[2.0, 2.0, 2.0, 0.5]> : tensor<4xf32>
  %n = "onnx.RMSNormalization"(%x, %s) <{epsilon = 0.5 : f32}> : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %y = "onnx.Mul"(%w, %n) : (tensor<4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y : tensor<2x3x4xf32>
}

// Positive: a computed factor takes the place of ones.
// CHECK-LABEL: @computed
// CHECK:       "onnx.RMSNormalization"(%x, %w)
// CHECK-NEXT:  onnx.Return
func.func @computed(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %s = onnx.Constant dense<1.0> : tensor<4xf32>
  %n = "onnx.RMSNormalization"(%x, %s) : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %y = "onnx.Mul"(%n, %w) : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y : tensor<2x3x4xf32>
}

// Negative: a computed factor and a scale that is not ones.
// CHECK-LABEL: @both
// CHECK:       onnx.Mul
func.func @both(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %s = onnx.Constant dense<2.0> : tensor<4xf32>
  %n = "onnx.RMSNormalization"(%x, %s) : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %y = "onnx.Mul"(%n, %w) : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y : tensor<2x3x4xf32>
}
