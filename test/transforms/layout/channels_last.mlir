// RUN: onnxloom-opt %s -p channels-last --split-input-file | filecheck %s

// Positive: both convolutions are triples; what stands between them reads and gives NxHxWxC.
func.func @chain(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<64x64x3x3xf32>
  %a = "onnx.Conv"(%x, %w, %none) {pads = [1 : si64, 1 : si64, 1 : si64, 1 : si64]} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x56x56xf32>
  %r = "onnx.Relu"(%a) : (tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32>
  %y = "onnx.Conv"(%r, %w, %none) {pads = [1 : si64, 1 : si64, 1 : si64, 1 : si64]} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x56x56xf32>
  onnx.Return %y : tensor<1x64x56x56xf32>
}
// CHECK-LABEL: @chain
// CHECK:      %[[X:.*]] = "onnx.Transpose"(%x) <{perm = [0 : i64, 2 : i64, 3 : i64, 1 : i64]}>
// CHECK-NEXT: %[[F:.*]] = "onnx.Transpose"(%[[X]]) <{perm = [0 : i64, 3 : i64, 1 : i64, 2 : i64]}>
// CHECK-NEXT: %[[A:.*]] = "onnx.Conv"(%[[F]]
// CHECK-NEXT: %[[L:.*]] = "onnx.Transpose"(%[[A]]) <{perm = [0 : i64, 2 : i64, 3 : i64, 1 : i64]}>
// CHECK-NEXT: %[[R:.*]] = "onnx.Relu"(%[[L]]) : (tensor<1x56x56x64xf32>) -> tensor<1x56x56x64xf32>
// CHECK-NEXT: %[[G:.*]] = "onnx.Transpose"(%[[R]]) <{perm = [0 : i64, 3 : i64, 1 : i64, 2 : i64]}>
// CHECK-NEXT: %[[B:.*]] = "onnx.Conv"(%[[G]]
// CHECK-NEXT: %[[M:.*]] = "onnx.Transpose"(%[[B]]) <{perm = [0 : i64, 2 : i64, 3 : i64, 1 : i64]}>
// CHECK-NEXT: %y = "onnx.Transpose"(%[[M]]) <{perm = [0 : i64, 3 : i64, 1 : i64, 2 : i64]}>
// CHECK-NEXT: onnx.Return %y

// -----

// Negative: two output channels fill no vector; the convolution is faster channels-first.
func.func @few_channels(%x: tensor<1x2x56x56xf32>) -> tensor<1x2x56x56xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<2x2x3x3xf32>
  %y = "onnx.Conv"(%x, %w, %none) {pads = [1 : si64, 1 : si64, 1 : si64, 1 : si64]} : (tensor<1x2x56x56xf32>, tensor<2x2x3x3xf32>, none) -> tensor<1x2x56x56xf32>
  onnx.Return %y : tensor<1x2x56x56xf32>
}
// CHECK-LABEL: @few_channels
// CHECK-NOT:  onnx.Transpose

// -----

// Negative: a pointwise convolution that is small saves less than two conversions take.
func.func @small(%x: tensor<1x16x64x64xf32>) -> tensor<1x16x64x64xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<16x16x1x1xf32>
  %y = "onnx.Conv"(%x, %w, %none) : (tensor<1x16x64x64xf32>, tensor<16x16x1x1xf32>, none) -> tensor<1x16x64x64xf32>
  onnx.Return %y : tensor<1x16x64x64xf32>
}
// CHECK-LABEL: @small
// CHECK-NOT:  onnx.Transpose

// -----

// Positive: constants are permuted at once, per channel and per place.
func.func @constants(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<64x64x3x3xf32>
  %c = onnx.Constant dense<2.0> : tensor<64x1x1xf32>
  %p = onnx.Constant dense<3.0> : tensor<56x1xf32>
  %a = "onnx.Conv"(%x, %w, %none) {pads = [1 : si64, 1 : si64, 1 : si64, 1 : si64]} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x56x56xf32>
  %m = "onnx.Mul"(%a, %c) : (tensor<1x64x56x56xf32>, tensor<64x1x1xf32>) -> tensor<1x64x56x56xf32>
  %y = "onnx.Add"(%m, %p) : (tensor<1x64x56x56xf32>, tensor<56x1xf32>) -> tensor<1x64x56x56xf32>
  onnx.Return %y : tensor<1x64x56x56xf32>
}
// CHECK-LABEL: @constants
// CHECK-DAG:  onnx.Constant dense<2.000000e+00> : tensor<64xf32>
// CHECK:      "onnx.Mul"(%{{.*}}, %{{.*}}) : (tensor<1x56x56x64xf32>, tensor<64xf32>) -> tensor<1x56x56x64xf32>
// CHECK:      onnx.Constant dense<3.000000e+00> : tensor<56x1x1xf32>
// CHECK:      "onnx.Add"(%{{.*}}, %{{.*}}) : (tensor<1x56x56x64xf32>, tensor<56x1x1xf32>) -> tensor<1x56x56x64xf32>
