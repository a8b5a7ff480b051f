// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns=ConvTransposeAdd numerics=tolerance}' | filecheck %s

// Positive: the weights take over the Add.
// CHECK-LABEL: @taken_over
// CHECK-DAG:     %[[W:.*]] = onnx.Constant {{.*}}dense<5.000000e-01> : tensor<2x2x3x3xf32>
// CHECK-DAG:     %[[B:.*]] = onnx.Constant {{.*}}dense<3.000000e+00> : tensor<2xf32>
// CHECK:         %y = "onnx.ConvTranspose"(%x, %[[W]], %[[B]])
// CHECK-NEXT:    onnx.Return %y
func.func @taken_over(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x6x6xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<2x2x3x3xf32>
  %c = "onnx.ConvTranspose"(%x, %w, %none) : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, none) -> tensor<1x2x6x6xf32>
  %k = onnx.Constant dense<3.0> : tensor<2x1x1xf32>
  %y = "onnx.Add"(%c, %k) : (tensor<1x2x6x6xf32>, tensor<2x1x1xf32>) -> tensor<1x2x6x6xf32>
  onnx.Return %y : tensor<1x2x6x6xf32>
}

// Negative: the result is read twice.
// CHECK-LABEL: @read_twice
// CHECK:         onnx.ConvTranspose
// CHECK:         onnx.Add
func.func @read_twice(%x: tensor<1x2x4x4xf32>) -> (tensor<1x2x6x6xf32>, tensor<1x2x6x6xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<2x2x3x3xf32>
  %c = "onnx.ConvTranspose"(%x, %w, %none) : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, none) -> tensor<1x2x6x6xf32>
  %k = onnx.Constant dense<3.0> : tensor<2x1x1xf32>
  %y = "onnx.Add"(%c, %k) : (tensor<1x2x6x6xf32>, tensor<2x1x1xf32>) -> tensor<1x2x6x6xf32>
  onnx.Return %y, %c : tensor<1x2x6x6xf32>, tensor<1x2x6x6xf32>
}

// Negative: by position, two numbers are one per column.
// CHECK-LABEL: @columns
// CHECK:         onnx.ConvTranspose
// CHECK:         onnx.Add
func.func @columns(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x6x6xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<2x2x3x3xf32>
  %c = "onnx.ConvTranspose"(%x, %w, %none) : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, none) -> tensor<1x2x6x6xf32>
  %k = onnx.Constant dense<3.0> : tensor<6xf32>
  %y = "onnx.Add"(%c, %k) : (tensor<1x2x6x6xf32>, tensor<6xf32>) -> tensor<1x2x6x6xf32>
  onnx.Return %y : tensor<1x2x6x6xf32>
}
