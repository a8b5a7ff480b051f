// RUN: onnxloom-opt %s -p 'fuse-ops' --split-input-file | filecheck %s
// RUN: onnxloom-opt %s -p 'fuse-ops,unfuse-ops' --split-input-file | filecheck %s --check-prefix=UNFUSED

// Positive: the convolution between two Transposes, and what follows in channels last.
func.func @relu_residual(%x: tensor<?x8x8x3xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>, %r: tensor<?x6x6x4xf32>) -> tensor<?x6x6x4xf32> {
  %0 = "onnx.Transpose"(%x) {perm = [0 : si64, 3 : si64, 1 : si64, 2 : si64]} : (tensor<?x8x8x3xf32>) -> tensor<?x3x8x8xf32>
  %1 = "onnx.Conv"(%0, %w, %b) : (tensor<?x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<?x4x6x6xf32>
  %2 = "onnx.Transpose"(%1) {perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]} : (tensor<?x4x6x6xf32>) -> tensor<?x6x6x4xf32>
  %3 = "onnx.Relu"(%2) : (tensor<?x6x6x4xf32>) -> tensor<?x6x6x4xf32>
  onnx.Return %3 : tensor<?x6x6x4xf32>
}
// CHECK-LABEL: @relu_residual
// CHECK-NEXT: "onnx.FusedOp"(%x, %w, %b) <{kind = "onnx.conv_channels_last"}>
// CHECK: "onnx.Transpose"
// CHECK-NEXT: "onnx.Conv"
// CHECK-NEXT: "onnx.Transpose"
// CHECK-NEXT: "onnx.Relu"
// CHECK-NEXT: "onnx.Yield"
// CHECK-NEXT: op_count = 4 : si64
// UNFUSED-LABEL: @relu_residual
// UNFUSED-NEXT: "onnx.Transpose"
// UNFUSED-NEXT: "onnx.Conv"
// UNFUSED-NEXT: "onnx.Transpose"
// UNFUSED-NEXT: "onnx.Relu"
// UNFUSED-NEXT: onnx.Return

// -----

// Positive: nothing follows; one spatial dim.
func.func @alone(%x: tensor<2x9x3xf32>, %w: tensor<4x3x3xf32>) -> tensor<2x7x4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Transpose"(%x) {perm = [0 : si64, 2 : si64, 1 : si64]} : (tensor<2x9x3xf32>) -> tensor<2x3x9xf32>
  %1 = "onnx.Conv"(%0, %w, %none) : (tensor<2x3x9xf32>, tensor<4x3x3xf32>, none) -> tensor<2x4x7xf32>
  %2 = "onnx.Transpose"(%1) {perm = [0 : si64, 2 : si64, 1 : si64]} : (tensor<2x4x7xf32>) -> tensor<2x7x4xf32>
  onnx.Return %2 : tensor<2x7x4xf32>
}
// CHECK-LABEL: @alone
// CHECK-NEXT: "onnx.FusedOp"(%x, %w) <{kind = "onnx.conv_channels_last"}>
// CHECK: op_count = 3 : si64

// -----

// Positive: of two convolutions that meet in an Add, the later one takes it.
func.func @two_meet(%x: tensor<1x8x8x3xf32>, %v: tensor<4x3x1x1xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x8x8x4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Transpose"(%x) {perm = [0 : si64, 3 : si64, 1 : si64, 2 : si64]} : (tensor<1x8x8x3xf32>) -> tensor<1x3x8x8xf32>
  %1 = "onnx.Conv"(%0, %v, %none) : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  %2 = "onnx.Transpose"(%1) {perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]} : (tensor<1x4x8x8xf32>) -> tensor<1x8x8x4xf32>
  %3 = "onnx.Transpose"(%x) {perm = [0 : si64, 3 : si64, 1 : si64, 2 : si64]} : (tensor<1x8x8x3xf32>) -> tensor<1x3x8x8xf32>
  %4 = "onnx.Conv"(%3, %w, %none) : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  %5 = "onnx.Transpose"(%4) {perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]} : (tensor<1x4x8x8xf32>) -> tensor<1x8x8x4xf32>
  %6 = "onnx.Add"(%2, %5) : (tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  onnx.Return %6 : tensor<1x8x8x4xf32>
}
// CHECK-LABEL: @two_meet
// CHECK-NEXT: %[[a:.*]] = "onnx.FusedOp"(%x, %v)
// CHECK: op_count = 3 : si64
// CHECK-NEXT: "onnx.FusedOp"(%x, %w, %[[a]])
// CHECK: op_count = 4 : si64

// -----

// Positive: the later convolution is not channels last as a whole, so the earlier one takes the Add.
func.func @no_product_behind_a_transpose(%x: tensor<1x8x8x3xf32>, %n: tensor<1x3x8x8xf32>, %v: tensor<4x3x1x1xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x8x8x4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Transpose"(%x) {perm = [0 : si64, 3 : si64, 1 : si64, 2 : si64]} : (tensor<1x8x8x3xf32>) -> tensor<1x3x8x8xf32>
  %1 = "onnx.Conv"(%0, %v, %none) : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  %2 = "onnx.Transpose"(%1) {perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]} : (tensor<1x4x8x8xf32>) -> tensor<1x8x8x4xf32>
  %4 = "onnx.Conv"(%n, %w, %none) : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  %5 = "onnx.Transpose"(%4) {perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]} : (tensor<1x4x8x8xf32>) -> tensor<1x8x8x4xf32>
  %6 = "onnx.Add"(%2, %5) : (tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  onnx.Return %6 : tensor<1x8x8x4xf32>
}
// CHECK-LABEL: @no_product_behind_a_transpose
// CHECK: "onnx.FusedOp"(%x, %v
// CHECK: "onnx.Add"
// CHECK: op_count = 4 : si64
