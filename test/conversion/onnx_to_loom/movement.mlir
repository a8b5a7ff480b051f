// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// Moving a dim of 1 moves no element.
func.func @unit(%a: tensor<1x4x?xf32>) -> tensor<4x1x?xf32> {
  %0 = "onnx.Transpose"(%a) <{perm = [1, 0, 2]}> : (tensor<1x4x?xf32>) -> tensor<4x1x?xf32>
  "onnx.Return"(%0) : (tensor<4x1x?xf32>) -> ()
}
// CHECK-LABEL: sym_name = "unit"
// CHECK:      "loom.view"
// CHECK-NOT:  loom.launch

// -----

// Dims that stay neighbours are one loop; elements of equal width share the kernel.
func.func @neighbours(%a: tensor<3x3x4xf32>, %b: tensor<3x3x4xi32>) -> (tensor<4x3x3xf32>, tensor<4x3x3xi32>) {
  %0 = "onnx.Transpose"(%a) <{perm = [2, 0, 1]}> : (tensor<3x3x4xf32>) -> tensor<4x3x3xf32>
  %1 = "onnx.Transpose"(%b) <{perm = [2, 0, 1]}> : (tensor<3x3x4xi32>) -> tensor<4x3x3xi32>
  "onnx.Return"(%0, %1) : (tensor<4x3x3xf32>, tensor<4x3x3xi32>) -> ()
}
// CHECK-LABEL: sym_name = "transpose_
// CHECK:      ^bb0(%{{.*}}: memref<?xi32>, %{{.*}}: memref<?xi32>, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
// CHECK:      memref.alloca
// CHECK-NOT:  "loom.kernel"
// CHECK:      sym_name = "neighbours"
// CHECK:      kernel = @transpose_
// CHECK:      kernel = @transpose_

// -----

// A few rows are woven into one, however long they are.
func.func @planes(%a: tensor<?x3x?x?xf32>) -> tensor<?x?x?x3xf32> {
  %0 = "onnx.Transpose"(%a) <{perm = [0, 2, 3, 1]}> : (tensor<?x3x?x?xf32>) -> tensor<?x?x?x3xf32>
  "onnx.Return"(%0) : (tensor<?x?x?x3xf32>) -> ()
}
// CHECK-LABEL: sym_name = "interleave_3
// CHECK:      "loom.microkernel"
// CHECK-SAME: kind = "interleave_tile"
// CHECK:      sym_name = "planes"
// CHECK:      kernel = @interleave_3

// -----

// Negative: more rows than that, or rows whose number is not known, are transposed by square tiles.
func.func @many(%a: tensor<9x?xf32>, %b: tensor<?x4xf32>) -> (tensor<?x9xf32>, tensor<4x?xf32>) {
  %0 = "onnx.Transpose"(%a) <{perm = [1, 0]}> : (tensor<9x?xf32>) -> tensor<?x9xf32>
  %1 = "onnx.Transpose"(%b) <{perm = [1, 0]}> : (tensor<?x4xf32>) -> tensor<4x?xf32>
  "onnx.Return"(%0, %1) : (tensor<?x9xf32>, tensor<4x?xf32>) -> ()
}
// CHECK-NOT:  interleave
// CHECK:      sym_name = "many"

// -----

// Where the last dim stays last, whole rows are copied.
func.func @rows(%a: tensor<2x3x4xf32>) -> tensor<3x2x4xf32> {
  %0 = "onnx.Transpose"(%a) <{perm = [1, 0, 2]}> : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  "onnx.Return"(%0) : (tensor<3x2x4xf32>) -> ()
}
// CHECK-LABEL: sym_name = "copy_
// CHECK-NOT:  memref.alloca
// CHECK:      sym_name = "rows"

// -----

// Each input is copied into the one destination.
func.func @concat(%a: tensor<2x?xf32>, %b: tensor<2x3xf32>) -> tensor<2x?xf32> {
  %0 = "onnx.Concat"(%a, %b) <{axis = 1 : si64}> : (tensor<2x?xf32>, tensor<2x3xf32>) -> tensor<2x?xf32>
  "onnx.Return"(%0) : (tensor<2x?xf32>) -> ()
}
// CHECK-LABEL: sym_name = "concat"
// CHECK:      "loom.concat_space"
// CHECK:      tensor.empty
// CHECK-NOT:  tensor.empty
// CHECK:      kernel = @copy_rows_
// CHECK:      kernel = @copy_rows_
// CHECK:      "loom.return"

// -----

func.func @slice(%a: tensor<4x6xf32>) -> tensor<2x6xf32> {
  %s = onnx.Constant dense<1> : tensor<1xi64>
  %e = onnx.Constant dense<3> : tensor<1xi64>
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Slice"(%a, %s, %e, %n, %n) : (tensor<4x6xf32>, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<2x6xf32>
  "onnx.Return"(%0) : (tensor<2x6xf32>) -> ()
}
// CHECK-LABEL: sym_name = "slice"
// CHECK:      "loom.slice_space"
// CHECK-SAME: present = [1 : i64, 1 : i64, 0 : i64, 0 : i64]
