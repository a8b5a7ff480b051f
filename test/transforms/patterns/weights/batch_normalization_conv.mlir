// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns=BatchNormalizationConv numerics=tolerance}' | filecheck %s

// Positive: the weights take over the BatchNormalization.
// CHECK-LABEL: @taken_over
// CHECK-DAG:     %[[W:.*]] = onnx.Constant {{.*}}dense<1.000000e+00> : tensor<2x2x3x3xf32>
// CHECK-DAG:     %[[B:.*]] = onnx.Constant {{.*}}dense<-4.500000e+01> : tensor<2xf32>
// CHECK:         %y = "onnx.Conv"(%x, %[[W]], %[[B]])
// CHECK-NEXT:    onnx.Return %y
func.func @taken_over(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<2x2x3x3xf32>
  %s = onnx.Constant dense<2.0> : tensor<2xf32>
  %t = onnx.Constant dense<1.0> : tensor<2xf32>
  %m = onnx.Constant dense<3.0> : tensor<2xf32>
  %v = onnx.Constant dense<1.0> : tensor<2xf32>
  %a, %rm, %rv = "onnx.BatchNormalization"(%x, %s, %t, %m, %v) <{epsilon = 0.0 : f32}> : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x4x4xf32>, none, none)
  %y = "onnx.Conv"(%a, %w, %none) : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, none) -> tensor<1x2x2x2xf32>
  onnx.Return %y : tensor<1x2x2x2xf32>
}

// Negative: what the Conv pads with is not shifted.
// CHECK-LABEL: @pads
// CHECK:         onnx.BatchNormalization
// CHECK:         onnx.Conv
func.func @pads(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<2x2x3x3xf32>
  %s = onnx.Constant dense<2.0> : tensor<2xf32>
  %t = onnx.Constant dense<1.0> : tensor<2xf32>
  %m = onnx.Constant dense<3.0> : tensor<2xf32>
  %v = onnx.Constant dense<1.0> : tensor<2xf32>
  %a, %rm, %rv = "onnx.BatchNormalization"(%x, %s, %t, %m, %v) <{epsilon = 0.0 : f32}> : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x4x4xf32>, none, none)
  %y = "onnx.Conv"(%a, %w, %none) <{pads = [1, 1, 1, 1]}> : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, none) -> tensor<1x2x4x4xf32>
  onnx.Return %y : tensor<1x2x4x4xf32>
}
