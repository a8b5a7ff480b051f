// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// One launch: the offset of the second half is that of the copy.
func.func @half(%x: tensor<4x16x64xf32>) -> tensor<16x4x32xf32> {
  %0 = "onnx.FusedOp"(%x) <{kind = "onnx.layout_transform"}> ({
  ^bb0(%x_1: tensor<4x16x64xf32>):
    %s = onnx.Constant dense<[32]> : tensor<1xi64>
    %e = onnx.Constant dense<[64]> : tensor<1xi64>
    %a = onnx.Constant dense<[2]> : tensor<1xi64>
    %t = onnx.Constant dense<[1]> : tensor<1xi64>
    %1 = "onnx.Transpose"(%x_1) {perm = [1 : si64, 0 : si64, 2 : si64]} : (tensor<4x16x64xf32>) -> tensor<16x4x64xf32>
    %2 = "onnx.Slice"(%1, %s, %e, %a, %t) : (tensor<16x4x64xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<16x4x32xf32>
    "onnx.Yield"(%2) : (tensor<16x4x32xf32>) -> ()
  }) : (tensor<4x16x64xf32>) -> tensor<16x4x32xf32>
  onnx.Return %0 : tensor<16x4x32xf32>
}
// CHECK-LABEL: sym_name = "copy_
// CHECK:      sym_name = "half"
// CHECK:      "loom.launch"
// CHECK-NOT:  "loom.launch"

// -----

// No launch at all: there and back again is the same memory.
func.func @back(%x: tensor<4x16x64xf32>) -> tensor<4x1x16x64xf32> {
  %0 = "onnx.FusedOp"(%x) <{kind = "onnx.layout_transform"}> ({
  ^bb0(%x_1: tensor<4x16x64xf32>):
    %a = onnx.Constant dense<[1]> : tensor<1xi64>
    %1 = "onnx.Transpose"(%x_1) {perm = [0 : si64, 2 : si64, 1 : si64]} : (tensor<4x16x64xf32>) -> tensor<4x64x16xf32>
    %2 = "onnx.Unsqueeze"(%1, %a) : (tensor<4x64x16xf32>, tensor<1xi64>) -> tensor<4x1x64x16xf32>
    %3 = "onnx.Transpose"(%2) {perm = [0 : si64, 1 : si64, 3 : si64, 2 : si64]} : (tensor<4x1x64x16xf32>) -> tensor<4x1x16x64xf32>
    "onnx.Yield"(%3) : (tensor<4x1x16x64xf32>) -> ()
  }) : (tensor<4x16x64xf32>) -> tensor<4x1x16x64xf32>
  onnx.Return %0 : tensor<4x1x16x64xf32>
}
// CHECK-LABEL: sym_name = "back"
// CHECK:      "loom.view"
// CHECK-NOT:  "loom.launch"
