// RUN: onnxloom-opt %s -p 'fuse-ops{kinds="onnx.rotary_embedding"}' --split-input-file | filecheck %s

// CHECK-LABEL: @both
// CHECK-NEXT: "onnx.FusedOp"(%x, %c, %s) <{kind = "onnx.rotary_embedding"}>
// CHECK:      onnx.Transpose
// CHECK-NEXT: onnx.RotaryEmbedding
// CHECK-NEXT: onnx.Transpose
// CHECK-NEXT: onnx.Yield
// CHECK-NOT:  onnx.Transpose
func.func @both(%x: tensor<?x?x2x8xf32>, %c: tensor<?x?x4xf32>, %s: tensor<?x?x4xf32>) -> (tensor<?x?x2x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %x1 = "onnx.Transpose"(%x) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<?x?x2x8xf32>) -> tensor<?x2x?x8xf32>
  %0 = "onnx.RotaryEmbedding"(%x1, %c, %s, %none) : (tensor<?x2x?x8xf32>, tensor<?x?x4xf32>, tensor<?x?x4xf32>, none) -> tensor<?x2x?x8xf32>
  %y = "onnx.Transpose"(%0) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<?x2x?x8xf32>) -> tensor<?x?x2x8xf32>
  onnx.Return %y : tensor<?x?x2x8xf32>
}

// -----

// One Transpose is enough.
// CHECK-LABEL: @before
// CHECK-NEXT: "onnx.FusedOp"(%x, %c, %s) <{kind = "onnx.rotary_embedding"}>
// CHECK:      onnx.Transpose
// CHECK-NEXT: onnx.RotaryEmbedding
// CHECK-NEXT: onnx.Yield
func.func @before(%x: tensor<?x?x2x8xf32>, %c: tensor<?x?x4xf32>, %s: tensor<?x?x4xf32>) -> (tensor<?x2x?x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %x1 = "onnx.Transpose"(%x) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<?x?x2x8xf32>) -> tensor<?x2x?x8xf32>
  %0 = "onnx.RotaryEmbedding"(%x1, %c, %s, %none) : (tensor<?x2x?x8xf32>, tensor<?x?x4xf32>, tensor<?x?x4xf32>, none) -> tensor<?x2x?x8xf32>
  onnx.Return %0 : tensor<?x2x?x8xf32>
}

// -----

// Negative: none is not.
// CHECK-LABEL: @alone
// CHECK-NOT: onnx.FusedOp
func.func @alone(%x: tensor<?x2x?x8xf32>, %c: tensor<?x?x4xf32>, %s: tensor<?x?x4xf32>) -> (tensor<?x2x?x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.RotaryEmbedding"(%x, %c, %s, %none) : (tensor<?x2x?x8xf32>, tensor<?x?x4xf32>, tensor<?x?x4xf32>, none) -> tensor<?x2x?x8xf32>
  onnx.Return %0 : tensor<?x2x?x8xf32>
}
