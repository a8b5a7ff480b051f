// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// A chain with two results is one kernel: each input is read once, each result written once.
func.func @chain(%x: tensor<?x8xf32>, %b: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0, %1 = "onnx.FusedOp"(%x, %b) <{kind = "onnx.elementwise"}> ({
  ^bb0(%x_1: tensor<?x8xf32>, %b_1: tensor<8xf32>):
    %c = onnx.Constant dense<5.000000e-01> : tensor<f32>
    %2 = "onnx.Add"(%x_1, %b_1) : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    %3 = "onnx.Mul"(%2, %c) : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xf32>
    %4 = "onnx.Relu"(%3) : (tensor<?x8xf32>) -> tensor<?x8xf32>
    "onnx.Yield"(%3, %4) : (tensor<?x8xf32>, tensor<?x8xf32>) -> ()
  }) {loop_rank = 2 : si64, op_count = 3 : si64} : (tensor<?x8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  "onnx.Return"(%0, %1) : (tensor<?x8xf32>, tensor<?x8xf32>) -> ()
}
// CHECK-LABEL: sym_name = "chain_
// CHECK-SAME: access = ["read", "read", "write", "write"]
// CHECK:      arith.addf
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: arith.cmpf
// CHECK-NEXT: arith.select
// CHECK-NEXT: memref.store
// CHECK-NEXT: memref.store
// CHECK-NOT:  "loom.kernel"
// CHECK:      sym_name = "chain"
// CHECK:      {origin = "Add + Mul + Relu"}
// CHECK:      "loom.launch"
// CHECK-NOT:  "loom.launch"
// CHECK:      "loom.return"

// -----

// A kind that nothing lowers is inlined.
func.func @foreign(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "onnx.FusedOp"(%x) <{kind = "other.thing"}> ({
  ^bb0(%x_1: tensor<8xf32>):
    %2 = "onnx.Neg"(%x_1) : (tensor<8xf32>) -> tensor<8xf32>
    %3 = "onnx.Relu"(%2) : (tensor<8xf32>) -> tensor<8xf32>
    "onnx.Yield"(%3) : (tensor<8xf32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  "onnx.Return"(%0) : (tensor<8xf32>) -> ()
}
// CHECK-LABEL: sym_name = "neg_
// CHECK:      sym_name = "relu_
// CHECK:      sym_name = "foreign"
// CHECK:      kernel = @neg_
// CHECK:      kernel = @relu_

// -----

// So is one whose attributes do not fit its body.
func.func @tampered(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "onnx.FusedOp"(%x) <{kind = "onnx.elementwise"}> ({
  ^bb0(%x_1: tensor<8xf32>):
    %2 = "onnx.Neg"(%x_1) : (tensor<8xf32>) -> tensor<8xf32>
    %3 = "onnx.Relu"(%2) : (tensor<8xf32>) -> tensor<8xf32>
    "onnx.Yield"(%3) : (tensor<8xf32>) -> ()
  }) {loop_rank = 3 : si64, op_count = 2 : si64} : (tensor<8xf32>) -> tensor<8xf32>
  "onnx.Return"(%0) : (tensor<8xf32>) -> ()
}
// CHECK-LABEL: sym_name = "tampered"
// CHECK:      kernel = @neg_
// CHECK:      kernel = @relu_

// -----

// What detection proved about dynamic dims is checked for each shape key; the ops one by one otherwise.
func.func @conditional(%x: tensor<?xf32>, %b: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %0, %1 = "onnx.FusedOp"(%x, %b) <{kind = "onnx.elementwise"}> ({
  ^bb0(%x_1: tensor<?xf32>, %b_1: tensor<?xf32>):
    %2 = "onnx.Neg"(%x_1) : (tensor<?xf32>) -> tensor<?xf32>
    %3 = "onnx.Add"(%2, %b_1) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    "onnx.Yield"(%2, %3) : (tensor<?xf32>, tensor<?xf32>) -> ()
  }) {loop_rank = 1 : si64, op_count = 2 : si64, dim_conditions = [[0, 0, 1, 0]]} : (tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>)
  "onnx.Return"(%0, %1) : (tensor<?xf32>, tensor<?xf32>) -> ()
}
// CHECK-LABEL: sym_name = "conditional"
// CHECK:      "loom.dims_equal"
// CHECK:      "loom.if"
// CHECK:      kernel = @chain_
// CHECK:      "loom.yield"
// CHECK:      kernel = @neg_
// CHECK:      kernel = @add_
// CHECK:      "loom.yield"
