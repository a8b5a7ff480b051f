// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// The indices are checked first; the kernel that reads the rows does nothing but that and the chain.
func.func @rows(%w: tensor<90x32xf32>, %i: tensor<4xi64>) -> tensor<4x32xf32> {
  %0 = "onnx.FusedOp"(%w, %i) <{kind = "onnx.gather_elementwise"}> ({
  ^bb0(%w_1: tensor<90x32xf32>, %i_1: tensor<4xi64>):
    %1 = "onnx.Gather"(%w_1, %i_1) : (tensor<90x32xf32>, tensor<4xi64>) -> tensor<4x32xf32>
    %2 = "onnx.Neg"(%1) : (tensor<4x32xf32>) -> tensor<4x32xf32>
    "onnx.Yield"(%2) : (tensor<4x32xf32>) -> ()
  }) {op_count = 2 : si64} : (tensor<90x32xf32>, tensor<4xi64>) -> tensor<4x32xf32>
  onnx.Return %0 : tensor<4x32xf32>
}
// CHECK:      sym_name = "check_indices_
// CHECK:      sym_name = "gather_chain_
// CHECK-SAME: access = ["read", "read", "write"]
// CHECK:      arith.negf
// CHECK:      memref.store
// CHECK:      sym_name = "rows"
// CHECK:      "loom.launch"
// CHECK:      loom.check
// CHECK:      "loom.launch"
// CHECK-NOT:  "loom.launch"

// -----

// Indices that are known to fit are not checked.
func.func @known(%w: tensor<90x32xf32>) -> tensor<2x32xf32> {
  %0 = "onnx.FusedOp"(%w) <{kind = "onnx.gather_elementwise"}> ({
  ^bb0(%w_1: tensor<90x32xf32>):
    %i = onnx.Constant dense<[3, -90]> : tensor<2xi64>
    %1 = "onnx.Gather"(%w_1, %i) : (tensor<90x32xf32>, tensor<2xi64>) -> tensor<2x32xf32>
    %2 = "onnx.Neg"(%1) : (tensor<2x32xf32>) -> tensor<2x32xf32>
    "onnx.Yield"(%2) : (tensor<2x32xf32>) -> ()
  }) {op_count = 2 : si64} : (tensor<90x32xf32>) -> tensor<2x32xf32>
  onnx.Return %0 : tensor<2x32xf32>
}
// CHECK-NOT:  check_indices
// CHECK:      sym_name = "known"
// CHECK:      "loom.launch"
// CHECK-NOT:  "loom.launch"
