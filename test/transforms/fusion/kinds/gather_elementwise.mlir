// RUN: onnxloom-opt %s -p 'fuse-ops' --split-input-file | filecheck %s
// RUN: onnxloom-opt %s -p 'fuse-ops,unfuse-ops' --split-input-file | filecheck %s --check-prefix=UNFUSED

// Positive: words and positions, which are the same for all of a batch.
func.func @embeddings(%w: tensor<90x32xf32>, %q: tensor<20x32xf32>, %i: tensor<?x5xi64>, %p: tensor<1x5xi64>) -> tensor<?x5x32xf32> {
  %0 = "onnx.Gather"(%w, %i) : (tensor<90x32xf32>, tensor<?x5xi64>) -> tensor<?x5x32xf32>
  %1 = "onnx.Gather"(%q, %p) : (tensor<20x32xf32>, tensor<1x5xi64>) -> tensor<1x5x32xf32>
  %2 = "onnx.Add"(%0, %1) : (tensor<?x5x32xf32>, tensor<1x5x32xf32>) -> tensor<?x5x32xf32>
  onnx.Return %2 : tensor<?x5x32xf32>
}
// CHECK-LABEL: @embeddings
// CHECK-NEXT: "onnx.FusedOp"(%w, %i, %q, %p) <{kind = "onnx.gather_elementwise"}>
// CHECK: "onnx.Gather"
// CHECK-NEXT: "onnx.Gather"
// CHECK-NEXT: "onnx.Add"
// CHECK-NEXT: "onnx.Yield"
// CHECK-NEXT: op_count = 3
// UNFUSED-LABEL: @embeddings
// UNFUSED-NEXT: "onnx.Gather"
// UNFUSED-NEXT: "onnx.Gather"
// UNFUSED-NEXT: "onnx.Add"
// UNFUSED-NEXT: onnx.Return

// -----

// Negative: the ops before a normalization are left to it.
func.func @normalized(%w: tensor<90x32xf32>, %x: tensor<4x32xf32>, %i: tensor<4xi64>, %s: tensor<32xf32>) -> tensor<4x32xf32> {
  %0 = "onnx.Gather"(%w, %i) : (tensor<90x32xf32>, tensor<4xi64>) -> tensor<4x32xf32>
  %1 = "onnx.Add"(%0, %x) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %2 = "onnx.RMSNormalization"(%1, %s) : (tensor<4x32xf32>, tensor<32xf32>) -> tensor<4x32xf32>
  onnx.Return %2 : tensor<4x32xf32>
}
// CHECK-LABEL: @normalized
// CHECK-NEXT: "onnx.Gather"
// CHECK-NEXT: kind = "onnx.reduction"

// -----

// Negative: the rows are a result as well.
func.func @read_twice(%w: tensor<90x32xf32>, %i: tensor<4xi64>) -> (tensor<4x32xf32>, tensor<4x32xf32>) {
  %0 = "onnx.Gather"(%w, %i) : (tensor<90x32xf32>, tensor<4xi64>) -> tensor<4x32xf32>
  %1 = "onnx.Relu"(%0) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  onnx.Return %0, %1 : tensor<4x32xf32>, tensor<4x32xf32>
}
// CHECK-LABEL: @read_twice
// CHECK-NOT: onnx.FusedOp
