// RUN: onnxloom-opt %s -p 'fuse-ops' --split-input-file | filecheck %s
// RUN: onnxloom-opt %s -p 'fuse-ops,unfuse-ops' --split-input-file | filecheck %s --check-prefix=UNFUSED

// Positive: a MaxPool between two Transposes; what follows is another kernel.
func.func @maximum(%x: tensor<?x8x8x3xf32>) -> tensor<?x6x6x3xf32> {
  %0 = "onnx.Transpose"(%x) {perm = [0 : si64, 3 : si64, 1 : si64, 2 : si64]} : (tensor<?x8x8x3xf32>) -> tensor<?x3x8x8xf32>
  %1:2 = "onnx.MaxPool"(%0) {kernel_shape = [3 : si64, 3 : si64]} : (tensor<?x3x8x8xf32>) -> (tensor<?x3x6x6xf32>, none)
  %2 = "onnx.Transpose"(%1#0) {perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]} : (tensor<?x3x6x6xf32>) -> tensor<?x6x6x3xf32>
  %3 = "onnx.Relu"(%2) : (tensor<?x6x6x3xf32>) -> tensor<?x6x6x3xf32>
  onnx.Return %3 : tensor<?x6x6x3xf32>
}
// CHECK-LABEL: @maximum
// CHECK-NEXT: "onnx.FusedOp"(%x) <{kind = "onnx.pool_channels_last"}>
// CHECK: "onnx.Transpose"
// CHECK-NEXT: "onnx.MaxPool"
// CHECK-NEXT: "onnx.Transpose"
// CHECK-NEXT: "onnx.Yield"
// CHECK: "onnx.Relu"
// UNFUSED-LABEL: @maximum
// UNFUSED-NEXT: "onnx.Transpose"
// UNFUSED-NEXT: "onnx.MaxPool"
// UNFUSED-NEXT: "onnx.Transpose"
// UNFUSED-NEXT: "onnx.Relu"
// UNFUSED-NEXT: onnx.Return

// -----

// Positive: an AveragePool over one spatial dim.
func.func @mean(%x: tensor<2x9x3xf32>) -> tensor<2x7x3xf32> {
  %0 = "onnx.Transpose"(%x) {perm = [0 : si64, 2 : si64, 1 : si64]} : (tensor<2x9x3xf32>) -> tensor<2x3x9xf32>
  %1 = "onnx.AveragePool"(%0) {kernel_shape = [3 : si64]} : (tensor<2x3x9xf32>) -> tensor<2x3x7xf32>
  %2 = "onnx.Transpose"(%1) {perm = [0 : si64, 2 : si64, 1 : si64]} : (tensor<2x3x7xf32>) -> tensor<2x7x3xf32>
  onnx.Return %2 : tensor<2x7x3xf32>
}
// CHECK-LABEL: @mean
// CHECK-NEXT: "onnx.FusedOp"(%x) <{kind = "onnx.pool_channels_last"}>

// -----

// Negative: the channels-first result is an output as well.
func.func @read_twice(%x: tensor<1x8x8x3xf32>) -> (tensor<1x3x6x6xf32>, tensor<1x6x6x3xf32>) {
  %0 = "onnx.Transpose"(%x) {perm = [0 : si64, 3 : si64, 1 : si64, 2 : si64]} : (tensor<1x8x8x3xf32>) -> tensor<1x3x8x8xf32>
  %1 = "onnx.AveragePool"(%0) {kernel_shape = [3 : si64, 3 : si64]} : (tensor<1x3x8x8xf32>) -> tensor<1x3x6x6xf32>
  %2 = "onnx.Transpose"(%1) {perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]} : (tensor<1x3x6x6xf32>) -> tensor<1x6x6x3xf32>
  onnx.Return %1, %2 : tensor<1x3x6x6xf32>, tensor<1x6x6x3xf32>
}
// CHECK-LABEL: @read_twice
// CHECK-NOT: onnx.FusedOp
