// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns=GemmMul numerics=tolerance}' | filecheck %s

// Positive: the weights take over the Mul.
// CHECK-LABEL: @taken_over
// CHECK-DAG:     %[[W:.*]] = onnx.Constant {{.*}}dense<1.500000e+00> : tensor<4x2xf32>
// CHECK:         %y = "onnx.Gemm"(%x, %[[W]], %none)
// CHECK-NEXT:    onnx.Return %y
func.func @taken_over(%x: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<4x2xf32>
  %c = "onnx.Gemm"(%x, %w, %none) : (tensor<3x4xf32>, tensor<4x2xf32>, none) -> tensor<3x2xf32>
  %k = onnx.Constant dense<3.0> : tensor<2xf32>
  %y = "onnx.Mul"(%c, %k) : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  onnx.Return %y : tensor<3x2xf32>
}

// Negative: something else reads the weight.
// CHECK-LABEL: @shared
// CHECK:         onnx.Gemm
// CHECK:         onnx.Mul
func.func @shared(%x: tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<4x2xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<4x2xf32>
  %c = "onnx.Gemm"(%x, %w, %none) : (tensor<3x4xf32>, tensor<4x2xf32>, none) -> tensor<3x2xf32>
  %k = onnx.Constant dense<3.0> : tensor<2xf32>
  %y = "onnx.Mul"(%c, %k) : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  onnx.Return %y, %w : tensor<3x2xf32>, tensor<4x2xf32>
}
