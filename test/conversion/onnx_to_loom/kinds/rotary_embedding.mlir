// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// One kernel and one launch: nothing is transposed.
// CHECK:      sym_name = "rotary_embedding_
// CHECK-NOT:  "loom.kernel"
// CHECK:      sym_name = "both"
// CHECK:      "loom.launch"(%0, %1, %2,
// CHECK-SAME: kernel = @rotary_embedding_
// CHECK-NOT:  "loom.launch"
func.func @both(%x: tensor<?x?x2x8xf32>, %c: tensor<?x?x4xf32>, %s: tensor<?x?x4xf32>) -> tensor<?x?x2x8xf32> {
  %y = "onnx.FusedOp"(%x, %c, %s) <{kind = "onnx.rotary_embedding"}> ({
  ^bb0(%x_1: tensor<?x?x2x8xf32>, %c_1: tensor<?x?x4xf32>, %s_1: tensor<?x?x4xf32>):
    %none = "onnx.NoValue"() <{value}> : () -> none
    %x1 = "onnx.Transpose"(%x_1) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<?x?x2x8xf32>) -> tensor<?x2x?x8xf32>
    %0 = "onnx.RotaryEmbedding"(%x1, %c_1, %s_1, %none) : (tensor<?x2x?x8xf32>, tensor<?x?x4xf32>, tensor<?x?x4xf32>, none) -> tensor<?x2x?x8xf32>
    %y_1 = "onnx.Transpose"(%0) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<?x2x?x8xf32>) -> tensor<?x?x2x8xf32>
    "onnx.Yield"(%y_1) : (tensor<?x?x2x8xf32>) -> ()
  }) : (tensor<?x?x2x8xf32>, tensor<?x?x4xf32>, tensor<?x?x4xf32>) -> tensor<?x?x2x8xf32>
  onnx.Return %y : tensor<?x?x2x8xf32>
}

// -----

// CHECK:      sym_name = "rotary_embedding_
// CHECK-NOT:  "loom.kernel"
// CHECK:      sym_name = "before"
// CHECK:      "loom.launch"(%0, %1, %2,
// CHECK-SAME: kernel = @rotary_embedding_
// CHECK-NOT:  "loom.launch"
func.func @before(%x: tensor<?x?x2x8xf32>, %c: tensor<?x?x4xf32>, %s: tensor<?x?x4xf32>) -> tensor<?x2x?x8xf32> {
  %0 = "onnx.FusedOp"(%x, %c, %s) <{kind = "onnx.rotary_embedding"}> ({
  ^bb0(%x_1: tensor<?x?x2x8xf32>, %c_1: tensor<?x?x4xf32>, %s_1: tensor<?x?x4xf32>):
    %none = "onnx.NoValue"() <{value}> : () -> none
    %x1 = "onnx.Transpose"(%x_1) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<?x?x2x8xf32>) -> tensor<?x2x?x8xf32>
    %1 = "onnx.RotaryEmbedding"(%x1, %c_1, %s_1, %none) : (tensor<?x2x?x8xf32>, tensor<?x?x4xf32>, tensor<?x?x4xf32>, none) -> tensor<?x2x?x8xf32>
    "onnx.Yield"(%1) : (tensor<?x2x?x8xf32>) -> ()
  }) : (tensor<?x?x2x8xf32>, tensor<?x?x4xf32>, tensor<?x?x4xf32>) -> tensor<?x2x?x8xf32>
  onnx.Return %0 : tensor<?x2x?x8xf32>
}
