// RUN: onnxloom-opt %s -p 'fuse-ops' --split-input-file | filecheck %s
// RUN: onnxloom-opt %s -p 'fuse-ops,unfuse-ops' --split-input-file | filecheck %s --check-prefix=UNFUSED

// Positive: two directions of a recurrent network side by side, then batch and time change places.
func.func @directions(%x: tensor<?x2x?x256xf32>) -> tensor<?x?x512xf32> {
  %s = onnx.Constant dense<[0, 0, -1]> : tensor<3xi64>
  %0 = "onnx.Transpose"(%x) {perm = [0 : si64, 2 : si64, 1 : si64, 3 : si64]} : (tensor<?x2x?x256xf32>) -> tensor<?x?x2x256xf32>
  %1 = "onnx.Reshape"(%0, %s) : (tensor<?x?x2x256xf32>, tensor<3xi64>) -> tensor<?x?x512xf32>
  %2 = "onnx.Transpose"(%1) {perm = [1 : si64, 0 : si64, 2 : si64]} : (tensor<?x?x512xf32>) -> tensor<?x?x512xf32>
  %3 = "onnx.Relu"(%2) : (tensor<?x?x512xf32>) -> tensor<?x?x512xf32>
  onnx.Return %3 : tensor<?x?x512xf32>
}
// CHECK-LABEL: @directions
// CHECK: "onnx.FusedOp"(%x) <{kind = "onnx.layout_transform"}>
// CHECK: "onnx.Transpose"
// CHECK-NEXT: "onnx.Reshape"
// CHECK-NEXT: "onnx.Transpose"
// CHECK-NEXT: "onnx.Yield"
// CHECK: "onnx.Relu"
// UNFUSED-LABEL: @directions
// UNFUSED: "onnx.Transpose"
// UNFUSED-NEXT: "onnx.Reshape"
// UNFUSED-NEXT: "onnx.Transpose"
// UNFUSED-NEXT: "onnx.Relu"

// -----

// Positive: three results, each of which is one copy; the Reshape before them is a view anyway.
func.func @heads(%x: tensor<1x197x576xf32>) -> (tensor<1x3x197x64xf32>, tensor<1x3x197x64xf32>, tensor<1x3x197x64xf32>) {
  %s = onnx.Constant dense<[1, 197, 3, 3, 64]> : tensor<5xi64>
  %q = onnx.Constant dense<0> : tensor<i64>
  %k = onnx.Constant dense<1> : tensor<i64>
  %v = onnx.Constant dense<2> : tensor<i64>
  %0 = "onnx.Reshape"(%x, %s) : (tensor<1x197x576xf32>, tensor<5xi64>) -> tensor<1x197x3x3x64xf32>
  %1 = "onnx.Transpose"(%0) {perm = [2 : si64, 0 : si64, 3 : si64, 1 : si64, 4 : si64]} : (tensor<1x197x3x3x64xf32>) -> tensor<3x1x3x197x64xf32>
  %2 = "onnx.Gather"(%1, %q) : (tensor<3x1x3x197x64xf32>, tensor<i64>) -> tensor<1x3x197x64xf32>
  %3 = "onnx.Gather"(%1, %k) : (tensor<3x1x3x197x64xf32>, tensor<i64>) -> tensor<1x3x197x64xf32>
  %4 = "onnx.Gather"(%1, %v) : (tensor<3x1x3x197x64xf32>, tensor<i64>) -> tensor<1x3x197x64xf32>
  onnx.Return %2, %3, %4 : tensor<1x3x197x64xf32>, tensor<1x3x197x64xf32>, tensor<1x3x197x64xf32>
}
// CHECK-LABEL: @heads
// CHECK: %[[R:[0-9]+]] = "onnx.Reshape"(%x
// CHECK-NEXT: %{{.*}}, %{{.*}}, %{{.*}} = "onnx.FusedOp"(%[[R]]) <{kind = "onnx.layout_transform"}>
// CHECK-COUNT-3: "onnx.Gather"
// CHECK: "onnx.Yield"
// UNFUSED-LABEL: @heads
// UNFUSED: "onnx.Transpose"
// UNFUSED-COUNT-3: "onnx.Gather"

// -----

// Negative: what comes after the Transpose is only another name for its memory.
func.func @one_copy(%x: tensor<4x16x32xf32>) -> tensor<16x128xf32> {
  %s = onnx.Constant dense<[16, 128]> : tensor<2xi64>
  %0 = "onnx.Transpose"(%x) {perm = [1 : si64, 0 : si64, 2 : si64]} : (tensor<4x16x32xf32>) -> tensor<16x4x32xf32>
  %1 = "onnx.Reshape"(%0, %s) : (tensor<16x4x32xf32>, tensor<2xi64>) -> tensor<16x128xf32>
  onnx.Return %1 : tensor<16x128xf32>
}
// CHECK-LABEL: @one_copy
// CHECK-NOT: onnx.FusedOp

// -----

// Negative: the value between is a result as well.
func.func @read_twice(%x: tensor<4x16x32xf32>) -> (tensor<16x4x32xf32>, tensor<16x32x4xf32>) {
  %0 = "onnx.Transpose"(%x) {perm = [1 : si64, 0 : si64, 2 : si64]} : (tensor<4x16x32xf32>) -> tensor<16x4x32xf32>
  %1 = "onnx.Transpose"(%0) {perm = [0 : si64, 2 : si64, 1 : si64]} : (tensor<16x4x32xf32>) -> tensor<16x32x4xf32>
  onnx.Return %0, %1 : tensor<16x4x32xf32>, tensor<16x32x4xf32>
}
// CHECK-LABEL: @read_twice
// CHECK-NOT: onnx.FusedOp
