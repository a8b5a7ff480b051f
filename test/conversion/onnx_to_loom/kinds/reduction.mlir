// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// The sum is made once, in the first walk over a row, which also adds it up; later walks read it back.
func.func @residual(%x: tensor<4x8xf32>, %r: tensor<4x8xf32>, %s: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = "onnx.FusedOp"(%x, %r, %s) <{kind = "onnx.reduction"}> ({
  ^bb0(%x_1: tensor<4x8xf32>, %r_1: tensor<4x8xf32>, %s_1: tensor<8xf32>):
    %1 = "onnx.Add"(%x_1, %r_1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = "onnx.RMSNormalization"(%1, %s_1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    "onnx.Yield"(%2) : (tensor<4x8xf32>) -> ()
  }) {op_count = 2 : si64, lead_count = 1 : si64} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  onnx.Return %0 : tensor<4x8xf32>
}
// CHECK-LABEL: sym_name = "fused_rms_norm_
// CHECK-SAME: access = ["read", "read", "read", "write"]
// CHECK:      memref.load
// CHECK:      memref.load
// CHECK:      arith.addf
// CHECK-NEXT: memref.store
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: arith.addf
// CHECK-NEXT: scf.yield
// CHECK-NOT:  "loom.kernel"
// CHECK:      sym_name = "residual"
// CHECK:      "loom.launch"
// CHECK-NOT:  "loom.launch"

// -----

// Of a Reduce op nothing is stored but the result.
func.func @sum(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %0 = "onnx.FusedOp"(%x) <{kind = "onnx.reduction"}> ({
  ^bb0(%x_1: tensor<4x8xf32>):
    %axes = onnx.Constant dense<[1]> : tensor<1xi64>
    %1 = "onnx.Neg"(%x_1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = "onnx.ReduceSum"(%1, %axes) : (tensor<4x8xf32>, tensor<1xi64>) -> tensor<4x1xf32>
    %3 = "onnx.Abs"(%2) : (tensor<4x1xf32>) -> tensor<4x1xf32>
    "onnx.Yield"(%3) : (tensor<4x1xf32>) -> ()
  }) {op_count = 3 : si64, lead_count = 1 : si64} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  onnx.Return %0 : tensor<4x1xf32>
}
// CHECK-LABEL: sym_name = "fused_reduce_sum_
// CHECK:      arith.negf
// CHECK-NOT:  memref.store
// CHECK:      scf.yield
// CHECK:      math.absf
// CHECK-NEXT: memref.store

// -----

// A softmax of f32 is the tuned one, on the data where it was made.
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "onnx.FusedOp"(%x) <{kind = "onnx.reduction"}> ({
  ^bb0(%x_1: tensor<4x8xf32>):
    %1 = "onnx.Neg"(%x_1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = "onnx.Softmax"(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "onnx.Yield"(%2) : (tensor<4x8xf32>) -> ()
  }) {op_count = 2 : si64, lead_count = 1 : si64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %0 : tensor<4x8xf32>
}
// CHECK-LABEL: sym_name = "fused_softmax_
// CHECK:      arith.negf
// CHECK:      memref.store
// CHECK:      kind = "softmax_row"
