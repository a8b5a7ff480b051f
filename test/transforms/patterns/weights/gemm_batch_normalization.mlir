// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns=GemmBatchNormalization numerics=tolerance}' | filecheck %s

// Positive: the weights take over the BatchNormalization.
// CHECK-LABEL: @taken_over
// CHECK-DAG:     %[[W:.*]] = onnx.Constant {{.*}}dense<1.000000e+00> : tensor<4x2xf32>
// CHECK-DAG:     %[[B:.*]] = onnx.Constant {{.*}}dense<-5.000000e+00> : tensor<2xf32>
// CHECK:         %y = "onnx.Gemm"(%x, %[[W]], %[[B]])
// CHECK-NEXT:    onnx.Return %y
func.func @taken_over(%x: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<4x2xf32>
  %c = "onnx.Gemm"(%x, %w, %none) : (tensor<3x4xf32>, tensor<4x2xf32>, none) -> tensor<3x2xf32>
  %s = onnx.Constant dense<2.0> : tensor<2xf32>
  %t = onnx.Constant dense<1.0> : tensor<2xf32>
  %m = onnx.Constant dense<3.0> : tensor<2xf32>
  %v = onnx.Constant dense<1.0> : tensor<2xf32>
  %y, %rm, %rv = "onnx.BatchNormalization"(%c, %s, %t, %m, %v) <{epsilon = 0.0 : f32}> : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<3x2xf32>, none, none)
  onnx.Return %y : tensor<3x2xf32>
}

// Negative: something else reads the weight.
// CHECK-LABEL: @shared
// CHECK:         onnx.Gemm
// CHECK:         onnx.BatchNormalization
func.func @shared(%x: tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<4x2xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<4x2xf32>
  %c = "onnx.Gemm"(%x, %w, %none) : (tensor<3x4xf32>, tensor<4x2xf32>, none) -> tensor<3x2xf32>
  %s = onnx.Constant dense<2.0> : tensor<2xf32>
  %t = onnx.Constant dense<1.0> : tensor<2xf32>
  %m = onnx.Constant dense<3.0> : tensor<2xf32>
  %v = onnx.Constant dense<1.0> : tensor<2xf32>
  %y, %rm, %rv = "onnx.BatchNormalization"(%c, %s, %t, %m, %v) <{epsilon = 0.0 : f32}> : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<3x2xf32>, none, none)
  onnx.Return %y, %w : tensor<3x2xf32>, tensor<4x2xf32>
}
