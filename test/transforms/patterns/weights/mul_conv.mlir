// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns=MulConv numerics=tolerance}' | filecheck %s

// Positive: the weights take over the Mul.
// CHECK-LABEL: @taken_over
// CHECK-DAG:     %[[W:.*]] = onnx.Constant {{.*}}dense<1.500000e+00> : tensor<2x2x3x3xf32>
// CHECK:         %y = "onnx.Conv"(%x, %[[W]], %none)
// CHECK-NEXT:    onnx.Return %y
func.func @taken_over(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<2x2x3x3xf32>
  %k = onnx.Constant dense<3.0> : tensor<2x1x1xf32>
  %a = "onnx.Mul"(%x, %k) : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %y = "onnx.Conv"(%a, %w, %none) : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, none) -> tensor<1x2x2x2xf32>
  onnx.Return %y : tensor<1x2x2x2xf32>
}

// Negative: one channel times two numbers is two channels.
// CHECK-LABEL: @enlarged
// CHECK:         onnx.Mul
// CHECK:         onnx.Conv
func.func @enlarged(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<2x2x3x3xf32>
  %k = onnx.Constant dense<3.0> : tensor<2x1x1xf32>
  %a = "onnx.Mul"(%x, %k) : (tensor<1x1x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %y = "onnx.Conv"(%a, %w, %none) : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, none) -> tensor<1x2x2x2xf32>
  onnx.Return %y : tensor<1x2x2x2xf32>
}
