// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns=AddConv numerics=tolerance}' | filecheck %s

// Positive: the weights take over the Add.
// CHECK-LABEL: @taken_over
// CHECK-DAG:     %[[W:.*]] = onnx.Constant {{.*}}dense<5.000000e-01> : tensor<2x2x3x3xf32>
// CHECK-DAG:     %[[B:.*]] = onnx.Constant {{.*}}dense<2.700000e+01> : tensor<2xf32>
// CHECK:         %y = "onnx.Conv"(%x, %[[W]], %[[B]])
// CHECK-NEXT:    onnx.Return %y
func.func @taken_over(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<2x2x3x3xf32>
  %k = onnx.Constant dense<3.0> : tensor<2x1x1xf32>
  %a = "onnx.Add"(%x, %k) : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %y = "onnx.Conv"(%a, %w, %none) : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, none) -> tensor<1x2x2x2xf32>
  onnx.Return %y : tensor<1x2x2x2xf32>
}

// Negative: what the Conv pads with is not shifted.
// CHECK-LABEL: @pads
// CHECK:         onnx.Add
// CHECK:         onnx.Conv
func.func @pads(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<2x2x3x3xf32>
  %k = onnx.Constant dense<3.0> : tensor<2x1x1xf32>
  %a = "onnx.Add"(%x, %k) : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %y = "onnx.Conv"(%a, %w, %none) <{pads = [1, 1, 1, 1]}> : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, none) -> tensor<1x2x4x4xf32>
  onnx.Return %y : tensor<1x2x4x4xf32>
}
